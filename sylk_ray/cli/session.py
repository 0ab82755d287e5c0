"""``sylk session``: making, listing, switching, pausing and closing sessions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

import msgspec
import typer

from sylk_ray.cli.humanise import age
from sylk_ray.cli.shell import Home, Json, Shell, user_name
from sylk_ray.errors import InputError
from sylk_ray.home import expanded
from sylk_ray.sessions import SessionRecord

if TYPE_CHECKING:
    from sylk_ray.fairness import Group
    from sylk_ray.gateway.client import GatewayClient

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Make, list, switch, pause and close sessions.")
Name = Annotated[str, typer.Argument(metavar="NAME", help="The session's name or id.")]
GRACE_S = 10.0


class NotAChange(InputError):
    """A word that is not of the form KEY=VALUE."""

    code = "not_a_change"


@app.command("create")
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its branch is sylk/NAME.")],
    repo: Annotated[Path, typer.Option("--repo", help="The git repository.")] = Path(),
    description: Annotated[str, typer.Option(help="What it is for.")] = "",
    weight: Annotated[float | None, typer.Option(help="Its part of what is contended for, relative to others.")] = None,
    max_pipelines: Annotated[int | None, typer.Option(help="Tasks at work at once.")] = None,
    max_engineers: Annotated[int | None, typer.Option(help="Engineers at work at once.")] = None,
    cpu_slots: Annotated[float | None, typer.Option(help="Tool processes at once.")] = None,
    tokens_per_minute: Annotated[float | None, typer.Option(help="Of all model providers together.")] = None,
    token_budget: Annotated[float | None, typer.Option(help="Tokens in all.")] = None,
    memory_mb: Annotated[float | None, typer.Option(help="Memory of its tools.")] = None,
    home: Home = None,
    json: Json = False,
) -> None:
    """Make a session that stays, for jobs that run in it one after the other: `sylk submit JOB.yaml --session NAME`.

    Examples:

      sylk session create tidy-up

      sylk session create tidy-up --repo ~/src/project --weight 2 --max-pipelines 4
    """
    group = {
        "weight": weight,
        "max_pipelines": max_pipelines,
        "max_engineers": max_engineers,
        "cpu_slots": cpu_slots,
        "tokens_per_minute": tokens_per_minute,
        "token_budget": token_budget,
        "memory_mb": memory_mb,
    }
    shell = Shell(home, json)
    body = {
        "name": name,
        "repo": str(expanded(repo).absolute()),
        "description": description,
        "group": {field: value for field, value in group.items() if value is not None},
    }
    told = shell.client().post("/sessions", body)
    shell.document(told)
    if not json:
        shell.say(f"session {told['name']} ({told['id']}) is made, on branch {told['branch']} of {told['repo']}")
        shell.say(f"next: sylk submit JOB.yaml --session {told['name']}")


@app.command("list")
def list_sessions(
    closed: Annotated[bool, typer.Option("--closed", help="Closed ones as well.")] = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """List the sessions, the newest first. A star marks the foreground session, and `standing` one that stays."""
    from rich.markup import escape
    from rich.table import Table

    shell = Shell(home, json)
    client = shell.client()
    found = client.get("/sessions", closed=closed)
    foreground = _foreground(client)
    shell.document({"sessions": found, "foreground": foreground.id if foreground else None})
    if json:
        return
    if not found:
        shell.say("no sessions: `sylk session create NAME`, or `sylk submit JOB.yaml`")
        return
    columns = ("", "session", "id", "state", "kind", "limits", "job", "made", "branch", "repository")
    table = Table(*columns, box=None, pad_edge=False)
    for session in msgspec.convert(found, list[SessionRecord]):
        table.add_row(
            "*" if foreground and session.id == foreground.id else "",
            escape(session.name),
            session.id,
            escape(state_told(session)),
            "standing" if session.standing else "one job",
            group_told(session.group) or "-",
            session.job or "-",
            age(session.created_at),
            escape(session.branch),
            escape(session.repo),
        )
    shell.show(table)


@app.command("show")
def show(name: Name, home: Home = None, json: Json = False) -> None:
    """Show one session and its latest job."""
    from sylk_ray.cli.job_view import failures_told, final_table
    from sylk_ray.cli.results import record_of, standing_told

    shell = Shell(home, json)
    client = shell.client()
    told = client.get(_path(name))
    session = msgspec.convert(told, SessionRecord)
    job = client.get(f"/jobs/{session.job}") if session.job else None
    foreground = _foreground(client)
    is_foreground = foreground is not None and foreground.id == session.id
    shell.document({"session": told, "job": job, "foreground": is_foreground})
    if json:
        return
    kind = "it stays when its job is over" if session.standing else "it ends with its job"
    front = "; your foreground session" if is_foreground else ""
    shell.say(f"session {session.name} ({session.id}), {state_told(session)}; {kind}{front}")
    shell.say(*([session.description] if session.description else []))
    shell.say(f"made {age(session.created_at)}, branch {session.branch} from {session.base[:10]} in {session.repo}")
    shell.say(f"limits: {group_told(session.group) or 'none'}")
    if job is not None:
        record = record_of(job)
        shell.say(standing_told(record), "")
        shell.show(final_table(record))
        shell.say(*failures_told(record))


@app.command("current")
def current(home: Home = None, json: Json = False) -> None:
    """Say which session is your foreground session.

    Examples:

      sylk session current

      sylk session current --json
    """
    shell = Shell(home, json)
    session = _foreground(shell.client())
    shell.document({"session": session})
    if json:
        return
    if session is None:
        shell.say("no session is in the foreground: `sylk session switch NAME`")
    else:
        shell.say(f"{session.name} ({session.id}), {state_told(session)}, branch {session.branch}")


@app.command("switch")
def switch(
    name: Name,
    pause: Annotated[bool, typer.Option("--pause", help="Pause the one that was in the foreground before.")] = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Make a session your foreground session. Others go on in the background, each with all that it has.

    Examples:

      sylk session switch tidy-up

      sylk session switch tidy-up --pause
    """
    shell = Shell(home, json)
    told = shell.client().post(f"{_path(name)}/switch", {"user": user_name(), "pause": pause})
    shell.document(told)
    if not json:
        shell.say(f"session {told['name']} is in the foreground, {state_told(msgspec.convert(told, SessionRecord))}")


