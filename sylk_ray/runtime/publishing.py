"""What happens in a session, on its way from one cell to the session's history and to its router, which spreads it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from sylk_ray.errors import SylkError
from sylk_ray.messaging import SHARED, Address, Event, Message
from sylk_ray.runtime.clock import Clock
from sylk_ray.runtime.directory import router_of
from sylk_ray.runtime.history import TOPICS, HistoryGrew, Published
from sylk_ray.runtime.residence import Residence

PROGRESS_EVERY_S = 0.2
"""Passing events of one task come no quicker."""


class Publishing:
    """``tell`` sends, and ``tell_quietly`` says whether it has arrived; ``spawn`` does something beside."""

    def __init__(
        self,
        residence: Residence,
        clock: Clock,
        *,
        tell: Callable[[Address, Address, Message], Awaitable[None]],
        tell_quietly: Callable[[Address, Message], Coroutine[Any, Any, bool]],
        spawn: Callable[[Coroutine[Any, Any, None]], object],
    ) -> None:
        self._residence = residence
        self._clock = clock
        self._tell = tell
        self._tell_quietly = tell_quietly
        self._spawn = spawn
        self._nudged: set[str] = set()
        self._progress_at: dict[tuple[str, str], float] = {}
        self._lost: dict[str, int] = {}

    async def publish(self, source: Address, event: Event) -> None:
        """Put an event into the session's history; where its journal is not open, its router does that. What is of
        no session has no history: the agent of the topics passes it on."""
        if event.session == SHARED:
            await self._tell(source, TOPICS, Published(event, passing=True))
            return
        journal = self._residence.journal(event.session)
        if journal is None:
            await self._tell(source, router_of(event.session), Published(event))
            return
        await journal.add_events([event])
        self.happened(event.session)

    def happened(self, session: str) -> None:
        """Let the session's router know, soon, that its history has grown."""
        if session not in self._nudged:
            self._nudged.add(session)
            self._spawn(self._nudge(session))

    async def _nudge(self, session: str) -> None:
        await asyncio.sleep(0)
        self._nudged.discard(session)
        await self._tell_quietly(router_of(session), HistoryGrew())

    def progress(self, event: Event) -> None:
        """Hand a passing event to the session's router; at most one each PROGRESS_EVERY_S and task."""
        key, now = (event.session, event.task), time.monotonic()
        if now - self._progress_at.get(key, 0.0) >= PROGRESS_EVERY_S:
            self._progress_at[key] = now
            self._pass(event)

    def stalled(self, session: str, error: SylkError | None) -> None:
        """A session waits for room on its disk, or (None) goes on."""
        told = {"reason": error.message, "hint": error.hint} if error is not None else {}
        kind = "session.stalled" if error is not None else "session.unstalled"
        self._pass(Event(kind, session, "", told, 0, self._clock.now()))

    def forget(self, session: str) -> None:
        """The session is over, here or elsewhere."""
        for key in [key for key in self._progress_at if key[0] == session]:
            del self._progress_at[key]
        self._lost.pop(session, None)

    def _pass(self, event: Event) -> None:
        lost = self._lost.pop(event.session, 0)
        self._spawn(self._pass_on(event, lost))

    async def _pass_on(self, event: Event, lost: int) -> None:
        """One that does not arrive is counted, and told of with the next."""
        published = Published(event, passing=True, lost=lost)
        if not await self._tell_quietly(router_of(event.session), published):
            self._lost[event.session] = self._lost.get(event.session, 0) + lost + 1
