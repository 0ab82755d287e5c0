"""One at a time for each name."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager


class Turns:
    """A lock a name; a name that nobody holds or waits for is forgotten, and not a moment earlier: two that wait for
    one name must never hold different locks."""

    def __init__(self) -> None:
        self._locks: dict[str, asyncio.Lock] = {}
        self._wanted: Counter[str] = Counter()

    def __contains__(self, name: object) -> bool:
        """Whether somebody holds it or waits for it."""
        return name in self._locks

    def names(self) -> list[str]:
        """Those that somebody holds or waits for."""
        return list(self._locks)

    @asynccontextmanager
    async def of(self, name: str) -> AsyncGenerator[None]:
        """Be the only one with that name."""
        self._wanted[name] += 1
        lock = self._locks.setdefault(name, asyncio.Lock())
        try:
            async with lock:
                yield
        finally:
            self._wanted[name] -= 1
            if not self._wanted[name]:
                del self._wanted[name], self._locks[name]
