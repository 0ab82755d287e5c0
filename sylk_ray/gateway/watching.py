"""Who watches which session: bounded queues between the gateway's agent and the open streams."""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict, deque
from collections.abc import Generator, Sequence

from sylk_ray.messaging import Event

BOUND = 2000
"""Events that wait for one client; at half of it passing events are left out."""


class Watch:
    """One client's queue. ``ended`` says why nothing more will come, and is empty as long as it may."""

    def __init__(self, bound: int = BOUND) -> None:
        self.ended = ""
        self._bound = bound
        self._events: deque[Event] = deque()
        self._again = False
        self._arrived = asyncio.Event()

    def put(self, event: Event) -> None:
        """Queue an event; a client that is too slow loses its queue and is told so."""
        if self.ended or (event.sequence == 0 and len(self._events) >= self._bound // 2):
            return
        if len(self._events) >= self._bound:
            self.end("too_slow")
            return
        self._events.append(event)
        self._arrived.set()

    def look_again(self) -> None:
        """End the present wait, or the next one, with nothing."""
        self._again = True
        self._arrived.set()

    def end(self, why: str) -> None:
        """Nothing more comes; what waits is dropped, since the client reads it again by its cursor."""
        self.ended = why
        self._events.clear()
        self._arrived.set()

    async def next(self, timeout: float) -> Event | None:
        """The next event; None when there is none within ``timeout`` seconds, or the watch has ended."""
        if not (self._events or self.ended or self._again):
            self._arrived.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(timeout):
                    await self._arrived.wait()
        if self._events:
            return self._events.popleft()
        self._again = False
        return None


class Hub:
    """All watches of one gateway, by session."""

    def __init__(self) -> None:
        self._watches: dict[str, set[Watch]] = defaultdict(set)

    @contextlib.contextmanager
    def watch(self, session: str, bound: int = BOUND) -> Generator[Watch]:
        """A queue of a session's events from now on."""
        watch = Watch(bound)
        self._watches[session].add(watch)
        try:
            yield watch
        finally:
            self._watches[session].discard(watch)
            if not self._watches[session]:
                del self._watches[session]

    def spread(self, session: str, events: Sequence[Event]) -> None:
        """Give events to everyone who watches; never waits."""
        for watch in self._watches.get(session, ()):
            for event in events:
                watch.put(event)

    def look_again(self) -> None:
        """Something may be missing, for a router may have died: whoever watches reads the history once more."""
        for watches in self._watches.values():
            for watch in watches:
                watch.look_again()

    def watched(self, session: str) -> bool:
        """Whether anyone watches."""
        return session in self._watches

    def close(self) -> None:
        """End every watch: the gateway stops."""
        for watches in self._watches.values():
            for watch in watches:
                watch.end("closing")
