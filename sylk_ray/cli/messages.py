"""``sylk messages``: what agents say to each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sylk_ray.cli.shell import Home, Json, Shell
from sylk_ray.errors import InputError

if TYPE_CHECKING:
    from sylk_ray.cli.message_table import MessageLine

Name = Annotated[str, typer.Argument(metavar="[NAME]", help="One message: its fields and their types.")]


class UnknownMessage(InputError):
    """There is no message of that name."""

    code = "unknown_message"


def messages(name: Name = "", home: Home = None, json: Json = False) -> None:
    """List the messages that agents say to each other, by who hears them; or show one. Needs no runtime.

    What is kept waits in the session's journal until it is handled; what passes is lost with its cell.

    Examples:

      sylk messages

      sylk messages StartPipeline
    """
    from sylk_ray.cli.message_table import message_table

    shell = Shell(home, json)
    table = message_table()
    if name:
        _show(_found(name, table), shell)
        return
    shell.document({"messages": table})
    if not json:
        _list(table, shell)


def _found(name: str, table: list[MessageLine]) -> MessageLine:
    from sylk_ray.dag.nearest import did_you_mean, nearest

    known = {each.name: each for each in table}
    known |= {spec: each for each in reversed(table) for spec in each.spec}
    if name in known:
        return known[name]
    near = nearest(name, known)
    hint = did_you_mean(name, known) if near else "see `sylk messages`"
    raise UnknownMessage(f"there is no message {name!r}", hint=hint)


def _list(table: list[MessageLine], shell: Shell) -> None:
    from rich.markup import escape
    from rich.table import Table

    shown = Table("to", "message", "from", "answered by", "delivery", "specification", "what it says", box=None)
    for each in table:
        delivery = f"{each.delivery}, ahead" if each.ahead else each.delivery
        parts = (each.receiver, each.name, each.sender, each.answer, delivery, ", ".join(each.spec), each.doc)
        shown.add_row(*map(escape, parts))
    shell.show(shown)


def _show(message: MessageLine, shell: Shell) -> None:
    shell.document(message)
    if shell.json:
        return
    named = f" ({', '.join(message.spec)})" if message.spec else ""
    shell.say(f"{message.name}{named}: {message.sender} to {message.receiver}")
    answered = f", answered by {message.answer}" if message.answer else ""
    ahead = "; nobody understands it yet" if message.ahead else ""
    shell.say(f"{message.delivery}{answered}, priority {message.priority}{ahead}; declared in {message.module}")
    shell.say("", message.about)
    for field in message.fields:
        shell.say(f"  {field.name}: {field.type}" + (f" = {field.default}" if field.default else ""))
