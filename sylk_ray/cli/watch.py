"""``sylk watch``: what is published, in all sessions or in some."""

from __future__ import annotations

import time
from typing import Annotated, Any

import msgspec
import typer

from sylk_ray.cli.shell import Home, Shell
from sylk_ray.gateway.narration import plain
from sylk_ray.messaging import Event
from sylk_ray.messaging.topics import pattern_segments

DATA_WIDTH = 100


def watch(
    pattern: Annotated[
        str, typer.Argument(metavar="PATTERN", help="Topics: * is one part of a name, # at the end any number.")
    ],
    session: Annotated[
        list[str] | None, typer.Option(help="Only of this session, by id or name; may be given again.")
    ] = None,
    kind: Annotated[list[str] | None, typer.Option(help="Only events of this kind; may be given again.")] = None,
    priority: Annotated[str, typer.Option(help="Only what is as urgent as this: critical, high, normal, low.")] = "",
    after: Annotated[str, typer.Option(metavar="CURSOR", help="Go on after this cursor; 0 is the beginning.")] = "",
    no_follow: Annotated[bool, typer.Option("--no-follow", help="End after the events so far.")] = False,
    home: Home = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document a line, each with the cursor to go on with.")
    ] = False,
) -> None:
    """Print what is published to the topics of a pattern, of all sessions, a line an event, until Ctrl-C.

    An agent of a session publishes to session.ID.ROLE.CHANNEL; what becomes of jobs and sessions is session.ID.status.
    It begins with what comes next, unless it is given a cursor; over a break in the connection nothing is lost or told
    twice.

    Examples:

      sylk watch 'session.*.status'

      sylk watch 'session.*.inspector.#' --session tidy

      sylk watch '#' --after 0 --no-follow --json
    """
    shell = Shell(home, json)
    pattern_segments(pattern)  # said before anything is asked
    told = shell.client().topics(
        pattern, after, follow=not no_follow, sessions=session or [], kinds=kind or [], priority=priority
    )
    try:
        for event, cursor in told:
            if json:
                print(msgspec.json.encode(_document(event, cursor)).decode(), flush=True)
            else:
                shell.say(line_of(event))
    except KeyboardInterrupt:
        return  # the way in which it ends


def line_of(event: Event) -> str:
    """An event in a line: when, whose, where, what, and some of its data."""
    at = time.strftime("%H:%M:%S", time.localtime(event.at)) if event.at else "--:--:--"
    data = msgspec.json.encode(event.data).decode() if event.data else ""
    short = data if len(data) <= DATA_WIDTH else f"{data[:DATA_WIDTH]}..."
    parts = [at, event.session, event.topic, event.kind, event.task, short]
    return plain("  ".join(each for each in parts if each))


def _document(event: Event, cursor: str) -> dict[str, Any]:
    return {"topic": event.topic, **msgspec.to_builtins(event), "cursor": cursor}
