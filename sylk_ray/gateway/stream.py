"""A job's events as server-sent events: kept ones first, then live ones, without a gap between.

The cursor is the session's sequence number. Whatever is lost on the way here (a full queue, an agent that was put
away, a router that died) shows as a jump in the numbers or as silence, and both end in reading the history again.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator, Generator

import msgspec

from sylk_ray.gateway.frames import KEEP_ALIVE, KEEP_ALIVE_S, EventStream, frame
from sylk_ray.gateway.front import Front
from sylk_ray.gateway.watching import BOUND, Watch
from sylk_ray.messaging import DeliveryError, Event
from sylk_ray.sessions import JobRecord, JobState

_PREPARED_S = 0.1
_RESTING_S = 0.5
_RESTING = (JobState.PREPARED, JobState.QUEUED, JobState.SUSPENDED)
FINISHED = "job.finished"
WAITING = "job.waiting"
"""A passing event of the gateway's own: the job does not run now, and why; or, without a reason, it goes on."""


class JobStream(EventStream):
    """One client's view of one job; it ends after job.finished."""

    def __init__(
        self,
        front: Front,
        job: JobRecord,
        after: int,
        *,
        follow: bool = True,
        keep_alive_s: float = KEEP_ALIVE_S,
        bound: int = BOUND,
    ) -> None:
        super().__init__(keep_alive_s)
        self._front = front
        self._job = job
        self._position = after
        self._follow = follow
        self._bound = bound
        self._told: JobRecord | None = None

    @contextlib.contextmanager
    def _watching(self) -> Generator[Watch]:
        session = self._job.session_id
        try:
            with self._front.hub.watch(session, self._bound, session=session) as watch:
                yield watch
        finally:
            self._front.release(session)

    async def _found(self, watch: Watch) -> AsyncIterator[bytes]:
        async for event in self._events(watch):
            self._complete = event is not None and event.kind == FINISHED
            yield KEEP_ALIVE if event is None else frame(event)
            if self._complete:
                return

    async def _events(self, watch: Watch) -> AsyncIterator[Event | None]:
        """Events, and None where the client should hear that the stream lives."""
        while not watch.ended:
            job = self._job = await self._front.job(self._job.job_id)
            self._position = max(self._position, job.first_event)
            resting = job.status in _RESTING
            news = self._news(job)
            if job.status.over or (resting and (news or not self._follow)):
                async for event in self._kept():
                    yield event
                    if event.kind == FINISHED:
                        return  # what follows belongs to the session's next job
            if job.status.over:
                yield finished(job)
                return
            subscribed = not resting and await self._subscribed()
            current, waits = resting or subscribed, job.status.waiting
            if news is not None and current and not waits:
                self._told = job
                yield news
            if subscribed:
                async for event in self._missed():
                    yield event
            if news is not None and current and waits:
                self._told = job
                yield news
            if current and not self._follow:
                return
            if subscribed:
                async for event in self._live(watch):
                    yield event
            else:
                await watch.next(_RESTING_S if waits else _PREPARED_S)
                if self._is_silent:
                    yield None

    def _news(self, job: JobRecord) -> Event | None:
        """What the client should hear of a job that waits, or waits no more; None when it knows."""
        before = self._told
        known = "" if before is None else _standing(before)
        return None if _standing(job) == known else waiting(job, before)

    async def _kept(self) -> AsyncIterator[Event]:
        while events := await self._front.events_of(self._job.session_id, self._position):
            for event in events:
                self._position = event.sequence
                yield event

    async def _live(self, watch: Watch) -> AsyncIterator[Event | None]:
        """What arrives, until silence or a jump in the numbers asks for another look."""
        while not watch.ended:
            batch = await watch.next(self._keep_alive_s)
            if batch is None:
                if not watch.ended:
                    yield None
                return
            for event in batch.events:
                if event.sequence == 0:
                    yield event
                elif event.sequence == self._position + 1:
                    self._position = event.sequence
                    yield event
                elif event.sequence > self._position:
                    return

    async def _subscribed(self) -> bool:
        try:
            self._last = await self._front.subscribe(self._job.session_id)
        except DeliveryError:
            return False  # the session opens or closes at this moment
        return True

    async def _missed(self) -> AsyncIterator[Event]:
        while self._last > self._position:
            events = await self._front.events_of(self._job.session_id, self._position)
            for event in events:
                self._position = event.sequence
                yield event
            if not events:
                return


def waiting(job: JobRecord, before: JobRecord | None = None) -> Event:
    """Why the job does not run now; without a reason, that it goes on after what it was ``before``."""
    was = before.status.value if before is not None else ""
    data = {"job": job.job_id, "status": job.status.value, "waiting": job.waiting, "before": was}
    return Event(WAITING, job.session_id, data=data, at=time.time())


def _standing(job: JobRecord) -> str:
    return f"{job.status}: {job.waiting}" if job.status.waiting else ""


def finished(job: JobRecord) -> Event:
    """The end of a job whose own last event was never written: its cell died, or it was never started."""
    data = {"status": job.status.value, "record": msgspec.to_builtins(job), "synthetic": True}
    return Event(FINISHED, job.session_id, data=data, at=time.time())
