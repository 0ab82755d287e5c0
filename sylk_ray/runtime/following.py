"""The subscriber's side of a subscription: it owns its cursor, and renews what others may have lost."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator

from sylk_ray.errors import SylkError
from sylk_ray.messaging import Event, SessionClosed
from sylk_ray.messaging.trace import NO_TRAIL, follow
from sylk_ray.runtime.clock import Clock
from sylk_ray.runtime.history import Events

RENEW_S = 10.0
"""Nobody keeps who subscribes when its process dies: a subscription, or a router, that is not heard of for three times
this long is forgotten, and one that was forgotten is back after this long at the latest."""
_FIRST_PAUSE_S = 0.1

log = logging.getLogger("sylk.topics")


class Renewal:
    """Says something at once, every RENEW_S from then on, and again when it may have been lost; until it is closed, or
    its session is."""

    def __init__(self, say: Callable[[], Awaitable[None]], clock: Clock) -> None:
        self._say = say
        self._clock = clock
        self._due = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin, in the background."""
        self._due.set()
        self._task = asyncio.get_running_loop().create_task(self._go_on())

    def soon(self) -> None:
        """It may have been lost: say it now."""
        self._due.set()

    def close(self) -> None:
        """Say it no more."""
        if self._task is not None:
            self._task.cancel()

    async def _go_on(self) -> None:
        follow(NO_TRAIL)  # it outlives what it was begun for
        pause = _FIRST_PAUSE_S
        while True:
            self._due.clear()
            try:
                await self._say()
            except SessionClosed:
                return
            except SylkError as error:
                log.info("it is said again in %.2g s: %s", pause, error)
                await self._clock.sleep(pause)
                pause = min(2 * pause, RENEW_S)
                continue
            pause = _FIRST_PAUSE_S
            timer = self._clock.call_later(RENEW_S, self._due.set)
            try:
                await self._due.wait()
            finally:
                timer.cancel()


class Positions:
    """How far a subscriber has come in each session's history."""

    def __init__(self, seen: dict[str, int]) -> None:
        self.seen = seen

    def fits(self, batch: Events) -> bool:
        """Whether nothing is missing before it: otherwise the session is not known, or its history is to be read from
        the position on."""
        return batch.after <= self.seen.get(batch.session, -1)

    def walk(self, batch: Events) -> Iterator[Event]:
        """What is new in a batch that fits. The position moves with each, and after the last to the batch's end."""
        known = self.seen[batch.session]
        for event in batch.events:
            if event.sequence > known:
                self.seen[batch.session] = event.sequence
            if event.sequence > known or event.sequence == 0:
                yield event
        self.seen[batch.session] = max(known, batch.through)
