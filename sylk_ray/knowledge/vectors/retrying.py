"""Asking a server again while it is worth it: with growing pauses, or those that it asks for, up to a bound."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Failure:
    """How an attempt failed."""

    why: str
    again: bool = False
    """Whether the same may go well later."""
    refused: bool = False
    after_s: float | None = None
    """When it says so itself."""


@dataclass(frozen=True)
class Retrying:
    """Pauses are drawn evenly from none to a bound that doubles (full jitter; Brooker, AWS Architecture Blog 2015)."""

    attempts: int = 5
    first_s: float = 0.2
    longest_s: float = 5.0
    longest_asked_s: float = 30.0
    """A server that asks for a longer pause than this is given up at once."""
    sleep: Callable[[float], None] = field(default=time.sleep)
    chance: Callable[[], float] = field(default=random.random)

    def run(self, do: Callable[[], T], failure_of: Callable[[Exception], Failure | None]) -> T | Failure:
        """What it gives, or how the last attempt failed. What ``failure_of`` does not know is raised."""
        attempt = 0
        while True:
            attempt += 1
            try:
                return do()
            except Exception as error:
                failure = failure_of(error)
                if failure is None:
                    raise
            if not failure.again or attempt == self.attempts:
                return failure
            pause = failure.after_s
            if pause is None:
                pause = self.chance() * min(self.longest_s, self.first_s * 2 ** (attempt - 1))
            elif pause > self.longest_asked_s:
                return failure
            self.sleep(pause)
