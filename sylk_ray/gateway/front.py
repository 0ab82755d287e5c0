"""What the routes ask of the agents, and what they read from sessions' directories."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Coroutine, Generator, Iterable
from pathlib import Path
from typing import Any, TypeVar

from sylk_ray.errors import InputError, SylkError
from sylk_ray.gateway.agent import GATEWAY
from sylk_ray.gateway.answers import NotFound
from sylk_ray.gateway.watching import BOUND, Hub
from sylk_ray.messaging import Address, Event, Request, SessionClosed
from sylk_ray.messaging.subscriptions import Subscription
from sylk_ray.messaging.topics import segment_of
from sylk_ray.runtime import Host
from sylk_ray.runtime.directory import FLEET, router_of
from sylk_ray.runtime.fleet_messages import Census, TakeCensus
from sylk_ray.runtime.following import Renewal
from sylk_ray.runtime.history import TOPICS, Subscribe, Unsubscribe
from sylk_ray.runtime.journal import read_events, read_last_event
from sylk_ray.sessions import JobRecord, SessionDirectory, SessionRecord, session_directory
from sylk_ray.sessions.messages import GUIDE, GetJob, GetSession, ListSessions

ReplyT = TypeVar("ReplyT")
AT_ONCE = 1000
"""Events that are read at once where a client may be slow."""


class Front:
    """The gateway's own voice among the agents."""

    def __init__(self, host: Host, hub: Hub) -> None:
        self.host = host
        self.hub = hub
        self.home = host.settings.home
        self.started = time.monotonic()
        self.changing = asyncio.Lock()
        """Held from reading a session's group to writing it changed."""
        self._chores: set[asyncio.Task[None]] = set()

    async def ask(self, target: Address, message: Request[ReplyT], timeout: float = 30.0) -> ReplyT:
        """Ask an agent; raises its SylkError, or a DeliveryError."""
        return await self.host.ask(GATEWAY, target, message, timeout=timeout)

    async def ask_router(self, session: str, message: Request[ReplyT], timeout: float = 30.0) -> ReplyT:
        """Ask the router of an open session; raises UnknownAddress when it is not open."""
        try:
            return await self.ask(router_of(session), message, timeout)
        except SessionClosed:
            # It was open where we knew it, and may be elsewhere now.
            self.host.directory.unbind(session)
            return await self.ask(router_of(session), message, timeout)

    async def job(self, job_id: str) -> JobRecord:
        """A job by its id, or an unambiguous beginning of it; raises NotFound."""
        try:
            return await self.ask(GUIDE, GetJob(job_id))
        except InputError as error:
            raise NotFound(error.message, hint=error.hint) from error

    async def session(self, session: str) -> SessionRecord:
        """A session by id or name; raises NotFound."""
        try:
            return await self.ask(GUIDE, GetSession(session))
        except InputError as error:
            raise NotFound(error.message, hint=error.hint) from error

    async def census(self) -> Census:
        """Every cell and agent."""
        return await self.ask(FLEET, TakeCensus())

    # -- events -----------------------------------------------------------------------------------------------

    async def subscribe(self, session: str) -> int:
        """Have all of a session's events sent to the hub; answers the number of the last one. Safe to repeat. The
        subscription is called by the session's id."""
        wanted = Subscription(session, f"session.{segment_of(session)}.#", GATEWAY, bound=BOUND)
        return await self.ask_router(session, Subscribe(wanted), timeout=10)

    @contextlib.contextmanager
    def subscribed_across(self, wanted: Subscription) -> Generator[None]:
        """Have events of several sessions sent to the hub for as long as this is entered, whatever dies meanwhile."""
        renewal = Renewal(lambda: self._renew(wanted), self.host.clock)
        listeners = self.host.on_peer_lost

        def lost(_: str) -> None:
            renewal.soon()

        listeners.append(lost)
        renewal.start()
        try:
            yield
        finally:
            listeners.remove(lost)
            renewal.close()
            self._soon(self._end_across(wanted.id))

    async def _renew(self, wanted: Subscription) -> None:
        await self.ask(TOPICS, Subscribe(wanted), timeout=10)

    async def _end_across(self, id_: str) -> None:
        # It is forgotten after a while when this does not arrive.
        with contextlib.suppress(SylkError):
            await self.ask(TOPICS, Unsubscribe(id_), timeout=5)

    async def sessions(self) -> list[SessionRecord]:
        """Every session that is known, closed ones as well."""
        return await self.ask(GUIDE, ListSessions(closed=True))

    async def events_of(self, session: str, after: int) -> list[Event]:
        """The next kept events of a session, from its journal: no cell that hangs holds that up."""
        return await asyncio.to_thread(read_events, self.directory(session).journal, after, AT_ONCE)

    async def last_event(self, session: str) -> int:
        """The number of a session's last event so far."""
        return await asyncio.to_thread(read_last_event, self.directory(session).journal)

    async def written_at(self, sessions: Iterable[str]) -> dict[str, float]:
        """When each session's journal was last written to, in Unix seconds; 0 for one that there is not."""
        return await asyncio.to_thread(lambda: {each: _written_at(self.directory(each).journal) for each in sessions})

    def release(self, session: str) -> None:
        """Nobody may be watching any more; if so, tell the session's router, in the background."""
        if not self.hub.watched(session):
            self._soon(self._unsubscribe(session))

    def _soon(self, chore: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(chore)
        self._chores.add(task)
        task.add_done_callback(self._chores.discard)

    async def _unsubscribe(self, session: str) -> None:
        if self.host.directory.binding(session) is None:
            return
        # It fails when the session is over, and its router with it.
        with contextlib.suppress(SylkError):
            await self.ask(router_of(session), Unsubscribe(session), timeout=5)
        if not self.hub.watched(session):
            self.host.directory.unbind(session)

    def directory(self, session: str) -> SessionDirectory:
        """Where a session keeps its things."""
        return SessionDirectory(session_directory(self.home, session))


def _written_at(journal: Path) -> float:
    found = [path.stat().st_mtime for path in (journal, journal.with_name(f"{journal.name}-wal")) if path.exists()]
    return max(found, default=0.0)
