"""What is said to agents of a pipeline while they are at work, and what these ask of others."""

from __future__ import annotations

import msgspec

from sylk_ray.messaging import Message, Request, said_by
from sylk_ray.pipelines.messages import WORKERS


class TellEngineer(Message, frozen=True):
    """A person's words for the Engineer of an attempt; it hears them before it asks its model the next time."""

    flow = said_by("orchestrator", to="pipeline")
    spec = ("USER_TASK_PROMPT",)

    attempt: int
    text: str


class Said(msgspec.Struct, frozen=True):
    """``wishes``: how often in this attempt a person has wished that another pipeline goes on; 0 when all is done about
    that, or none may."""

    words: list[str] = []
    wishes: int = 0


class WhatWasSaid(Request[Said], frozen=True):
    """Engineer to its pipeline: what has a person said during this attempt, after the first so many words?"""

    flow = said_by("engineer", to="pipeline")
    remembered = False

    attempt: int
    after: int = 0


class HelpWanted(Request[None], frozen=True):
    """Engineer to the orchestrator: its model has a question, and goes on when it is answered. Asked again, it is the
    same question."""

    flow = said_by("engineer", to="orchestrator")
    spec = ("ENGINEER_CLARIFY",)

    task: str
    attempt: int
    question: str


class WasHelped(Request[str | None], frozen=True):
    """Engineer to the orchestrator: what is the answer? None while there is none."""

    flow = said_by("engineer", to="orchestrator")
    spec = ("ARCHITECT_CLARIFY_RESPONSE",)
    remembered = False

    task: str
    attempt: int
    question: str


class TokenGrant(msgspec.Struct, frozen=True):
    """How a person has answered, for the ``number``-th time, that the session's tokens are spent."""

    number: int
    more: int
    """0: no more."""


class TokensWanted(Request[None], frozen=True):
    """Who thinks to the orchestrator: the session has used its tokens, also those of the ``after`` first grants. A
    person is asked for more, once for all who want them."""

    flow = said_by(*WORKERS, "architect", "academic", to="orchestrator")

    after: int = 0
    why: str = ""


class TokensGiven(Request[TokenGrant | None], frozen=True):
    """The same: what did the person say? None while nobody has said anything since the ``after`` first grants."""

    flow = said_by(*WORKERS, "architect", "academic", to="orchestrator")
    remembered = False

    after: int = 0
