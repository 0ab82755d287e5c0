"""A session's history on its way to its subscribers, to each at its own pace."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Protocol

import msgspec

from sylk_ray.errors import SylkError
from sylk_ray.messaging import (
    SHARED,
    Address,
    Event,
    NoHandler,
    NotAllowed,
    NotEncodable,
    SessionClosed,
)
from sylk_ray.messaging.subscriptions import Publication, Subscription, Subscriptions
from sylk_ray.messaging.trace import NO_TRAIL, follow
from sylk_ray.runtime.backlog import Backlog
from sylk_ray.runtime.clock import Clock
from sylk_ray.runtime.history import Events

AT_ONCE = 500
"""Events of one message to a subscriber."""
REACHED_WITHIN_S = 5.0
"""Who cannot be reached for longer is subscribed no more."""
_PAUSE_S = 0.1
_IN_VAIN = (NoHandler, NotAllowed, NotEncodable, SessionClosed)

log = logging.getLogger("sylk.topics")


class History(Protocol):
    """What a feed needs of a session's journal."""

    async def events(self, after: int, limit: int = 10_000) -> list[Event]:
        """The kept events after a number, in order."""
        ...

    async def last_event(self) -> int:
        """The number of the last one."""
        ...


class NoHistory:
    """Of what is of no session nothing is kept."""

    async def events(self, after: int, limit: int = 10_000) -> list[Event]:
        """None."""
        return []

    async def last_event(self) -> int:
        """There is none."""
        return 0


def publication_of(event: Event) -> Publication:
    """What subscriptions look at of an event."""
    session = "" if event.session == SHARED else event.session
    return Publication(event.topic, event.kind, session, event.priority)