@app.command("pause")
def pause(
    name: Name,
    suspend: Annotated[
        bool, typer.Option("--suspend", help="Put its agents away as well, and free its processes and its place.")
    ] = False,
    now: Annotated[
        bool, typer.Option("--now", help="With --suspend: do not wait for the steps that run; they are done again.")
    ] = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Start nothing new in a session; what runs may end. `sylk session resume` lets it go on where it was.

    Examples:

      sylk session pause tidy-up

      sylk session pause tidy-up --suspend

      sylk session pause tidy-up --suspend --now
    """
    if now and not suspend:
        raise InputError("--now goes with --suspend only", hint="what runs in a paused session comes to its end")
    shell = Shell(home, json)
    client = shell.client()
    if suspend and not now:
        shell.note(f"what runs has {GRACE_S:g} s to come to the end of a step ...")
    body = {"suspend": suspend, "grace_s": 0.0 if now else GRACE_S}
    told = client.post(f"{_path(name)}/pause", body, timeout=GRACE_S + 120)
    shell.document(told)
    if not json:
        meaning = "its agents are put away" if suspend else "nothing new starts, what runs may end"
        shell.say(f"session {told['name']} is {told['state']}: {meaning}")
        shell.say(f"`sylk session resume {told['name']}` lets it go on")


@app.command("resume")
def resume(name: Name, home: Home = None, json: Json = False) -> None:
    """Let a paused or suspended session go on where it was.

    Examples:

      sylk session resume tidy-up
    """
    from sylk_ray.cli.results import record_of, standing_told

    shell = Shell(home, json)
    client = shell.client()
    told = client.post(f"{_path(name)}/resume")
    shell.document(told)
    if json:
        return
    shell.say(f"session {told['name']} is {told.get('state', 'created')}")
    job = record_of(client.get(f"/jobs/{told['job']}")) if told.get("job") else None
    if job is not None and not job.status.over:
        shell.say(standing_told(job))


@app.command("set")
def set_group(
    name: Name,
    changes: Annotated[list[str], typer.Argument(metavar="KEY=VALUE...", help="What changes; `none` lifts a limit.")],
    home: Home = None,
    json: Json = False,
) -> None:
    """Change a session's weight and limits, now.

    The keys: weight, max_pipelines, max_engineers, cpu_slots, tokens_per_minute, token_budget, memory_mb.

    Examples:

      sylk session set tidy-up weight=2 max_pipelines=4

      sylk session set tidy-up max_pipelines=none
    """
    shell = Shell(home, json)
    wanted = dict(map(_change, changes))
    told = shell.client().patch(f"{_path(name)}/group", wanted)
    shell.document(told)
    if not json:
        session = msgspec.convert(told, SessionRecord)
        shell.say(f"session {session.name}: {group_told(session.group) or 'no limits'}")


@app.command("close")
def close(
    name: Name,
    delete_branch: Annotated[
        bool, typer.Option("--delete-branch", help="Delete the session's branch as well.")
    ] = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Close a session: its job is cancelled if it is not over, its worktrees are removed. Its branch stays.

    Examples:

      sylk session close tidy-up

      sylk session close tidy-up --delete-branch
    """
    shell = Shell(home, json)
    told = shell.client().delete(_path(name), delete_branch=delete_branch)
    shell.document(told)
    if not json:
        branch = f"its branch {told['branch']} {'is deleted' if delete_branch else 'stays'}"
        shell.say(f"session {told['name']} is closed; {branch}")


def state_told(session: SessionRecord) -> str:
    """Its state, and why it is in it when that is known."""
    closed = ", closed" if session.closed else ""
    return f"{session.state}{closed} ({session.reason})" if session.reason else f"{session.state}{closed}"


def group_told(group: Group) -> str:
    """A group as `sylk session set` takes it, as far as it is not the default; empty for one that is."""
    default = type(group)()
    fields = {name: getattr(group, name) for name in group.__struct_fields__}
    changed = {name: value for name, value in fields.items() if value != getattr(default, name)}
    return " ".join(f"{name}={value:.15g}" for name, value in changed.items())


def _change(word: str) -> tuple[str, Any]:
    key, separator, value = word.partition("=")
    if not separator or not key or not value:
        raise NotAChange(f"{word!r} is not KEY=VALUE", hint="for example weight=2, or max_pipelines=none")
    return key.replace("-", "_"), None if value == "none" else _number(value)


def _number(text: str) -> int | float | str:
    """A number if it is one; the gateway says what is wrong with anything else."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _path(name: str) -> str:
    return f"/sessions/{quote(name, safe='')}"


def _foreground(client: GatewayClient) -> SessionRecord | None:
    return msgspec.convert(client.get("/foreground", user=user_name()), SessionRecord | None)
