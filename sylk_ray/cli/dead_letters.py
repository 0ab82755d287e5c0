"""``sylk dead-letters``: messages that a session's agents could not handle."""

from __future__ import annotations

import json as json_text
from typing import Annotated, Any
from urllib.parse import quote

import typer

from sylk_ray.cli.humanise import age
from sylk_ray.cli.shell import Home, Json, Shell
from sylk_ray.gateway.narration import plain, shortened

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Look at messages that could not be handled; send them again."
)
Session = Annotated[str, typer.Argument(metavar="SESSION", help="The session's name or id.")]
Letter = Annotated[str, typer.Argument(metavar="ID", help="The letter's id.")]


@app.command("list")
def list_letters(session: Session, home: Home = None, json: Json = False) -> None:
    """List a session's dead letters, the oldest first; of any session, open or not.

    Examples:

      sylk dead-letters list tidy-up
    """
    from rich.markup import escape
    from rich.table import Table

    shell = Shell(home, json)
    found = shell.client().get(_path(session))
    shell.document({"dead_letters": found})
    if json:
        return
    if not found:
        shell.say(f"session {session} has no dead letters")
        return
    table = Table("id", "message", "from", "to", "error", "when", "reason", box=None, pad_edge=False)
    for each in found:
        parts = (each["id"], each["kind"], each["source"], each["target"], each["error"], age(each["at"]))
        table.add_row(*map(escape, parts), escape(plain(_last_line(each["reason"]))))
    shell.show(table)


@app.command("show")
def show(session: Session, letter: Letter, home: Home = None, json: Json = False) -> None:
    """Show one dead letter: its message, as far as it can be read, and why it could not be handled.

    Examples:

      sylk dead-letters show tidy-up 3f9a2c1e-17
    """
    shell = Shell(home, json)
    told = shell.client().get(_path(session, letter))
    shell.document(told)
    if json:
        return
    shell.say(f"{told['id']}: {told['kind']} from {told['source']} to {told['target']}, {age(told['at'])}")
    shell.say(f"error: {told['error']}", *(f"  {plain(line)}" for line in str(told["reason"]).splitlines()))
    content = json_text.dumps(told["message"], indent=2, ensure_ascii=False)
    shell.say("message:", *(f"  {plain(line)}" for line in content.splitlines()))


@app.command("retry")
def retry(session: Session, letter: Letter, home: Home = None, json: Json = False) -> None:
    """Send a dead letter to its receiver once more. It comes back when it cannot be handled again.

    Examples:

      sylk dead-letters retry tidy-up 3f9a2c1e-17
    """
    shell = Shell(home, json)
    told = shell.client().post(f"{_path(session, letter)}/retry")
    shell.document(told)
    if not json:
        shell.say(
            f"{told['id']} is on its way to {told['target']}; `sylk dead-letters list {session}` if it comes back"
        )


@app.command("drop")
def drop(session: Session, letter: Letter, home: Home = None, json: Json = False) -> None:
    """Forget a dead letter.

    Examples:

      sylk dead-letters drop tidy-up 3f9a2c1e-17
    """
    shell = Shell(home, json)
    told = shell.client().delete(_path(session, letter))
    shell.document(told)
    if not json:
        shell.say(f"{told['id']} is dropped")


def _path(session: str, letter: str = "") -> str:
    beneath = f"/{quote(letter, safe='')}" if letter else ""
    return f"/sessions/{quote(session, safe='')}/dead-letters{beneath}"


def _last_line(reason: Any) -> str:
    """A traceback's last line says what was raised."""
    lines = shortened(str(reason).strip().rpartition("\n")[2])
    return lines[0] if lines else ""
