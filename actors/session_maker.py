"""Making sessions, and choosing the one that a job runs in."""

from __future__ import annotations

import asyncio
import re
import secrets
from pathlib import Path

from sylk_ray.errors import InputError
from sylk_ray.jobs import Job
from sylk_ray.runtime import Context
from sylk_ray.runtime.journal import read_last_event
from sylk_ray.sessions import SessionRecord, SessionState
from sylk_ray.sessions.repository import Repository
from sylk_ray.sessions.store import SessionStore
from sylk_ray.sessions.workspace import Workspace

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}\Z")


class SessionMaker:
    """Two at once must not choose the same name: whoever calls holds a lock for all of them."""

    def __init__(self, store: SessionStore, ctx: Context) -> None:
        self._store = store
        self._ctx = ctx
        self._home = ctx.settings.home

    async def session_for(self, job: Job, name: str, repository: Repository) -> tuple[SessionRecord, bool]:
        """The session to run a job in, and whether it was made just now."""
        known = self._store.open_session_named(name) if name else None
        if known is None or not known.standing:
            return await self.make(name, repository, job=job.name), True
        if Path(known.repo) != repository.path:
            raise InputError(f"session {name} works on {known.repo}, not on {repository.path}")
        record = self._store.latest_job(known)
        if record is not None and not record.status.over:
            raise InputError(
                f"session {name} has a job already, {record.job_id}, which is {record.status}",
                hint="wait for its end, or choose another --session",
            )
        if known.state is SessionState.PAUSED or known.state is SessionState.SUSPENDED:
            raise InputError(f"session {name} is {known.state}", hint=f"`sylk session resume {name}` first")
        return known, False

    async def make(self, name: str, repository: Repository, *, job: str = "", standing: bool = False) -> SessionRecord:
        """A session with its branch, in memory alone so far."""
        session_id = f"s-{secrets.token_hex(4)}"
        name = name or f"{job}-{session_id[2:6]}"
        if not _NAME.match(name):
            raise InputError(f"{name!r} cannot name a session", hint="use lower-case letters, digits, '.', '_' and '-'")
        known = self._store.open_session_named(name)
        if known is not None:
            raise InputError(
                f"there is a session {name!r} already, {known.state}",
                hint=f"choose another --session, or `sylk session close {name}`",
            )
        workspace = Workspace(self._home, session_id, name, repository.path)
        session = SessionRecord(
            session_id,
            name,
            str(repository.path),
            workspace.branch,
            repository.head,
            created_at=self._ctx.clock.now(),
            standing=standing,
            group=self._ctx.settings.session_defaults,
            incarnation=self._ctx.settings.incarnation,
        )
        await workspace.create(repository.head)
        self._store.sessions[session_id] = session
        return session

    async def last_event(self, session: SessionRecord) -> int:
        """The number of the last event in a session's history."""
        return await asyncio.to_thread(read_last_event, self._store.directory(session.id).journal)
