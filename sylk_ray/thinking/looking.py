"""Commands of an agent that only looks: of a list, without what would write or run more, and run as they were read."""

from __future__ import annotations

import re
from typing import NamedTuple

from sylk_ray.thinking.commands import CommandRefused
from sylk_ray.thinking.shell_words import Token, Unreadable, tokens

_JOINS = ("|", ";", "&&", "||")


class _Refused(NamedTuple):
    """Arguments by which a program would do more than to look: those that match, and long ones, which may be
    abbreviated."""

    short: re.Pattern[str]
    long: tuple[str, ...] = ()


_LOOKS: dict[str, _Refused | None] = {
    "cat": None,
    "head": None,
    "tail": _Refused(re.compile(r"-\w*[fF]"), ("--follow", "--retry", "--pid")),
    "grep": None,
    "find": _Refused(re.compile(r"-(exec|ok|delete|fprint|fls)")),
    "ls": None,
    "wc": None,
    "diff": _Refused(re.compile(r"-\w*l"), ("--paginate",)),
    "tree": _Refused(re.compile(r"-\w*[oR]"), ("--output",)),
    "file": _Refused(re.compile(r"-\w*[CmzZ]"), ("--compile", "--magic-file", "--uncompress")),
    "stat": None,
    "du": None,
    "pwd": None,
    "env": _Refused(re.compile("")),
    "which": None,
    "type": None,
}
"""The specification's list (3.1)."""
ALLOWED = ", ".join(_LOOKS)


def looking_command(command: str) -> str:
    """The same command, written so that a shell reads in it what was read here. Raises CommandRefused."""
    try:
        found = tokens(command)
    except Unreadable as problem:
        raise CommandRefused(f"a shell could not read that: {problem}", hint="see to its quotes") from None
    simple: list[Token] = []
    for token in (*found, Token(";", operator=True)):
        if not token.operator:
            simple.append(token)
            continue
        if token.text not in _JOINS:
            raise CommandRefused(f"{token.text} is not read here", hint="write plain commands, joined by | ; or &&")
        if simple:
            _check(simple)
        simple = []
    return " ".join(token.text if token.operator else token.again for token in found)


def _check(words: list[Token]) -> None:
    name, *arguments = words
    if any(each.expands for each in words):
        raise CommandRefused("$ and ` are not read here", hint="between single quotes they are what they are")
    if name.text not in _LOOKS or name.names:
        raise CommandRefused(f"{name.text} is not among what may be run to look", hint=f"there are {ALLOWED}")
    refused = _LOOKS[name.text]
    if refused is None:
        return
    for each in arguments:
        if each.names and not each.again[0].isalnum() and not each.again.startswith((".", "/")):
            # A file may be called like an option.
            raise CommandRefused(f"{name.text} {each.text} is not run", hint=f"write ./{each.text}, or quote it")
        if refused.short.match(each.text) or _is_long(each.text, refused.long):
            raise CommandRefused(f"{name.text} {each.text} is not run: it does more than to look")


def _is_long(argument: str, options: tuple[str, ...]) -> bool:
    option = argument.partition("=")[0]
    return len(option) > 2 and any(each.startswith(option) for each in options)
