"""A context to test with: a window of 1,000 tokens, and everything that a memory calls, failing when told to."""

from __future__ import annotations

from typing import Any

import msgspec

from sylk_ray.context_window import Checkpoint, ContextMemory, ContextPolicy, ContextState, Moment
from sylk_ray.runtime.clock import ManualClock

WINDOW = 1_000


class Summary(msgspec.Struct, frozen=True):
    """What a role knows."""

    known: str
    usage: float


class World:
    """What was called, and what fails; ``shrinks_to`` overrides what the compactor leaves."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.kept: list[Checkpoint] = []
        self.compacted: list[tuple[int, Checkpoint]] = []
        self.handed: list[Checkpoint] = []
        self.attempts = 0
        self.fails: set[str] = set()
        self.shrinks_to: int | None = None

    def memory(self, policy: ContextPolicy, *, state: ContextState | None = None, **options: Any) -> ContextMemory:
        given: dict[str, Any] = {
            "window_tokens": WINDOW,
            "summarise": self.summarise,
            "sink": self,
            "compact": self.compact,
            "hand_off": self.hand_off,
            "clock": self.clock,
        }
        return ContextMemory("s-1", "guide", policy, state=state, **{**given, **options})

    async def summarise(self, moment: Moment) -> Summary:
        self._fail("summarise")
        return Summary("everything", moment.usage)

    async def submit(self, checkpoint: Checkpoint) -> None:
        self._fail("submit")
        self.kept.append(checkpoint)

    async def compact(self, target_tokens: int, checkpoint: Checkpoint) -> int:
        self.compacted.append((target_tokens, checkpoint))
        self._fail("compact")
        return target_tokens if self.shrinks_to is None else self.shrinks_to

    async def hand_off(self, checkpoint: Checkpoint) -> None:
        self.attempts += 1
        self._fail("hand_off")
        self.handed.append(checkpoint)

    def _fail(self, what: str) -> None:
        if what in self.fails:
            raise ConnectionError(f"{what} is down")


def indexes(checkpoints: list[Checkpoint] | tuple[Checkpoint, ...]) -> list[int]:
    return [each.moment.index for each in checkpoints]
