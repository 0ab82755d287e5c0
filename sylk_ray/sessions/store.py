"""The records of all sessions and jobs of a state directory: in memory, and a file each on disk."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import TypeVar

import msgspec

from sylk_ray.errors import InputError, SylkError
from sylk_ray.sessions.directories import SessionDirectory, session_directory, write_atomically
from sylk_ray.sessions.records import ErrorRecord, JobRecord, JobState, SessionRecord, SessionState

RecordT = TypeVar("RecordT")

log = logging.getLogger("sylk.sessions")

AT_WORK = (SessionState.CREATED, SessionState.ACTIVE)


class SessionStore:
    """What the Guide knows. Memory leads; a record that cannot be written raises NotWritten, and is known."""

    def __init__(self, home: Path) -> None:
        self._home = home
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
            await asyncio.to_thread(write_atomically, directory.record, msgspec.json.encode(job))

    def forget(self, session_id: str, job_id: str) -> None:
        """As if it had never been."""
        self.sessions.pop(session_id, None)
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

    def refuse_name(self, name: str, most_at_work: int) -> None:
        """Raise InputError when an open session has the name, SylkError when too many are at work."""
        for session in self.sessions.values():
            if session.name == name and not session.closed:
                raise InputError(
                    f"there is a session {name!r} already, {session.state}",
                    hint=f"choose another --session, or `sylk session close {name}`",
                )
        at_work = sum(not session.closed and session.state in AT_WORK for session in self.sessions.values())
        if at_work >= most_at_work:
            raise SylkError(
                f"{at_work} sessions are at work, and max_sessions is {most_at_work}",
                hint="wait for one to end, or raise it in the settings",
            )

    async def recover(self) -> None:
        """Read what earlier runtimes left. A job that was running then has been interrupted."""
        for session, job in await asyncio.to_thread(read_records, self._home):
            if not session.closed and session.state in AT_WORK:
                session = msgspec.structs.replace(session, state=SessionState.FAILED)
            if job is not None and not job.status.over:
                error = ErrorRecord("interrupted", "the runtime ended while the job ran", "submit it again")
                job = msgspec.structs.replace(job, status=JobState.FAILED, error=error)
            try:
                await self.keep(session, job)
            except SylkError as problem:
                log.warning("session %s: %s", session.name, problem)


def read_records(home: Path) -> list[tuple[SessionRecord, JobRecord | None]]:
    """Every session of a state directory and its job. What cannot be read is told, and costs only itself: a session
    whose job's record is broken is still known, so that its work can be cleared away."""
    found: list[tuple[SessionRecord, JobRecord | None]] = []
    for path in sorted((home / "sessions").glob("*/session.json")):
        session = _read(path, SessionRecord)
        if session is not None:
            found.append((session, _read(path.with_name("record.json"), JobRecord)))
    return found


def _read(path: Path, record: type[RecordT]) -> RecordT | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=record)
    except FileNotFoundError:
        return None
    except (msgspec.MsgspecError, OSError) as problem:
        log.warning("%s cannot be read, and is passed over: %s", path, problem)
        return None
