"""``sylk skills``: what the agents can do when they are asked to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from sylk_ray.cli.shell import Home, Json, Shell
from sylk_ray.dag.nearest import did_you_mean
from sylk_ray.errors import InputError

if TYPE_CHECKING:
    from sylk_ray.speech import Conversant


class UnknownAgent(InputError):
    """No agent of that name can be spoken to."""

    code = "unknown_agent"


def skills(
    agent: Annotated[str, typer.Argument(metavar="[AGENT]", help="Only this agent's, with their parameters.")] = "",
    home: Home = None,
    json: Json = False,
) -> None:
    """List what each agent can do: its skills, with their tier and what it costs a model to be told of them, in tokens.

    Core skills are always told of, domain skills when their subject comes up, specialised ones when they are asked for.
    Installed packages add skills by the entry-point group `sylk.skills`; a repository by Python files in .sylk/skills,
    if `repository_skills: true` is in the settings. No runtime is needed.

    Examples:

      sylk skills

      sylk skills tester

      sylk skills --json
    """
    shell = Shell(home, json)
    known = _agents()
    if agent and agent not in known:
        raise UnknownAgent(
            f'there is no agent "{agent}"', hint=did_you_mean(agent, known) or f"there are {', '.join(known)}"
        )
    found, problems = _found({agent: known[agent]} if agent else known)
    shell.document({"agents": found, "problems": problems})
    if not json:
        _show(shell, found, whole=bool(agent))
    for problem in problems:
        shell.note(f"left out: {problem}")


def _agents() -> dict[str, type[Conversant[Any]]]:
    from sylk_ray.config import load_settings
    from sylk_ray.runtime import Roles
    from sylk_ray.speech import Conversant

    roles = Roles.installed(load_settings().extra_roles)
    classes = {role: roles.agent_class(role) for role in sorted(roles.names())}
    return {role: each for role, each in classes.items() if issubclass(each, Conversant) and role != "router"}


def _found(agents: dict[str, type[Conversant[Any]]]) -> tuple[dict[str, list[dict[str, Any]]], list[str]]:
    from sylk_ray.skills import tokens_of

    found: dict[str, list[dict[str, Any]]] = {}
    problems: list[str] = []
    for role, agent in agents.items():
        registry, wrong = agent.skills_of_role()
        problems += [each.told() for each in wrong if each.told() not in problems]
        found[role] = [
            {
                "name": each.name,
                "tier": each.tier,
                "domain": each.domain,
                "tokens": tokens_of(each),
                "only_looks": each.only_looks,
                "description": each.description,
                "keywords": list(each.keywords),
                "parameters": each.schema,
            }
            for each in registry
        ]
    return found, problems


def _show(shell: Shell, found: dict[str, list[dict[str, Any]]], *, whole: bool) -> None:
    from rich.table import Table

    for role, its in found.items():
        if not its:
            continue
        core = sum(each["tokens"] for each in its if each["tier"] == "core")
        shell.say(f"{role}: {len(its)} skills, {core} tokens of core")
        table = Table("skill", "tier", "domain", "tokens", "what it does", box=None, pad_edge=False)
        for each in its:
            table.add_row(each["name"], each["tier"], each["domain"], str(each["tokens"]), each["description"])
            for name, schema in each["parameters"].get("properties", {}).items() if whole else ():
                needed = "" if name in each["parameters"].get("required", []) else " (optional)"
                table.add_row("", "", "", "", f"  {name}{needed}: {schema.get('description', '')}")
        shell.show(table)
        shell.say("")