class Feed:
    """The history is read once for all who keep up; each has a backlog, and a task of its own while it has anything
    to be sent. One that is slow holds up nobody but, if it says so, whoever publishes passing events.

    ``send`` brings a batch to a subscriber, and raises a SylkError when that is not to be done; ``ended`` is told of a
    subscription that was given up.
    """

    def __init__(
        self,
        session: str,
        history: History,
        *,
        send: Callable[[Address, Events], Awaitable[None]],
        clock: Clock,
        ended: Callable[[Subscription], None] = lambda _: None,
    ) -> None:
        self._session = session
        self._history = history
        self._send = send
        self._clock = clock
        self._ended = ended
        self._table = Subscriptions()
        self._backlogs: dict[str, Backlog] = {}
        self._sending: dict[str, asyncio.Task[None]] = {}
        self._read_to = 0
        self._reading = asyncio.Lock()
        self._catching_up: asyncio.Task[None] | None = None
        self._grown = False
        self._moved = asyncio.Event()

    def subscriptions(self) -> list[Subscription]:
        """Who subscribes."""
        return self._table.all()

    async def subscribe(self, subscription: Subscription, *, afresh: bool = False, greet: bool = False) -> int:
        """Begin; answers the number of the last event so far. One that is there already goes on as it is, unless it is
        to begin ``afresh``. With ``greet`` the subscriber is told at once, with or without events, where it begins."""
        async with self._reading:
            last = await self._history.last_event()
            if not self._backlogs:
                self._read_to = last
            known = self._table.get(subscription.id)
            if known is None or afresh or _wish(known) != _wish(subscription):
                self._drop(subscription.id)
                after = last if subscription.after is None else min(subscription.after, last)
                backlog = Backlog(self._session, subscription, after, behind=after < last)
                self._table.add(subscription)
                self._backlogs[subscription.id] = backlog
                if greet or backlog.behind:
                    self._wake(backlog, greet=greet)
            if last > self._read_to:
                self.grew()  # whoever wrote it may have died before it said so
            return last

    def unsubscribe(self, *ids: str) -> None:
        """Send no more for these."""
        for id_ in ids:
            self._drop(id_)

    def grew(self) -> None:
        """The history has grown: read it, beside."""
        self._grown = True
        if self._backlogs and (self._catching_up is None or self._catching_up.done()):
            self._catching_up = asyncio.get_running_loop().create_task(self._catch_up())

    async def _catch_up(self) -> None:
        follow(NO_TRAIL)  # it goes on for others than who made the task
        try:
            while self._grown:
                self._grown = False
                async with self._reading:
                    await self._read()
        except SylkError as error:
            log.warning("the history of %s cannot be read: %s", self._session, error)

    async def _read(self) -> None:
        while self._backlogs and (events := await self._history.events(self._read_to, AT_ONCE)):
            for event in events:
                for subscription in self._table.matching(publication_of(event)):
                    self._backlogs[subscription.id].add(event)
            self._read_to = events[-1].sequence
            for backlog in self._backlogs.values():
                backlog.reached(self._read_to)
                if len(backlog) or backlog.behind:
                    self._wake(backlog)

    async def pass_on(self, event: Event, *, lost: int = 0) -> None:
        """Spread an event that is not kept, after all that was kept before it; ``lost`` others like it did not come
        this far, which counts as dropped for whoever wants this one. Returns when whoever may not lose it has room for
        more, or is given up."""
        if not self._table.matching(publication_of(event)):
            return
        async with self._reading:
            await self._read()
        full: list[Backlog] = []
        for subscription in self._table.matching(publication_of(event)):
            backlog = self._backlogs[subscription.id]
            backlog.lost(lost)
            backlog.add_passing(event, self._read_to)
            self._wake(backlog)
            if backlog.over_bound:
                full.append(backlog)
        while any(each.over_bound and self._backlogs.get(each.subscription.id) is each for each in full):
            await self._moved.wait()

    async def flush(self, within_s: float) -> None:
        """Return when whoever keeps up has all so far, or after a while."""
        async with self._reading:
            await self._read()
        if self._sending:
            await asyncio.wait(list(self._sending.values()), timeout=within_s)

    def close(self) -> None:
        """The session is over here, and so are its subscriptions."""
        self.unsubscribe(*self._backlogs)
        if self._catching_up is not None:
            self._catching_up.cancel()

    # -- one subscription ---------------------------------------------------------------------------------------

    def _wake(self, backlog: Backlog, *, greet: bool = False) -> None:
        id_ = backlog.subscription.id
        if id_ not in self._sending:
            task = asyncio.get_running_loop().create_task(self._work_off(backlog, greet), name=f"{self._session}/{id_}")
            self._sending[id_] = task

    async def _work_off(self, backlog: Backlog, greet: bool) -> None:
        follow(NO_TRAIL)
        subscription = backlog.subscription
        try:
            while batch := await self._next(backlog, greet):
                greet = False
                await self._deliver(subscription, batch)
                self._move_on()
        except SylkError as error:
            level = logging.INFO if isinstance(error, SessionClosed) else logging.WARNING
            log.log(level, "%s hears no more of %s: %s", subscription.subscriber, subscription.pattern, error)
            if self._backlogs.get(subscription.id) is backlog:
                self._forget(subscription.id)
                self._ended(subscription)
        finally:
            if self._sending.get(subscription.id) is asyncio.current_task():
                del self._sending[subscription.id]

    async def _next(self, backlog: Backlog, greet: bool) -> Events | None:
        while True:
            batch = backlog.take(AT_ONCE, even_if_empty=greet)
            if batch is not None or not backlog.behind:
                return batch
            read = await self._history.events(backlog.position, AT_ONCE)
            if read:
                wanted = [event for event in read if backlog.subscription.wants(publication_of(event))]
                backlog.refill(wanted, read[-1].sequence)
            if not read or backlog.position >= self._read_to:
                # It has come to where all others are, and goes on with them.
                backlog.behind = False

    async def _deliver(self, subscription: Subscription, batch: Events) -> None:
        give_up = self._clock.now() + REACHED_WITHIN_S
        while True:
            try:
                await self._send(subscription.subscriber, batch)
            except _IN_VAIN:
                raise
            except SylkError:
                if self._clock.now() >= give_up:
                    raise
            else:
                return
            await self._clock.sleep(_PAUSE_S)

    def _drop(self, id_: str) -> None:
        self._forget(id_)
        task = self._sending.pop(id_, None)
        if task is not None:
            task.cancel()

    def _forget(self, id_: str) -> None:
        self._table.remove(id_)
        self._backlogs.pop(id_, None)
        self._move_on()

    def _move_on(self) -> None:
        """Whoever waits for room looks again."""
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()


def _wish(subscription: Subscription) -> Subscription:
    """What is wanted, without where to begin."""
    return msgspec.structs.replace(subscription, after=None)
