"""Jobs at work: set going in their sessions, brought back, ended, and let in when it is their turn."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import msgspec

from actors.job_messages import ContinueJob, HaltJob, PauseJob, RunJob
from actors.patience import REPLACED, ask_patiently
from sylk_ray.errors import SylkError
from sylk_ray.messaging import (
    Address,
    CellLost,
    DeadlinePassed,
    SessionClosed,
    UnknownAddress,
    begin_trace,
    current_trace,
)
from sylk_ray.runtime import Context
from sylk_ray.runtime.directory import FLEET
from sylk_ray.runtime.fleet_messages import CloseSession, GetResources, OpenSession, SuspendSession
from sylk_ray.runtime.leases import FAIR_SHARE, CloseShare, SetShare
from sylk_ray.runtime.turns import Turns
from sylk_ray.sessions import JobRecord, JobState, SessionRecord, SessionState
from sylk_ray.sessions.admission import Line
from sylk_ray.sessions.records import ErrorRecord
from sylk_ray.sessions.store import SessionStore
from sylk_ray.sessions.workspace import Workspace
from sylk_ray.tools import kill_tool_processes

RUN_TRIES = 20
ASK_AGAIN_S = 20.0
"""For how long a session's cells may be on their way back before a question to its orchestrator fails."""


class JobRunner:
    """What must not interleave for a session is done while holding its turn."""

    def __init__(self, store: SessionStore, ctx: Context) -> None:
        self.store = store
        self.line = Line(ctx.settings.max_sessions)
        self.turns = Turns()
        self.cancelling: set[str] = set()
        self.draining = False
        self._ctx = ctx
        self._home = ctx.settings.home
        self._chores: set[asyncio.Task[None]] = set()

    async def take_up(self) -> None:
        """See to what was running: in this runtime, where the Guide alone has died, it goes on; what an earlier runtime
        left can be resumed."""
        for record in [job for job in self.store.jobs.values() if not job.status.over]:
            session = self.store.sessions.get(record.session_id)
            if session is None:
                continue
            if session.incarnation != self._ctx.settings.incarnation:
                await self.interrupted(record)
            elif record.status in (JobState.RUNNING, JobState.PAUSED):
                self.soon(self.recover(record.job_id))
        self.soon(self.clear_away())
        self.soon(self.let_in())

    def close(self) -> None:
        """Stop the chores."""
        for chore in list(self._chores):
            chore.cancel()

    def workspace(self, session: SessionRecord) -> Workspace:
        """The session's place in its repository."""
        return Workspace(self._home, session.id, session.name, Path(session.repo))

    def placed(self, record: JobRecord) -> JobRecord:
        """The record with its place in line as it is now."""
        if record.status is not JobState.QUEUED:
            return record
        ids = [job.job_id for job in self.line.waiting(self.store.jobs.values())]
        return msgspec.structs.replace(record, waiting=self.line.told(ids.index(record.job_id) + 1))

    async def run(self, record: JobRecord, *, draining: bool = False) -> JobRecord:
        """Open the session and set its orchestrator to work, or have the job stand in line. Holds the turn."""
        session = self.store.session(record.session_id)
        if (self.draining and not draining) or not self.line.has_room(self.store.jobs.values()):
            record = msgspec.structs.replace(record, status=JobState.QUEUED)
            await self.store.keep(session, record)
            return self.placed(record)
        ran_before = record.begun
        record = msgspec.structs.replace(record, status=JobState.RUNNING, waiting="", begun=True)
        if session.state is not SessionState.ACTIVE:
            session = session.moved(SessionState.ACTIVE)
        try:
            await self.store.keep(msgspec.structs.replace(session, incarnation=self._ctx.settings.incarnation), record)
            if session.standing and not ran_before:
                # Agents of the job before, whose tasks may have the same names, must be gone: it may have ended a
                # moment ago, and they know what was stopped then.
                await self.clear(session)
            await self.set_going(record, again=ran_before)
            # It may have run before, and been paused before it was suspended.
            await self.ask_orchestrator(record, ContinueJob())
            if record.job_id in self.cancelling:
                await self.ask_orchestrator(record, HaltJob("a person cancelled it"))
        except SylkError as error:
            if ran_before:
                return await self._give_up_for_now(record, error.message)
            failed = msgspec.structs.replace(record, status=JobState.FAILED, error=ErrorRecord.of(error))
            await self.ended(failed)
            return failed
        return record

    async def rest(self, record: JobRecord, why: str) -> JobRecord:
        """A job cannot go on now, and may later: nothing of it is lost. Holds the turn."""
        record = msgspec.structs.replace(record, status=JobState.SUSPENDED, waiting=why)
        session = self.store.session(record.session_id)
        if session.state is not SessionState.SUSPENDED and not session.over:
            session = msgspec.structs.replace(session.moved(SessionState.SUSPENDED), reason=why)
        try:
            await self.store.keep(session, record)
        except SylkError as problem:
            self._ctx.log.warning("session %s: %s", session.name, problem)
        return record

    async def put_away(self, session_id: str, grace_s: float = 0.0) -> None:
        """Free what a session has in use, after ``grace_s`` seconds for what its agents are at. Raises a SylkError."""
        await self._ctx.ask(FLEET, SuspendSession(session_id, grace_s), timeout=grace_s + 60)
        await self._ctx.tell(FAIR_SHARE, CloseShare(session_id))
        await kill_tool_processes(f"{session_id}.")

    async def _give_up_for_now(self, record: JobRecord, why: str) -> JobRecord:
        """It could not be set going, and some of its agents may be at work all the same. Holds the turn."""
        try:
            await self.put_away(record.session_id)
        except SylkError as error:
            self._ctx.log.warning("session %s may still have something in use: %s", record.session, error)
        return await self.rest(record, why)

    async def set_going(self, record: JobRecord, *, again: bool) -> None:
        """See to it that the session is open somewhere, and that its orchestrator has the job; both may be so. Done
        ``again``, what waits in the session's journal is sent to its agents."""
        for _ in range(RUN_TRIES):
            try:
                timeout = self._ctx.settings.placement_timeout_s + 30
                group = self.store.session(record.session_id).group
                await self._ctx.tell(FAIR_SHARE, SetShare(record.session_id, group))
                await self._ctx.ask(FLEET, OpenSession(record.session_id, recover=again, group=group), timeout=timeout)
                with begin_trace(record.trace or current_trace()):
                    await self._ctx.ask(orchestrator_of(record), RunJob(record))
            except (CellLost, DeadlinePassed, SessionClosed, UnknownAddress) as error:
                self._ctx.log.warning("job %s is set going again: %s", record.job_id, error)
                await self._ctx.clock.sleep(0.25)
            else:
                return
        raise CellLost(f"the cells of session {record.session} died {RUN_TRIES} times in a row")

    async def recover(self, job_id: str) -> None:
        """This agent has died and come back: a job that was running may run, or have died as well."""
        record = self.store.job(job_id)
        async with self.turns.of(record.session_id):
            record = self.store.job(job_id)
            if record.status not in (JobState.RUNNING, JobState.PAUSED):
                return
            try:
                await self.set_going(record, again=True)
            except SylkError as error:
                await self._give_up_for_now(record, error.message)

    async def clear_away(self) -> None:
        """This agent may have died between the end of a job and that of its session's cells."""
        try:
            there = await self._ctx.ask(FLEET, GetResources(), timeout=30)
        except SylkError as error:
            self._ctx.log.warning("whether jobs that are over have left anything is not known: %s", error)
            return
        for session in [self.store.sessions[name] for name in there.sessions if name in self.store.sessions]:
            record = self.store.latest_job(session)
            if record is not None and record.status.over:
                await self.release(record)

    async def interrupted(self, record: JobRecord) -> None:
        """An earlier runtime ended before the job did: it can be resumed."""
        why = "the runtime ended while it ran" if record.status is JobState.RUNNING else "the runtime ended"
        if record.status is JobState.SUSPENDED and record.waiting:
            why = record.waiting
        await self.rest(record, why)

    async def ask_orchestrator(self, record: JobRecord, message: HaltJob | PauseJob | ContinueJob) -> None:
        """Ask; while its cell is being replaced, ask again. Raises a DeliveryError."""
        target = orchestrator_of(record)
        await ask_patiently(self._ctx, target, message, patience_s=ASK_AGAIN_S, bearing=REPLACED)

    async def ended(self, record: JobRecord) -> None:
        """A job is over, and its session too unless it is a standing one. Holds the turn."""
        session = self.store.session(record.session_id)
        if session.standing and not session.closed:
            if session.state is not SessionState.ACTIVE:
                session = session.moved(SessionState.ACTIVE)
        elif not session.over:
            state = SessionState.COMPLETED if record.status is JobState.SUCCEEDED else SessionState.FAILED
            session = msgspec.structs.replace(session.moved(state), ended_at=self._ctx.clock.now())
        record = msgspec.structs.replace(record, waiting="")
        try:
            await self.store.keep(session, record)
        except SylkError as error:
            self._ctx.log.warning("the end of session %s is not on disk: %s", session.name, error)
        self.cancelling.discard(record.job_id)
        # In the background: the orchestrator that told us waits for the answer, and is closed by this.
        self.soon(self.release(record))

    async def release(self, record: JobRecord) -> None:
        """Free what a job has used that is over, unless its session has another by now, and let the next in."""
        async with self.turns.of(record.session_id):
            session = self.store.sessions.get(record.session_id)
            if session is not None and session.job == record.job_id:
                try:
                    await self.clear(session)
                except SylkError as error:
                    self._ctx.log.warning("session %s could not be cleared away: %s", session.name, error)
        await self.let_in()

    async def clear(self, session: SessionRecord, *, delete_branch: bool = False) -> None:
        """End all that a session's job has left; also when there is nothing. Raises a SylkError."""
        await self._ctx.ask(FLEET, CloseSession(session.id), timeout=60)
        await self._ctx.tell(FAIR_SHARE, CloseShare(session.id))
        await kill_tool_processes(f"{session.id}.")
        await self.workspace(session).close(delete_branch=delete_branch)

    async def let_in(self, *, draining: bool = False) -> None:
        """Run the jobs whose turn it is."""
        while (draining or not self.draining) and (record := self.line.next(self.store.jobs.values())) is not None:
            async with self.turns.of(record.session_id):
                record = self.store.job(record.job_id)
                if record.status is JobState.QUEUED:
                    await self.run(record, draining=draining)

    async def lost(self, record: JobRecord, why: str) -> None:
        """A job that cannot go on has failed. Holds the turn."""
        error = ErrorRecord("cell_lost", f"the job cannot go on: {why}", "submit it again; what was merged is kept")
        await self.ended(msgspec.structs.replace(record, status=JobState.FAILED, error=error))

    async def wait_until_over(self, job_id: str) -> None:
        """Return when the job is over, or after a while."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(90):
                while not self.store.job(job_id).status.over:
                    await self._ctx.clock.sleep(0.05)

    def soon(self, chore: Coroutine[Any, Any, None]) -> None:
        """Do it in the background."""
        task = asyncio.create_task(chore)
        self._chores.add(task)
        task.add_done_callback(self._chores.discard)


def orchestrator_of(record: JobRecord) -> Address:
    """Who drives the job."""
    return Address(record.session_id, "orchestrator", "main")
