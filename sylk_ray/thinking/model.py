"""What is thought about, within which bounds, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, Literal, TypeVar

import msgspec

from sylk_ray.llm import Usage
from sylk_ray.thinking.prompts import Prompt

ResultT = TypeVar("ResultT", bound=msgspec.Struct)

Ended = Literal["done", "turns", "tokens", "time", "repeats", "silent", "window"]
"""Why it ended: with a result of its own accord, or at a limit."""


class ThinkingLimits(msgspec.Struct, frozen=True, kw_only=True):
    """At each of them the model is asked once more, for the result alone."""

    turns: int = 40
    """Calls of the model."""
    tokens: int = 1_000_000
    """Input and output of all calls together."""
    seconds: float = 1_800.0
    repeats: int = 2
    """The same call with the same answer, after which it is told so; after twice as many it ends."""
    silent: int = 2
    """Replies in a row that neither use a tool nor give the result."""


class Matter(msgspec.Struct, Generic[ResultT], frozen=True, kw_only=True):
    """One thing to think about. The fields' ``msgspec.Meta`` descriptions of ``result`` are told to the model."""

    system: Prompt | str
    task: str
    result: type[ResultT]
    finish: str = "finish"
    """The name of the tool by which the result is given."""
    about: str = "Give the result. Call it once, when there is nothing left to do."


class Heard(msgspec.Struct, frozen=True):
    """What is known of a matter that was not when it was begun."""

    said: Sequence[str] = ()
    """By a person, since this was last asked."""
    hand_off: bool = False
    """Whether another is to go on with it."""


class Outcome(msgspec.Struct, Generic[ResultT], frozen=True, kw_only=True):
    """What came of it."""

    result: ResultT | None
    """None when not even at the end a valid one was given."""
    ended: Ended
    turns: int
    usage: Usage
    price: float | None
    """Of all calls; None when one's is not known."""
    repairs: tuple[str, ...] = ()
    """What was mended to understand the model."""
    refused: int = 0
    """Calls that were wrong, or not permitted."""
    said: str = ""
    """The last words that were no call."""

    @property
    def whole(self) -> bool:
        """Whether it ended of its own accord, with a result."""
        return self.ended == "done" and self.result is not None
