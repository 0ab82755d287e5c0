"""What is published to topics, of one session or of all, as server-sent events.

Events arrive from the sessions' routers as they happen, and are read from the histories where something may be missing:
at the beginning, where the numbers of a batch do not go on from the last, and every now and then, for the last words of
a session may be lost with the cell that had them to say.
"""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import AsyncIterator, Generator, Iterator

from sylk_ray.errors import SylkError
from sylk_ray.gateway.agent import GATEWAY
from sylk_ray.gateway.cursor import Cursor
from sylk_ray.gateway.frames import DROPPED, KEEP_ALIVE_S, UNREADABLE, EventStream, frame, mark
from sylk_ray.gateway.front import Front
from sylk_ray.gateway.watching import BOUND, Watch
from sylk_ray.messaging import SHARED, Event
from sylk_ray.messaging.subscriptions import Filter, Subscription
from sylk_ray.runtime.feed import publication_of
from sylk_ray.runtime.following import Positions
from sylk_ray.runtime.history import Events
from sylk_ray.runtime.journal import JournalDamaged, JournalFull, JournalTooNew, JournalUnavailable
from sylk_ray.sessions import SessionState

LOOK_EVERY_S = 10.0
REST_S = 60.0
"""A journal that has not been written to for so long, of a session that does not run, is at rest."""
_COARSE_S = 1.0
"""By how much a file's time may lie behind that of what was written to it."""
_UNREADABLE = (JournalDamaged, JournalFull, JournalTooNew, JournalUnavailable)
_LIVING = (SessionState.ACTIVE, SessionState.PAUSED)


class TopicStream(EventStream):
    """One client's view of the topics of a pattern. Without a cursor it begins now."""

    def __init__(
        self,
        front: Front,
        pattern: str,
        wanted: Filter,
        cursor: Cursor | None,
        *,
        follow: bool = True,
        keep_alive_s: float = KEEP_ALIVE_S,
        bound: int = BOUND,
    ) -> None:
        super().__init__(keep_alive_s)
        self._front = front
        self._subscription = Subscription(f"topics-{uuid.uuid4().hex[:12]}", pattern, GATEWAY, wanted, bound=bound)
        self._is_new = cursor is None
        self._cursor = cursor or Cursor.at(time.time())
        self._positions = Positions(self._cursor.seen)
        self._follow = follow
        self._bound = bound
        self._unread: set[str] = set()
        """Sessions whose histories are to be read."""
        self._unreadable: set[str] = set()
        """Those whose journals could not be read, of which the client has heard."""
        self._read_at: dict[str, float] = {}
        self._looked = 0.0

    @contextlib.contextmanager
    def _watching(self) -> Generator[Watch]:
        with contextlib.ExitStack() as undone:
            watch = undone.enter_context(self._front.hub.watch(self._subscription.id, self._bound))
            if self._follow:
                undone.enter_context(self._front.subscribed_across(self._subscription))
            yield watch

    async def _found(self, watch: Watch) -> AsyncIterator[bytes]:
        await self._look()
        yield mark(str(self._cursor))
        while not watch.ended:
            while self._unread and not watch.ended:
                async for each in self._caught_up(self._unread.pop()):
                    yield each
                while batch := watch.take():
                    for each in self._arrived(batch):
                        yield each
                if self._is_silent:
                    yield mark(str(self._cursor))
            if not self._follow:
                return
            batch = await watch.next(min(self._keep_alive_s, LOOK_EVERY_S))
            if batch is not None:
                for each in self._arrived(batch):
                    yield each
            if not watch.ended and (batch is None or time.monotonic() - self._looked >= LOOK_EVERY_S):
                await self._look()
            if self._is_silent:
                yield mark(str(self._cursor))

    async def _look(self) -> None:
        """See which sessions there are, and which of them may have something that is not known here."""
        self._looked, now = time.monotonic(), time.time()
        found = {each.id: each for each in await self._front.sessions() if self._subscription.may_want(each.id)}
        seen, start = self._cursor.seen, self._cursor.start
        living = {id_ for id_, each in found.items() if each.state in _LIVING and not each.closed}
        written_at = await self._front.written_at(found.keys() - living)
        for id_ in living:
            if self._is_new and id_ not in seen and found[id_].created_at <= start:
                try:
                    seen[id_] = await self._front.last_event(id_)
                except _UNREADABLE:
                    self._unread.add(id_)
            else:
                self._unread.add(id_)
        for id_, at in written_at.items():
            if at != self._read_at.get(id_) and (id_ in seen or at >= start - _COARSE_S):
                self._read_at[id_] = at
                self._unread.add(id_)
        self._is_new = False
        missing = self._unread | (self._unreadable & found.keys())
        if missing - seen.keys():
            return  # what the start says is still needed for them
        since = now - REST_S
        at_rest = {id_ for id_, at in written_at.items() if at < since - _COARSE_S and id_ not in missing}
        self._cursor.fold(at_rest | (seen.keys() - found.keys()), since)

    async def _caught_up(self, session: str) -> AsyncIterator[bytes]:
        try:
            async for each in self._missed(session):
                yield each
        except _UNREADABLE as error:
            for each in self._tell_of(session, error):
                yield each
        else:
            self._unreadable.discard(session)

    async def _missed(self, session: str) -> AsyncIterator[bytes]:
        """What the session's history has after what is known of it."""
        seen = self._cursor.seen
        position = seen.get(session)
        floor = self._cursor.start if position is None else None
        position = position or 0
        while events := await self._front.events_of(session, position):
            for event in events:
                position = event.sequence
                if (floor is None or event.at > floor) and self._subscription.wants(publication_of(event)):
                    seen[session] = position
                    yield frame(event, str(self._cursor), topic=True)
            seen[session] = position
        seen.setdefault(session, position)

    def _tell_of(self, session: str, error: SylkError) -> Iterator[bytes]:
        """Tell once that a session's journal cannot be read, and see at the next look whether it can."""
        self._read_at.pop(session, None)
        if session not in self._unreadable:
            self._unreadable.add(session)
            told = {"code": error.code, "message": error.message, "hint": error.hint}
            yield frame(Event(UNREADABLE, session, data=told, at=time.time()), topic=True)

    def _arrived(self, batch: Events) -> Iterator[bytes]:
        """What a router has sent. Where that does not go on from what is known, the history is read instead."""
        if batch.session == SHARED:
            yield from (frame(event, topic=True) for event in batch.events)
        elif batch.dropped or not self._positions.fits(batch):
            if batch.dropped:
                told = Event(DROPPED, batch.session, data={"dropped": batch.dropped}, at=time.time())
                yield frame(told, topic=True)
            if batch.session not in self._unreadable:
                self._unread.add(batch.session)
        else:
            for event in self._positions.walk(batch):
                yield frame(event, str(self._cursor), topic=True)
