"""What is said to a session, and what comes back."""

from __future__ import annotations

from typing import Any

import msgspec

from sylk_ray.messaging import Request, said_by
from sylk_ray.routing import Intent
from sylk_ray.sessions.records import ErrorRecord


class Heard(msgspec.Struct, frozen=True, omit_defaults=True):
    """What an agent answers: ``text`` for a person, ``data`` for a program."""

    text: str
    data: Any = None
    done_by: str = ""
    """The skill that made the answer; empty when none did."""


class Hear(Request[Heard], frozen=True):
    """Something was said for this agent, in words."""

    flow = said_by("router", "guide", to="any")
    remembered = False

    text: str
    intent: Intent = Intent.GENERAL
    subject: str = ""
    time_scope: str = ""
    confidence: float = 1.0
    said_by: str = ""
    """Who speaks: an agent's role, or empty for a person."""


class CallSkill(Request[Heard], frozen=True):
    """Use one of this agent's skills; ``arguments`` is a JSON object."""

    flow = said_by("router", "guide", to="any")
    remembered = False

    skill: str
    arguments: str = "{}"
    said_by: str = ""


class Answered(msgspec.Struct, frozen=True, omit_defaults=True):
    """What came back from one of those that something was said to."""

    agent: str
    """Its role, and its name where it is not the only one: ``engineer/create_dashboard``."""
    text: str = ""
    data: Any = None
    done_by: str = ""
    error: ErrorRecord | None = None
    seconds: float = 0.0


class Said(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Where an utterance went, why, and what came back."""

    session: str = ""
    """The session that it was said to; empty for the runtime as a whole."""
    kind: str
    """What it was: ``directed``, ``broadcast``, ``task``, ``command`` or ``free``."""
    intent: str = ""
    subject: str = ""
    time_scope: str = ""
    confidence: float = 1.0
    reasons: tuple[str, ...] = ()
    cached: bool = False
    """Whether the route was known from before."""
    answers: tuple[Answered, ...] = ()
    routed_s: float = 0.0
    """How long it took to know where it goes."""
    trace: str = ""

    @property
    def well(self) -> bool:
        """Whether everyone who was spoken to answered."""
        return bool(self.answers) and all(each.error is None for each in self.answers)


class Say(Request[Said], frozen=True):
    """To a session's router, or to the Guide: bring this to whom it is for, and answer what they say."""

    flow = said_by("any", to=("router", "guide"))

    text: str
    said_by: str = ""
    """An agent's role; empty for a person."""
    timeout_s: float = 60.0


class SayAtRest(Request[Said], frozen=True):
    """To the Guide: the same, to a session whose agents are put away. It answers from records and the history."""

    flow = said_by("user", to="guide")

    session: str
    text: str
    timeout_s: float = 60.0
