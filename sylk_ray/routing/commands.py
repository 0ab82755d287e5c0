"""The slash commands there are, who carries them out, and what they take: read from ``commands.toml``."""

from __future__ import annotations

from functools import cache
from typing import Literal

import msgspec

from sylk_ray.routing.tables import table

Kind = Literal["text", "rest", "integer", "flag"]


class Parameter(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An argument or an option of a command."""

    name: str
    help: str
    kind: Kind = "text"
    """``rest`` takes all that follows; only the last argument can. ``flag`` is for options."""
    required: bool = False
    choices: tuple[str, ...] = ()

    def fault(self, value: str) -> str:
        """What is wrong with a value; empty if nothing is."""
        if self.kind == "flag":
            return "" if value == "true" else "is a flag: it takes no value"
        if not value:
            return "is empty"
        if self.kind == "integer" and not (value.isascii() and value.isdecimal()):
            return f'is a whole number, not "{value}"'
        if self.choices and value not in self.choices:
            return f'is one of {", ".join(self.choices)}, not "{value}"'
        return ""


class Command(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One slash command."""

    agent: str
    name: str
    help: str
    arguments: tuple[Parameter, ...] = ()
    options: tuple[Parameter, ...] = ()
    skill: str = ""
    """The skill of the agent that carries it out; empty while there is none."""
    stand_in: str = ""
    """Another agent that has that skill, and does it where the agent is not there."""

    def __post_init__(self) -> None:
        if any(each.kind == "rest" for each in (*self.arguments[:-1], *self.options)):
            raise ValueError(f"{self.usage}: only the last argument can take the rest")
        if any(each.kind == "flag" for each in self.arguments):
            raise ValueError(f"{self.usage}: only an option can be a flag")
        needed = [each.required for each in self.arguments]
        if needed != sorted(needed, reverse=True) or any(each.required for each in self.options):
            raise ValueError(f"{self.usage}: what is required comes first, and options are not")

    @property
    def usage(self) -> str:
        """``/skip <test_name> <reason...>``"""
        parts = [f"/{self.name}"]
        for option in self.options:
            parts.append(f"[--{option.name}]" if option.kind == "flag" else f"[--{option.name}={_values(option)}]")
        for argument in self.arguments:
            shown = _values(argument) + ("..." if argument.kind == "rest" else "")
            parts.append(f"<{shown}>" if argument.required else f"[{shown}]")
        return " ".join(parts)


def _values(parameter: Parameter) -> str:
    return "|".join(parameter.choices) or parameter.name


class _File(msgspec.Struct, forbid_unknown_fields=True):
    command: tuple[Command, ...]


@cache
def commands() -> tuple[Command, ...]:
    """All of them, in the order of the file. Raises msgspec.ValidationError if the file in the package is broken."""
    return table("commands.toml", _File).command


def command_of(name: str, agent: str = "") -> Command | None:
    """The command of that name, of that agent if one is named."""
    return next((each for each in commands() if each.name == name and agent in ("", each.agent)), None)
