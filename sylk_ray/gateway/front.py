"""What the routes ask of the agents, and what they read from sessions' directories."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TypeVar

from sylk_ray.errors import InputError, SylkError
from sylk_ray.gateway.agent import GATEWAY
from sylk_ray.gateway.answers import NotFound
from sylk_ray.gateway.watching import Hub
from sylk_ray.messaging import Address, Event, Request, SessionClosed
from sylk_ray.runtime import Host
from sylk_ray.runtime.directory import FLEET, router_of
from sylk_ray.runtime.fleet_messages import Census, TakeCensus
from sylk_ray.runtime.history import ReadHistory, Subscribe, Unsubscribe
from sylk_ray.runtime.journal import read_events
from sylk_ray.sessions import JobRecord, SessionDirectory, SessionRecord, session_directory
from sylk_ray.sessions.messages import GUIDE, GetJob, GetSession

ReplyT = TypeVar("ReplyT")


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
        """Have the session's events sent to the hub; answers the number of the last one. Safe to repeat."""
        return await self.ask_router(session, Subscribe(GATEWAY), timeout=10)

    async def history(self, session: str, after: int) -> list[Event]:
        """The next kept events of a living session."""
        return await self.ask_router(session, ReadHistory(after))

    async def kept(self, session: str, after: int) -> list[Event]:
        """The kept events of a session that is over, from its journal."""
        return await asyncio.to_thread(read_events, self.directory(session).journal, after)

    def release(self, session: str) -> None:
        """Nobody may be watching any more; if so, tell the session's router, in the background."""
        if not self.hub.watched(session):
            task = asyncio.get_running_loop().create_task(self._unsubscribe(session))
            self._chores.add(task)
            task.add_done_callback(self._chores.discard)

    async def _unsubscribe(self, session: str) -> None:
        if self.host.directory.binding(session) is None:
            return
        # It fails when the session is over, and its router with it.
        with contextlib.suppress(SylkError):
            await self.ask(router_of(session), Unsubscribe(GATEWAY), timeout=5)
        if not self.hub.watched(session):
            self.host.directory.unbind(session)

    def directory(self, session: str) -> SessionDirectory:
        """Where a session keeps its things."""
        return SessionDirectory(session_directory(self.home, session))
