"""``sylk say``: one utterance, and what came back."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from sylk_ray.cli.saying import TIMEOUT_S, listener_of, told, went_well
from sylk_ray.cli.shell import Home, Json, Shell

Session = Annotated[
    str, typer.Option("--session", "-s", help="Its name or id. Without one: your foreground session, else the runtime.")
]


def say(
    words: Annotated[list[str], typer.Argument(metavar="TEXT...", help="What to say; - reads it from standard input.")],
    session: Session = "",
    timeout: Annotated[float, typer.Option("--timeout", min=0.1, max=600, help="Seconds to wait.")] = TIMEOUT_S,
    home: Home = None,
    json: Json = False,
) -> None:
    """Say something to a session: it reaches the agent that it is for. Prints where it went, why, and the answer.

    Plain words are understood by rules. @to:AGENT names whom you mean, @broadcast:A,B several, /task NAME ACTION is for
    one task of the job (prompt, query, interrupt, ignore_inspector, ignore_tester, handoff, stop_handoff), and /help
    lists the other commands. Exits with 1 when somebody could not do what was said, with 2 when it was not understood.

    Examples:

      sylk say "how is the job going?"

      sylk say --session tidy-up @to:tester "how did the tests go?"

      sylk say /task use_pathlib query "what have you changed?"

      sylk say /task use_pathlib ignore_tester
    """
    shell = Shell(home, json)
    text = sys.stdin.read() if words == ["-"] else " ".join(words)
    said = listener_of(shell.client(), session).say(text, timeout)
    shell.document(said)
    if not json:
        shell.say(*told(said))
    if not went_well(said):
        raise typer.Exit(1)
