"""The moments a run waits for: an attempt's deadline, the end of a back-off."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import NamedTuple


class Timer(NamedTuple):
    """``attempt`` tells a timer of the present attempt from one that was left behind."""

    at: float
    number: int
    node: str
    attempt: int


class Timers:
    """A heap in which timers that no longer matter are dropped when they surface.

    That keeps setting and clearing a timer at O(log n), with no search for the timer to clear.
    """

    def __init__(self, matters: Callable[[Timer], bool]) -> None:
        self._heap: list[Timer] = []
        self._matters = matters
        self._set = 0

    def set(self, at: float, node: str, attempt: int) -> None:
        self._set += 1
        heappush(self._heap, Timer(at, self._set, node, attempt))

    def next_at(self) -> float | None:
        """When the earliest timer that matters is due."""
        while self._heap and not self._matters(self._heap[0]):
            heappop(self._heap)
        return self._heap[0].at if self._heap else None

    def pop_due(self, now: float) -> Timer | None:
        due = self.next_at()
        return heappop(self._heap) if due is not None and due <= now else None
