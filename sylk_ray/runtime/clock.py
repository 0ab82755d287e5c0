"""Time, passed in: the system's, or one that a test drives."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    """Something that will be called, unless it is cancelled before."""

    def cancel(self) -> None:
        """Do not call it."""
        ...


class Clock(Protocol):
    """Wall time for deadlines that cross processes, sleeping, and timers."""

    def now(self) -> float:
        """Unix time in seconds."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after that many seconds of this clock."""
        ...

    def call_later(self, seconds: float, call: Callable[[], object]) -> Timer:
        """Call it after that many seconds of this clock, on the running loop."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> float:
        """Unix time in seconds."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """Sleep on the event loop."""
        await asyncio.sleep(seconds)

    def call_later(self, seconds: float, call: Callable[[], object]) -> Timer:
        """A timer of the event loop."""
        return asyncio.get_running_loop().call_later(seconds, call)


class _ManualTimer:
    def __init__(self, call: Callable[[], object]) -> None:
        self.call: Callable[[], object] | None = call

    def cancel(self) -> None:
        self.call = None


class ManualClock:
    """A clock that stands still until ``advance``; timers go off, and sleepers wake, in the order of their times."""

    def __init__(self, start: float = 1_000_000.0) -> None:
        self._now = start
        self._order = itertools.count()
        self._timers: list[tuple[float, int, _ManualTimer]] = []

    def now(self) -> float:
        """Where the test has driven the clock to."""
        return self._now

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock has been advanced past that time."""
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.call_later(seconds, lambda: None if over.done() else over.set_result(None))
        await over

    def call_later(self, seconds: float, call: Callable[[], object]) -> Timer:
        """A timer that goes off while the clock is advanced past it."""
        timer = _ManualTimer(call)
        heapq.heappush(self._timers, (self._now + seconds, next(self._order), timer))
        return timer

    async def advance(self, seconds: float) -> None:
        """Move on, letting what wakes at each time run before the next."""
        end = self._now + seconds
        while self._timers and self._timers[0][0] <= end:
            at, _, timer = heapq.heappop(self._timers)
            self._now = max(self._now, at)
            if timer.call is not None:
                timer.call()
            for _ in range(10):
                await asyncio.sleep(0)
        self._now = end
        await asyncio.sleep(0)
