"""The records of all sessions and jobs of a state directory: in memory, and a file each on disk."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec

from sylk_ray.errors import InputError, SylkError
from sylk_ray.sessions.directories import SessionDirectory, session_directory, write_atomically
from sylk_ray.sessions.records import JobRecord, SessionRecord, SessionState

RecordT = TypeVar("RecordT")

log = logging.getLogger("sylk.sessions")


class SessionStore:
    """What the Guide knows. Memory leads; a record that cannot be written raises NotWritten, and is known.

    ``on_change`` is told of each session that has come to another state, once that is kept.
    """

    def __init__(self, home: Path, *, on_change: Callable[[SessionRecord], None] = lambda session: None) -> None:
        self._home = home
        self._on_change = on_change
        self._told: dict[str, tuple[SessionState, bool]] = {}
        self.sessions: dict[str, SessionRecord] = {}
        self.jobs: dict[str, JobRecord] = {}

    def directory(self, session_id: str) -> SessionDirectory:
        """Where a session keeps its things."""
        return SessionDirectory(session_directory(self._home, session_id))

    async def keep(self, session: SessionRecord, job: JobRecord | None = None) -> None:
        """In memory at once, and on disk; raises NotWritten when that will not do."""
        self.sessions[session.id] = session
        if job is not None:
            self.jobs[job.job_id] = job
        directory = self.directory(session.id)
        await asyncio.to_thread(write_atomically, directory.session, msgspec.json.encode(session))
        if job is not None:
            await asyncio.to_thread(write_atomically, directory.record_of(job.job_id), msgspec.json.encode(job))
        if self._told.get(session.id) != (session.state, session.closed):
            self._told[session.id] = (session.state, session.closed)
            self._on_change(session)

    def forget(self, session_id: str, job_id: str) -> None:
        """As if it had never been."""
        self.sessions.pop(session_id, None)
        self._told.pop(session_id, None)
        self.jobs.pop(job_id, None)

    def job(self, job_id: str) -> JobRecord:
        """A job by its id, or by a beginning of it that only one has; raises InputError."""
        if job_id in self.jobs:
            return self.jobs[job_id]
        matching = [job for known, job in self.jobs.items() if known.startswith(job_id)]
        if len(matching) != 1 or not job_id:
            found = f"{len(matching)} jobs begin with" if matching else "there is no job"
            raise InputError(f"{found} {job_id!r}", hint="see `sylk jobs`")
        return matching[0]

    def session(self, wanted: str) -> SessionRecord:
        """A session by id or name, an open one before a closed one; raises InputError."""
        if wanted in self.sessions:
            return self.sessions[wanted]
        named = [session for session in self.sessions.values() if session.name == wanted]
        named.sort(key=lambda session: (session.closed, -session.created_at))
        if not named:
            raise InputError(f"there is no session {wanted!r}", hint="see `sylk session list`")
        return named[0]

    def open_session_named(self, name: str) -> SessionRecord | None:
        """The session of that name that is not closed."""
        return next((each for each in self.sessions.values() if each.name == name and not each.closed), None)

    def latest_job(self, session: SessionRecord) -> JobRecord | None:
        """The session's last job, whatever has become of it."""
        return self.jobs.get(session.job)

    async def recover(self) -> None:
        """Read what there is on disk; from now on nobody else can."""
        sessions = self._home / "sessions"
        sessions.mkdir(parents=True, exist_ok=True, mode=0o700)
        sessions.chmod(0o700)
        for session, jobs in await asyncio.to_thread(read_records, self._home):
            self.sessions[session.id] = session
            self.jobs.update((job.job_id, job) for job in jobs)


class SessionUnreadable(SylkError):
    """There is no record of a session, or none that can be read."""

    code = "session_unreadable"


def read_session(home: Path, session_id: str) -> SessionRecord:
    """One session of a state directory. Raises SessionUnreadable. Blocks."""
    path = SessionDirectory(session_directory(home, session_id)).session
    try:
        return msgspec.json.decode(path.read_bytes(), type=SessionRecord)
    except (msgspec.MsgspecError, OSError) as problem:
        raise SessionUnreadable(f"{path} cannot be read: {problem}") from problem


def read_records(home: Path) -> list[tuple[SessionRecord, list[JobRecord]]]:
    """Every session of a state directory and its jobs. What cannot be read is told, and costs only itself: a session
    whose job's record is broken is still known, so that its work can be cleared away."""
    found: list[tuple[SessionRecord, list[JobRecord]]] = []
    for path in sorted((home / "sessions").glob("*/session.json")):
        session = _read(path, SessionRecord)
        if session is not None:
            jobs = [_read(record, JobRecord) for record in sorted(path.parent.glob("jobs/*/record.json"))]
            found.append((session, [job for job in jobs if job is not None]))
    return found


def _read(path: Path, record: type[RecordT]) -> RecordT | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=record)
    except FileNotFoundError:
        return None
    except (msgspec.MsgspecError, OSError) as problem:
        log.warning("%s cannot be read, and is passed over: %s", path, problem)
        return None
