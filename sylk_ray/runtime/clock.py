"""Time, passed in: the system's, or one that a test drives."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from typing import Protocol


class Clock(Protocol):
    """Wall time for deadlines that cross processes, and sleeping."""

    def now(self) -> float:
        """Unix time in seconds."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after that many seconds of this clock."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> float:
        """Unix time in seconds."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """Sleep on the event loop."""
        await asyncio.sleep(seconds)


class ManualClock:
    """A clock that stands still until ``advance``; sleepers wake in the order of their times."""

    def __init__(self, start: float = 1_000_000.0) -> None:
        self._now = start
        self._order = itertools.count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def now(self) -> float:
        """Where the test has driven the clock to."""
        return self._now

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock has been advanced past that time."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._now + seconds, next(self._order), waiter))
        await waiter

    async def advance(self, seconds: float) -> None:
        """Move on, waking each sleeper at its own time and letting it run."""
        end = self._now + seconds
        while self._sleepers and self._sleepers[0][0] <= end:
            at, _, waiter = heapq.heappop(self._sleepers)
            self._now = max(self._now, at)
            if not waiter.done():
                waiter.set_result(None)
            for _ in range(10):
                await asyncio.sleep(0)
        self._now = end
        await asyncio.sleep(0)
