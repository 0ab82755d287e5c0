"""What a person or an agent can say, understood: each a record that is sound once it exists.

Making one that could not be said raises InputError, so that whatever exists can be printed and parsed again.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Literal

import msgspec

from sylk_ray.errors import InputError
from sylk_ray.routing.commands import Command, Parameter, command_of

AGENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*(?:/[A-Za-z0-9][A-Za-z0-9_.-]*){0,2}")
"""A role (``librarian``), a role and a name (``engineer/create_dashboard``), or an address."""
TASK = re.compile(r"[^\s\"]+")

Tag = Literal["to", "from", "guide"]


class Directed(msgspec.Struct, frozen=True):
    """``@to:librarian "..."``: for one agent; ``from`` tells who speaks, ``guide`` asks the Guide to pass it on."""

    tag: Tag
    agent: str
    text: str

    def __post_init__(self) -> None:
        _sound_agent(self.agent)
        _said(self.text)


class Broadcast(msgspec.Struct, frozen=True):
    """``@broadcast:inspector,tester "..."``: for several agents, each once."""

    agents: tuple[str, ...]
    text: str

    def __post_init__(self) -> None:
        if not self.agents or len(set(self.agents)) < len(self.agents):
            raise InputError("a broadcast names one agent or more, each once", hint="@broadcast:inspector,tester")
        for agent in self.agents:
            _sound_agent(agent)
        _said(self.text)


class TaskAction(StrEnum):
    """What can be done with a running task."""

    PROMPT = "prompt"
    QUERY = "query"
    INTERRUPT = "interrupt"
    IGNORE_INSPECTOR = "ignore_inspector"
    IGNORE_TESTER = "ignore_tester"
    HANDOFF = "handoff"
    STOP_HANDOFF = "stop_handoff"

    @property
    def needs_text(self) -> bool:
        return self in (TaskAction.PROMPT, TaskAction.QUERY)


class TaskCommand(msgspec.Struct, frozen=True):
    """``/task create_dashboard prompt "..."``: for the pipeline of one task, by its name as the person wrote it."""

    task: str
    action: TaskAction
    text: str = ""
    """Required for a prompt and a query; the reason, if one is given, for the others."""

    def __post_init__(self) -> None:
        if not TASK.fullmatch(self.task):
            raise InputError(f"{self.task!r} is not a task's name", hint="a name has no spaces and no quotes")
        if self.action.needs_text:
            _said(self.text)
        elif self.text and not self.text.strip():
            raise InputError("the reason is blank", hint="leave it out")


class SlashCommand(msgspec.Struct, frozen=True):
    """``/find --kind=type Mailbox``: an operation of one agent, from the table of commands."""

    agent: str
    name: str
    arguments: dict[str, str] = {}
    """By name, options too; a flag that was given is ``true``."""

    def __post_init__(self) -> None:
        parameters = {each.name: each for each in (*self.command.arguments, *self.command.options)}
        unknown = [name for name in self.arguments if name not in parameters]
        if unknown:
            raise InputError(f"/{self.name} takes no {', '.join(unknown)}", hint=self.command.usage)
        for name, value in self.arguments.items():
            fault = parameters[name].fault(value)
            if fault:
                raise InputError(f"{name} of /{self.name} {fault}", hint=self.command.usage)
        self._check_order()

    def _check_order(self) -> None:
        """An argument can only be left out if all after it are."""
        left_out: Parameter | None = None
        for argument in self.command.arguments:
            given = argument.name in self.arguments
            if (left_out is not None and given) or (argument.required and not given):
                missing = left_out or argument
                raise InputError(f"/{self.name} needs a {missing.name}", hint=self.command.usage)
            left_out = left_out or (None if given else argument)

    @property
    def command(self) -> Command:
        """What the table says of it. Raises InputError for a command that is in no table."""
        found = command_of(self.name, self.agent)
        if found is None:
            raise InputError(f'the agent "{self.agent}" has no command /{self.name}')
        return found


class FreeText(msgspec.Struct, frozen=True):
    """Anything else, for the classifier."""

    text: str

    def __post_init__(self) -> None:
        if not self.text or self.text != self.text.strip():
            raise InputError("free text is not blank, and has no space around it")


Utterance = Directed | Broadcast | TaskCommand | SlashCommand | FreeText


def _sound_agent(name: str) -> None:
    if not AGENT.fullmatch(name):
        raise InputError(f"{name!r} is not an agent's name", hint="for example librarian, or engineer/create_dashboard")


def _said(text: str) -> None:
    if not text.strip():
        raise InputError("the message is empty", hint="say something in quotes")
