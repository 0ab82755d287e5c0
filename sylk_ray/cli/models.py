"""``sylk models``: what agents may think with, and whether it answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import typer

from sylk_ray.cli.shell import Home, Json, Shell
from sylk_ray.errors import InputError

if TYPE_CHECKING:
    from sylk_ray.config import Model, Settings
    from sylk_ray.llm.probing import Probed

app = typer.Typer(no_args_is_help=True, help="See which models agents may think with, and try them.")


class UnknownModel(InputError):
    """The settings have no model of that name."""

    code = "unknown_model"


@app.command("list")
def list_models(home: Home = None, json: Json = False) -> None:
    """List the models of the settings, who uses them, and whether their keys are there. Nobody is asked.

    Examples:

      sylk models list

      sylk models list --json
    """
    from sylk_ray.config import load_settings

    shell = Shell(home, json)
    settings = load_settings()
    told = [_told(name, model, settings) for name, model in settings.models.items()]
    shell.document({"models": told, "model_for": settings.model_for})
    if json:
        return
    if not told:
        from sylk_ray.llm.errors import HOW_TO_SET_ONE

        shell.say("no model is configured; declared jobs, search and sessions need none", HOW_TO_SET_ONE)
        return
    _show(shell, told)


@app.command("test")
def try_models(
    names: Annotated[list[str] | None, typer.Argument(metavar="[MODEL]...", help="Only these.")] = None,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds for each call.")] = 120.0,
    home: Home = None,
    json: Json = False,
) -> None:
    """Ask each model three tiny things: for a word, for a call of a tool, and for data that follows a schema.

    Exits with 1 when one does not answer.

    Examples:

      sylk models test

      sylk models test fast --timeout 300
    """
    from sylk_ray.config import load_settings

    shell = Shell(home, json)
    chosen = _chosen(load_settings(), names or [])
    results = _probe(chosen, timeout)
    shell.document({"models": results})
    for result in results if not json else ():
        shell.say(*_lines(result))
    if not all(result.ok for result in results):
        raise typer.Exit(1)


def _chosen(settings: Settings, names: list[str]) -> dict[str, Model]:
    from sylk_ray.dag.nearest import did_you_mean
    from sylk_ray.llm import NoModel
    from sylk_ray.llm.errors import HOW_TO_SET_ONE

    if not settings.models:
        raise NoModel("no model is configured", hint=HOW_TO_SET_ONE)
    for name in names:
        if name not in settings.models:
            known = ", ".join(settings.models)
            hint = did_you_mean(name, settings.models) or f"there are {known}"
            raise UnknownModel(f'there is no model "{name}"', hint=hint)
    return {name: settings.models[name] for name in names or settings.models}


def _probe(models: dict[str, Model], timeout_s: float) -> list[Probed]:
    import asyncio

    from sylk_ray.llm.probing import probe

    async def probe_all() -> list[Probed]:
        # One after the other: two models of one machine would tell each other's latency.
        return [await probe(name, model, timeout_s=timeout_s) for name, model in models.items()]

    return asyncio.run(probe_all())


def _lines(result: Probed) -> list[str]:
    from sylk_ray.cli.humanise import duration

    if not result.ok:
        return [f"{result.model}: {result.error}", *([f"  hint: {result.hint}"] if result.hint else [])]
    told = f"{result.model}: answers in {duration(result.latency_s)}, its first token in {duration(result.first_s)}"
    price = "" if result.price is None else f", price {result.price:.6f}"
    parts = [
        told,
        f"  streams: {'yes' if result.streams else 'no, or in one piece'}",
        f"  tools: {result.tools}",
        f"  schema: {result.schema}",
        f"  {result.tokens} tokens{price}",
    ]
    if result.conceded:
        parts.append(f"  its server does not take, and is done without: {', '.join(result.conceded)}")
    return parts


def _told(name: str, model: Model, settings: Settings) -> dict[str, Any]:
    from sylk_ray.llm.keys import Key

    limits = settings.providers.get(model.limits_of or name)
    return {
        "name": name,
        "provider": model.provider,
        "model": model.model,
        "address": urlsplit(model.base_url).netloc if model.base_url else "the provider's own",
        "key": Key(model.api_key_env, model.api_key_file).standing(),
        "context_window": model.context_window,
        "price_in": model.price_in,
        "price_out": model.price_out,
        "concurrency": limits.calls if limits else model.concurrency,
        "tokens_per_minute": limits.tokens_per_minute if limits else model.tokens_per_minute,
        "used_for": [role for role, chain in settings.model_for.items() if name in chain],
    }


def _show(shell: Shell, models: list[dict[str, Any]]) -> None:
    from rich.table import Table

    titles = ("model", "speaks", "name there", "address", "key", "window", "in/out a million", "used for")
    table = Table(*titles, box=None, pad_edge=False)
    for each in models:
        prices = "-" if each["price_in"] is None else f"{each['price_in']:g}/{each['price_out'] or 0:g}"
        window = f"{each['context_window']:,}" if each["context_window"] else "-"
        used = ", ".join(each["used_for"]) or "-"
        table.add_row(each["name"], each["provider"], each["model"], each["address"], each["key"], window, prices, used)
    shell.show(table)
