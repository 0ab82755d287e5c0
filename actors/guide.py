"""The one front door: takes jobs, makes sessions, and knows how all of them are going."""

from __future__ import annotations

import asyncio
import contextlib
import re
import secrets
from collections import defaultdict
from pathlib import Path

import msgspec

from actors.orchestrator import HaltJob, RunJob
from sylk_ray.errors import InputError, SylkError
from sylk_ray.jobs import Job
from sylk_ray.messaging import Address, DeadlinePassed, DeliveryError
from sylk_ray.runtime import Agent, Context, handler
from sylk_ray.runtime.directory import FLEET
from sylk_ray.runtime.fleet_messages import CellDied, CloseSession, OpenSession
from sylk_ray.sessions import JobRecord, JobState, SessionRecord, SessionState
from sylk_ray.sessions.directories import write_atomically
from sylk_ray.sessions.messages import (
    CancelJob,
    EndAllSessions,
    EndSession,
    GetJob,
    GetSession,
    JobProgress,
    ListJobs,
    ListSessions,
    StartJob,
    SubmitJob,
)
from sylk_ray.sessions.records import ErrorRecord, Grants
from sylk_ray.sessions.repository import inspect_repository
from sylk_ray.sessions.store import SessionStore
from sylk_ray.sessions.workspace import Workspace
from sylk_ray.tools import kill_tool_processes

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}\Z")


