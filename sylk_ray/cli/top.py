"""``sylk top``: who holds what, and who waits for it."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from sylk_ray.cli.shell import Home, Json, Shell, is_terminal, make_console
from sylk_ray.errors import RuntimeNotReachable, SylkError
from sylk_ray.fairness import Snapshot
from sylk_ray.sessions import SessionRecord

if TYPE_CHECKING:
    from rich.console import RenderableType

EVERY_S = 1.0
PATIENCE_S = 20.0
"""How long the last picture stays while nobody answers: a gateway that died is back by then."""


def top(
    once: Annotated[bool, typer.Option("--once", help="Print one picture and exit; so does output in a pipe.")] = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Show each session's share of the machine, what it holds of its limits, and what it waits for.

    `share` is its part of all work of the last minute, and what it is entitled to by its weight. Ctrl-C ends it.

    Examples:

      sylk top

      sylk top --once

      sylk top --json
    """
    shell = Shell(home, json)
    told = _look(shell)
    shell.document(told)
    if json:
        return
    if once or not is_terminal(sys.stdout):
        shell.show(_picture(told))
        return
    try:
        _watch(shell, told)
    except KeyboardInterrupt:
        raise typer.Exit(0) from None


def _watch(shell: Shell, told: dict[str, Any]) -> None:
    from rich.live import Live

    heard = time.monotonic()
    with Live(_picture(told, most_leases=20), console=make_console(), auto_refresh=False, screen=True) as live:
        while True:
            live.refresh()
            time.sleep(EVERY_S)
            try:
                live.update(_picture(_look(shell), most_leases=20))
                heard = time.monotonic()
            except SylkError as error:
                if isinstance(error, RuntimeNotReachable) and time.monotonic() - heard < PATIENCE_S:
                    continue
                raise


def _look(shell: Shell) -> dict[str, Any]:
    client = shell.client()
    return {"shares": client.get("/shares"), "sessions": client.get("/sessions")}


def _picture(told: dict[str, Any], most_leases: int | None = None) -> RenderableType:
    from sylk_ray.cli.top_view import picture

    sessions = msgspec.convert(told["sessions"], list[SessionRecord])
    return picture(msgspec.convert(told["shares"], Snapshot), sessions, most_leases)
