r"""From what was said to what it means for routing.

The grammar, in EBNF; space around an utterance is dropped::

    utterance = directed | broadcast | task | slash | free ;
    directed  = "@", ( "to" | "from" | "guide" ), ":", agent, space, message ;
    broadcast = "@broadcast:", agent, { ",", agent }, space, message ;
    task      = "/task", space, name, space, action, [ space, message ] ;
    slash     = "/", [ agent, ":" ], command, { space, option }, { space, argument }, [ space, message ] ;
    option    = "--", command, [ "=", argument ] ;
    argument  = quoted | bare ;
    message   = quoted | rest ;
    free      = [ "\" ], rest ;

    quoted    = '"', { character | escape }, '"' ;      (* character: any but " and \ *)
    escape    = "\", ( '"' | "\" | "n" | "t" | "r" ) ;
    rest      = character of the text, to its end, beginning with no quote ;
    bare      = letters without space, beginning with no quote ;
    agent     = part, [ "/", part ], [ "/", part ] ;    (* librarian, engineer/create_dashboard, an address *)
    part      = letter or digit, { letter | digit | "_" | "." | "-" } ;
    action    = "prompt" | "query" | "interrupt" | "ignore_inspector" | "ignore_tester" | "handoff" | "stop_handoff" ;
    command   = letter, { letter | digit | "_" } ;

A message without quotes is all that is left of the text, other lines included, and in it a backslash is only a
backslash. The last argument of some commands is such a message (``commands.toml`` says of which); ``--`` ends the
options, for an argument that begins so. Tags, commands and actions are read in any case, ``-`` in them as ``_``.

A text that begins with ``@`` is always for someone; one that begins with ``/`` is a command unless its first word has a
further ``/`` or a ``.``, as a path has. A backslash in front makes either free text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import cast, get_args

from sylk_ray.dag import did_you_mean
from sylk_ray.errors import InputError
from sylk_ray.routing.commands import Command, Parameter, command_of, commands
from sylk_ray.routing.cursor import Cursor
from sylk_ray.routing.not_understood import NotUnderstood
from sylk_ray.routing.utterances import (
    AGENT,
    TASK,
    Broadcast,
    Directed,
    FreeText,
    SlashCommand,
    Tag,
    TaskAction,
    TaskCommand,
    Utterance,
)

_TAGS = (*get_args(Tag), "broadcast")
_WORD = re.compile(r"[A-Za-z][\w-]*")
_NAME = re.compile(r"[\w-]+")
_COMMAND = re.compile(r"/(?:[A-Za-z]\w*:)?[^\s/.:]*(?=\s|\Z)")


def parse(text: str) -> Utterance:
    """What was said. Raises NotUnderstood, and nothing else, for any text."""
    cursor = Cursor(text.rstrip())
    cursor.skip_space()
    if cursor.ended:
        raise cursor.complain("nothing was said", hint='say what you want, or @to:<agent> "..." for one agent')
    start = cursor.at
    try:
        if cursor.starts("@"):
            return _addressed(cursor)
        if _COMMAND.match(cursor.text, cursor.at):
            return _command(cursor)
        if cursor.starts("\\@") or cursor.starts("\\/") or cursor.starts("\\\\"):
            cursor.at += 1
        return FreeText(cursor.rest())
    except NotUnderstood:
        raise
    except InputError as error:  # a record that would not be sound
        raise cursor.complain(error.message, hint=error.hint, at=start) from None


def _addressed(cursor: Cursor) -> Directed | Broadcast:
    start = cursor.at
    cursor.at += 1
    tag = _folded(cursor.take(_WORD))
    if tag not in _TAGS or not cursor.starts(":"):
        raise cursor.complain(
            f'"{cursor.text[start : cursor.at]}" is no way to name a receiver',
            hint=did_you_mean(tag, _TAGS) or r'write @to:<agent> "..."; to begin a text with @, write \@',
            at=start,
        )
    cursor.at += 1
    if tag == "broadcast":
        return _broadcast(cursor)
    agent = _agent(cursor)
    return Directed(cast("Tag", tag), agent, _message(cursor))


def _broadcast(cursor: Cursor) -> Broadcast:
    agents: list[str] = []
    while True:
        start = cursor.at
        agent = _agent(cursor)
        if agent in agents:
            raise cursor.complain(f'"{agent}" is named twice', hint="name each agent once", at=start)
        agents.append(agent)
        if not cursor.starts(","):
            return Broadcast(tuple(agents), _message(cursor))
        cursor.at += 1


def _agent(cursor: Cursor) -> str:
    name = cursor.take(AGENT)
    if not name:
        raise cursor.complain("an agent's name is missing here", hint='for example @to:librarian "where is the parser"')
    return name


def _message(cursor: Cursor) -> str:
    """What an agent is told; it must be there."""
    if not cursor.skip_space() and not cursor.ended:
        raise cursor.complain("a space is missing here", hint="a name ends at the first space")
    start = cursor.at
    said = cursor.message()
    if not said.strip():
        raise cursor.complain("the message is empty", hint='say something, for example "where is the parser"', at=start)
    return said


def _command(cursor: Cursor) -> TaskCommand | SlashCommand:
    start = cursor.at
    cursor.at += 1
    word = cursor.bare()
    agent, _, name = word.rpartition(":")
    agent, name = _folded(agent), _folded(name)
    if (agent, name) == ("", "task"):
        return _task(cursor)
    command = command_of(name, agent)
    if command is None:
        known = [each.name for each in commands() if agent in ("", each.agent)]
        whose = f'the agent "{agent}" has no command /{name}' if agent else f"there is no command /{name}"
        hint = did_you_mean(name, ["task", *known]) or r"to begin a text with /, write \/"
        raise cursor.complain(whose, hint=hint, at=start)
    return SlashCommand(command.agent, command.name, _arguments(cursor, command))


def _task(cursor: Cursor) -> TaskCommand:
    usage = f'/task <name> <action> ["..."], where an action is {", ".join(TaskAction)}'
    cursor.skip_space()
    task = cursor.take(TASK)
    if not task:
        raise cursor.complain("the task's name is missing here", hint=usage)
    spaced = cursor.skip_space()
    start = cursor.at
    word = _folded(cursor.take(_NAME)) if spaced else ""
    if word not in set(TaskAction):
        shown = f'"{word}" is no action' if word else "the action is missing here"
        raise cursor.complain(shown, hint=did_you_mean(word, TaskAction) or usage, at=start)
    action = TaskAction(word)
    if cursor.ended and not action.needs_text:
        return TaskCommand(task, action)
    return TaskCommand(task, action, _message(cursor))


def _arguments(cursor: Cursor, command: Command) -> dict[str, str]:
    given = _options(cursor, command)
    for argument in command.arguments:
        cursor.skip_space()
        start = cursor.at
        if cursor.ended:
            if argument.required:
                raise cursor.complain(f"/{command.name} needs a {argument.name}", hint=command.usage)
            return given
        value = cursor.message() if argument.kind == "rest" else _value(cursor)
        given[argument.name] = _checked(cursor, command, argument, value, start)
    cursor.skip_space()
    if not cursor.ended:
        raise cursor.complain(f"/{command.name} takes nothing more here", hint=command.usage)
    return given


def _options(cursor: Cursor, command: Command) -> dict[str, str]:
    given: dict[str, str] = {}
    while True:
        cursor.skip_space()
        start = cursor.at
        if not cursor.starts("--"):
            return given
        cursor.at += 2
        name = _folded(cursor.take(_NAME))
        if not name and (cursor.ended or cursor.text[cursor.at].isspace()):
            return given
        option = _named(command.options, name)
        if option is None:
            hint = did_you_mean(name, [each.name for each in command.options]) or command.usage
            raise cursor.complain(f'/{command.name} has no option "--{name}"', hint=hint, at=start)
        if name in given:
            raise cursor.complain(f'"--{name}" is given twice', hint="give it once", at=start)
        given[name] = _checked(cursor, command, option, _option_value(cursor, option), start)
        if not cursor.ended and not cursor.text[cursor.at].isspace():
            raise cursor.complain("a space is missing after the option", hint=command.usage)


def _option_value(cursor: Cursor, option: Parameter) -> str:
    if cursor.starts("="):
        cursor.at += 1
        return _value(cursor)
    if option.kind == "flag":
        return "true"
    raise cursor.complain(f"--{option.name} needs a value", hint=f"write --{option.name}=<value>")


def _value(cursor: Cursor) -> str:
    if not cursor.starts('"'):
        return cursor.bare()
    said = cursor.quoted()
    if not cursor.ended and not cursor.text[cursor.at].isspace():
        raise cursor.complain("a space is missing after the closing quote", hint=r"write \" for a quote within quotes")
    return said


def _checked(cursor: Cursor, command: Command, parameter: Parameter, value: str, at: int) -> str:
    fault = parameter.fault(value)
    if fault:
        hint = did_you_mean(value, parameter.choices) or command.usage
        raise cursor.complain(f"{parameter.name} {fault}", hint=hint, at=at)
    return value


def _named(parameters: Iterable[Parameter], name: str) -> Parameter | None:
    return next((each for each in parameters if each.name == name), None)


def _folded(word: str) -> str:
    return word.lower().replace("-", "_")