class Guide(Agent[None]):
    """Keeps the records of sessions and jobs, on disk and in memory. Handlers are concurrent, for making a session
    waits for processes and for git; what must not interleave for one session is behind its lock."""

    role = "guide"

    async def on_activate(self, ctx: Context) -> None:
        """Read what earlier runtimes left; a job that was running then has been interrupted."""
        self._home = ctx.settings.home
        self._store = SessionStore(self._home)
        self._specs: dict[str, str] = {}
        self._naming = asyncio.Lock()
        self._locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._cancelling: set[str] = set()
        self._ending: set[asyncio.Task[None]] = set()
        await self._store.recover()

    # -- jobs -------------------------------------------------------------------------------------------------

    @handler(concurrent=True)
    async def submit(self, message: SubmitJob, ctx: Context) -> JobRecord:
        """Make the session and its branch; run the job, or leave it prepared."""
        job = Job.model_validate_json(message.job)
        repository = await inspect_repository(Path(message.repo))
        session_id = f"s-{secrets.token_hex(4)}"
        name = message.session or f"{job.name}-{session_id[2:6]}"
        if not _NAME.match(name):
            raise InputError(f"{name!r} cannot name a session", hint="use lower-case letters, digits, '.', '_' and '-'")
        now = ctx.clock.now()
        workspace = Workspace(self._home, session_id, name, repository.path)
        session = SessionRecord(
            session_id, name, str(repository.path), workspace.branch, repository.head, created_at=now, job=session_id
        )
        async with self._naming:
            self._store.refuse_name(name, ctx.settings.max_sessions)
            await workspace.create(repository.head)
            self._store.sessions[session_id] = session
        job_id = f"j-{session_id[2:]}"
        session = msgspec.structs.replace(session, job=job_id)
        sandbox = job.sandbox
        record = JobRecord(
            job_id=job_id,
            name=job.name,
            session_id=session_id,
            session=name,
            repo=str(repository.path),
            branch=workspace.branch,
            status=JobState.PREPARED,
            submitted_at=now,
            base=repository.head,
            grants=Grants(list(sandbox.write), sandbox.network, list(sandbox.env)),
            warnings=repository.warnings,
        )
        self._specs[job_id] = message.job
        try:
            await asyncio.to_thread(write_atomically, self._store.directory(session_id).job, message.job.encode())
            await self._store.keep(session, record)
        except SylkError:
            # What cannot be recorded never was: nothing of it may stay, not even its name.
            self._store.forget(session_id, job_id)
            self._specs.pop(job_id)
            await workspace.undo()
            raise
        if message.start:
            async with self._locks[session_id]:
                return await self._run(record, ctx)
        return record

    @handler(concurrent=True)
    async def start(self, message: StartJob, ctx: Context) -> JobRecord:
        """Run a prepared job."""
        async with self._locks[self._store.job(message.job_id).session_id]:
            record = self._store.job(message.job_id)
            if record.status is not JobState.PREPARED:
                return record
            record = msgspec.structs.replace(record, ray_job=message.ray_job or record.ray_job)
            return await self._run(record, ctx)

    @handler(concurrent=True)
    async def cancel(self, message: CancelJob, ctx: Context) -> JobRecord:
        """Ask the job's orchestrator to stop; a prepared job is over at once."""
        record = self._store.job(message.job_id)
        if record.status.over:
            return record
        # Seen by whoever is opening the session right now, and holds the lock for it.
        self._cancelling.add(record.job_id)
        async with self._locks[record.session_id]:
            record = self._store.job(record.job_id)
            if record.status is JobState.PREPARED:
                await self._ended(msgspec.structs.replace(record, status=JobState.CANCELLED), ctx)
            elif record.status is JobState.RUNNING:
                try:
                    await ctx.ask(Address(record.session_id, "orchestrator", "main"), HaltJob(message.reason))
                except DeadlinePassed as error:
                    ctx.log.warning("job %s will be cancelled later: %s", record.job_id, error)
                except DeliveryError as error:
                    await self._lost(record, f"it could not be cancelled in order: {error.message}", ctx)
        return self._store.job(record.job_id)

    @handler(concurrent=True)
    async def get_job(self, message: GetJob, ctx: Context) -> JobRecord:
        """One job."""
        return self._store.job(message.job_id)

    @handler(concurrent=True)
    async def list_jobs(self, message: ListJobs, ctx: Context) -> list[JobRecord]:
        """All jobs, the newest first."""
        return sorted(self._store.jobs.values(), key=lambda job: -job.submitted_at)

    @handler()
    async def progress(self, message: JobProgress, ctx: Context) -> None:
        """How a job is going; when it is over, its session is too."""
        record = message.record
        async with self._locks[record.session_id]:
            known = self._store.jobs.get(record.job_id)
            if known is None:
                return
            if known.status.over:
                # It was given up, and is alive all the same: nothing of it may stay.
                self._release_soon(self._store.session(record.session_id), ctx)
            elif record.status.over:
                await self._ended(record, ctx)
            else:
                self._store.jobs[record.job_id] = record

    @handler()
    async def cell_died(self, message: CellDied, ctx: Context) -> None:
        """The jobs that had agents on a dead cell cannot go on."""
        for session_id in message.sessions:
            session = self._store.sessions.get(session_id)
            if session is None:
                continue
            async with self._locks[session_id]:
                record = self._store.jobs.get(session.job)
                if record is not None and not record.status.over:
                    await self._lost(record, f"{message.cell}, which held its agents, died", ctx)

    # -- sessions ---------------------------------------------------------------------------------------------

    @handler(concurrent=True)
    async def list_sessions(self, message: ListSessions, ctx: Context) -> list[SessionRecord]:
        """The sessions, the newest first."""
        shown = [session for session in self._store.sessions.values() if message.closed or not session.closed]
        return sorted(shown, key=lambda session: -session.created_at)

    @handler(concurrent=True)
    async def get_session(self, message: GetSession, ctx: Context) -> SessionRecord:
        """One session."""
        return self._store.session(message.session)

    @handler(concurrent=True)
    async def end_session(self, message: EndSession, ctx: Context) -> SessionRecord:
        """Close a session; done again, it changes nothing more."""
        session = self._store.session(message.session)
        record = self._store.jobs.get(session.job)
        if record is not None and not record.status.over:
            await self.cancel(CancelJob(record.job_id, "its session was closed"), ctx)
            await self._wait_until_over(record.job_id, ctx)
            async with self._locks[session.id]:
                record = self._store.job(record.job_id)
                if not record.status.over:
                    error = ErrorRecord("cancelled", "its session was closed before it had come to its end")
                    await self._ended(msgspec.structs.replace(record, status=JobState.CANCELLED, error=error), ctx)
        await ctx.ask(FLEET, CloseSession(session.id), timeout=60)
        await kill_tool_processes(f"{session.id}.")
        workspace = Workspace(self._home, session.id, session.name, Path(session.repo))
        await workspace.close(delete_branch=message.delete_branch)
        session = msgspec.structs.replace(self._store.session(session.id), closed=True)
        await self._store.keep(session)
        return session

    @handler(concurrent=True)
    async def end_all(self, message: EndAllSessions, ctx: Context) -> int:
        """Cancel every running job and wait for their ends."""
        running = [job for job in self._store.jobs.values() if not job.status.over]
        await asyncio.gather(*(self.cancel(CancelJob(job.job_id, message.reason), ctx) for job in running))
        await asyncio.gather(*(self._wait_until_over(job.job_id, ctx) for job in running))
        return len(running)

    # -- within -----------------------------------------------------------------------------------------------

    async def _run(self, record: JobRecord, ctx: Context) -> JobRecord:
        session_id = record.session_id
        record = msgspec.structs.replace(record, status=JobState.RUNNING)
        try:
            await self._store.keep(self._store.session(session_id).moved(SessionState.ACTIVE), record)
            await ctx.ask(FLEET, OpenSession(session_id), timeout=ctx.settings.placement_timeout_s + 30)
            spec = self._specs.pop(record.job_id)
            if record.job_id in self._cancelling:
                cancelled = msgspec.structs.replace(record, status=JobState.CANCELLED)
                await self._ended(cancelled, ctx)
                return cancelled
            await ctx.tell(Address(session_id, "orchestrator", "main"), RunJob(spec, record))
        except SylkError as error:
            failed = msgspec.structs.replace(record, status=JobState.FAILED, error=ErrorRecord.of(error))
            await self._ended(failed, ctx)
            return failed
        return record

    async def _ended(self, record: JobRecord, ctx: Context) -> None:
        state = SessionState.COMPLETED if record.status is JobState.SUCCEEDED else SessionState.FAILED
        session = self._store.session(record.session_id)
        if session.state is SessionState.CREATED:
            session = session.moved(SessionState.ACTIVE)
        session = msgspec.structs.replace(session.moved(state), ended_at=ctx.clock.now())
        try:
            await self._store.keep(session, record)
        except SylkError as error:
            ctx.log.warning("the end of session %s is not on disk: %s", session.name, error)
        self._cancelling.discard(record.job_id)
        self._specs.pop(record.job_id, None)
        self._release_soon(session, ctx)

    def _release_soon(self, session: SessionRecord, ctx: Context) -> None:
        """In the background: the orchestrator that told us waits for its mail to be taken, and is closed by this."""
        task = asyncio.create_task(self._release(session, ctx))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def _release(self, session: SessionRecord, ctx: Context) -> None:
        try:
            await ctx.ask(FLEET, CloseSession(session.id), timeout=60)
            await kill_tool_processes(f"{session.id}.")
            await Workspace(self._home, session.id, session.name, Path(session.repo)).close()
        except SylkError as error:
            ctx.log.warning("session %s could not be cleared away: %s", session.name, error)
        lock = self._locks.get(session.id)
        if lock is not None and not lock.locked():
            del self._locks[session.id]

    async def _lost(self, record: JobRecord, why: str, ctx: Context) -> None:
        error = ErrorRecord("cell_lost", f"the job cannot go on: {why}", "submit it again; what was merged is kept")
        await self._ended(msgspec.structs.replace(record, status=JobState.FAILED, error=error), ctx)

    async def _wait_until_over(self, job_id: str, ctx: Context) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(90):
                while not self._store.job(job_id).status.over:
                    await ctx.clock.sleep(0.05)
