"""Who watches what: bounded queues between the gateway's agent and the open streams."""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict, deque
from collections.abc import Generator

import msgspec

from sylk_ray.runtime.history import Events

BOUND = 2000
"""Events that wait for one client; at half of it passing events are left out."""


class Watch:
    """One client's queue. ``ended`` says why nothing more will come, and is empty as long as it may."""

    def __init__(self, bound: int = BOUND, session: str = "") -> None:
        self.ended = ""
        self.session = session
        """The one that is watched; empty for several."""
        self._bound = bound
        self._batches: deque[Events] = deque()
        self._waiting = 0
        self._again = False
        self._arrived = asyncio.Event()

    def put(self, batch: Events) -> None:
        """Queue events; a client that is too slow loses its queue and is told so."""
        if self.ended:
            return
        if self._waiting >= self._bound // 2:
            kept = [event for event in batch.events if event.sequence]
            dropped = batch.dropped + len(batch.events) - len(kept)
            batch = msgspec.structs.replace(batch, events=kept, dropped=dropped)
        if self._waiting + len(batch.events) > self._bound:
            self.end("too_slow")
            return
        self._batches.append(batch)
        self._waiting += len(batch.events)
        self._arrived.set()

    def look_again(self) -> None:
        """End the present wait, or the next one, with nothing."""
        self._again = True
        self._arrived.set()

    def end(self, why: str) -> None:
        """Nothing more comes; what waits is dropped, since the client reads it again by its cursor."""
        self.ended = why
        self.clear()
        self._arrived.set()

    def clear(self) -> None:
        """Forget what waits."""
        self._batches.clear()
        self._waiting = 0

    async def next(self, timeout: float) -> Events | None:
        """The next batch; None when there is none within ``timeout`` seconds, or the watch has ended."""
        if not (self._batches or self.ended or self._again):
            self._arrived.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(timeout):
                    await self._arrived.wait()
        if self._batches:
            return self.take()
        self._again = False
        return None

    def take(self) -> Events | None:
        """The next batch, if one waits."""
        if not self._batches:
            return None
        batch = self._batches.popleft()
        self._waiting -= len(batch.events)
        return batch


class Hub:
    """All watches of one gateway, by the subscription that feeds them."""

    def __init__(self) -> None:
        self._watches: dict[str, set[Watch]] = defaultdict(set)

    @contextlib.contextmanager
    def watch(self, subscription: str, bound: int = BOUND, *, session: str = "") -> Generator[Watch]:
        """A queue of what is sent for a subscription from now on: of one session, or of several."""
        watch = Watch(bound, session)
        self._watches[subscription].add(watch)
        try:
            yield watch
        finally:
            self._watches[subscription].discard(watch)
            if not self._watches[subscription]:
                del self._watches[subscription]

    def spread(self, batch: Events) -> bool:
        """Give events to everyone who watches, and never wait; whether anyone does."""
        watches = self._watches.get(batch.subscription, ())
        for watch in watches:
            watch.put(batch)
        return bool(watches)

    def look_again(self, session: str = "") -> None:
        """Something of a session, or of any, has changed or may be missing: whoever watches it looks at it again."""
        for watches in self._watches.values():
            for watch in watches:
                if not session or watch.session in ("", session):
                    watch.look_again()

    def watched(self, subscription: str) -> bool:
        """Whether anyone watches."""
        return subscription in self._watches

    def close(self) -> None:
        """End every watch: the gateway stops."""
        for watches in self._watches.values():
            for watch in watches:
                watch.end("closing")
