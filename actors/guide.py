"""The one front door: takes jobs, makes sessions, and knows how all of them are going."""

from __future__ import annotations

import asyncio
import secrets
from pathlib import Path

import msgspec

from actors.guide_desk import GuideDesk
from actors.job_messages import ContinueJob, HaltJob, PauseJob
from actors.job_runner import JobRunner
from actors.session_maker import SessionMaker
from actors.session_news import tell_state
from sylk_ray.errors import SylkError
from sylk_ray.hooks import SessionCreate
from sylk_ray.jobs import Job, check_models
from sylk_ray.messaging import DeadlinePassed, DeliveryError, current_trace
from sylk_ray.runtime import Context, handler
from sylk_ray.runtime.fleet_messages import (
    CellDied,
    SessionLost,
)
from sylk_ray.runtime.leases import FAIR_SHARE, SetShare
from sylk_ray.sessions import JobRecord, JobState, SessionRecord, SessionState
from sylk_ray.sessions.directories import write_atomically
from sylk_ray.sessions.foreground import Foreground
from sylk_ray.sessions.messages import (
    CancelJob,
    CreateSession,
    DrainSessions,
    EndSession,
    GetForeground,
    GetJob,
    GetSession,
    GrantTokens,
    JobEnded,
    JobProgress,
    ListJobs,
    ListSessions,
    PauseSession,
    ResumeJob,
    ResumeSession,
    SetGroup,
    StartJob,
    SubmitJob,
    SwitchSession,
)
from sylk_ray.sessions.records import ErrorRecord, Grants, IllegalSessionState
from sylk_ray.sessions.repository import inspect_repository
from sylk_ray.sessions.store import SessionStore
from sylk_ray.tools import kill_tool_processes

_RESUMABLE = (JobState.PAUSED, JobState.SUSPENDED)


class Guide(GuideDesk):
    """Keeps the records of sessions and jobs, on disk and in memory. Handlers are concurrent, for making a session
    waits for processes and for git; what must not interleave for one session waits for its turn."""

    role = "guide"

    async def on_activate(self, ctx: Context) -> None:
        """Read what there is, and see to what was running."""
        self._store = SessionStore(ctx.settings.home, on_change=lambda session: tell_state(session, ctx))
        self._jobs = JobRunner(self._store, ctx)
        self._maker = SessionMaker(self._store, ctx)
        self._foreground = Foreground(ctx.settings.home)
        self._naming = asyncio.Lock()
        self._granted: set[str] = set()
        self.open_desk(ctx)
        await self._store.recover()
        await self._jobs.take_up()

    async def on_deactivate(self) -> None:
        """Stop the chores."""
        self._jobs.close()
        self.close_desk()

    # -- jobs -------------------------------------------------------------------------------------------------

    @handler(concurrent=True)
    async def submit(self, message: SubmitJob, ctx: Context) -> JobRecord:
        """Make the session and its branch, or take a standing one; run the job, or leave it prepared or queued."""
        job = Job.model_validate_json(message.job)
        check_models(job, ctx.settings)
        repository = await inspect_repository(Path(message.repo))
        if not message.queue and not self._jobs.line.has_room(self._store.jobs.values()):
            raise self._jobs.line.refuse()
        await self._may_create(message.session or job.name, message.repo, job=job.name)
        async with self._naming:
            session, is_new = await self._maker.session_for(job, message.session, repository)
            job_id = f"j-{session.id[2:]}" if is_new else f"j-{secrets.token_hex(4)}"
            session = msgspec.structs.replace(session, job=job_id, incarnation=ctx.settings.incarnation)
            self._store.sessions[session.id] = session
            sandbox = job.sandbox
            workspace = self._jobs.workspace(session)
            record = JobRecord(
                job_id=job_id,
                name=job.name,
                session_id=session.id,
                session=session.name,
                repo=session.repo,
                branch=session.branch,
                status=JobState.PREPARED,
                submitted_at=ctx.clock.now(),
                base=await workspace.head() or session.base,
                first_event=0 if is_new else await self._maker.last_event(session),
                grants=Grants(list(sandbox.write), sandbox.network, list(sandbox.env), list(sandbox.read)),
                warnings=repository.warnings,
                trace=current_trace(),
            )
            try:
                path = self._store.directory(session.id).job_of(job_id)
                await asyncio.to_thread(write_atomically, path, message.job.encode())
                await self._store.keep(session, record)
            except SylkError:
                # What cannot be recorded never was: nothing of it may stay, not even its name.
                if is_new:
                    self._store.forget(session.id, job_id)
                    await workspace.undo()
                else:
                    self._store.jobs.pop(job_id, None)
                    self._store.sessions[session.id] = msgspec.structs.replace(session, job="")
                raise
        if message.start:
            async with self._jobs.turns.of(session.id):
                return await self._jobs.run(record)
        return record

    @handler(concurrent=True)
    async def start(self, message: StartJob, ctx: Context) -> JobRecord:
        """Run a prepared job."""
        async with self._jobs.turns.of(self._store.job(message.job_id).session_id):
            record = self._store.job(message.job_id)
            if record.status is not JobState.PREPARED:
                return record
            if not message.queue and not self._jobs.line.has_room(self._store.jobs.values()):
                raise self._jobs.line.refuse()
            record = msgspec.structs.replace(record, ray_job=message.ray_job or record.ray_job)
            return await self._jobs.run(record)

    @handler(concurrent=True)
    async def cancel(self, message: CancelJob, ctx: Context) -> JobRecord:
        """Ask the job's orchestrator to stop; a job that does not run is over at once."""
        record = self._store.job(message.job_id)
        if record.status.over:
            return record
        # Seen by whoever is opening the session right now, and holds the turn for it.
        self._jobs.cancelling.add(record.job_id)
        async with self._jobs.turns.of(record.session_id):
            record = self._store.job(record.job_id)
            if record.status in (JobState.PREPARED, JobState.QUEUED, JobState.SUSPENDED):
                await self._jobs.ended(msgspec.structs.replace(record, status=JobState.CANCELLED))
            elif not record.status.over:
                try:
                    await self._jobs.ask_orchestrator(record, HaltJob(message.reason))
                except DeadlinePassed as error:
                    ctx.log.warning("job %s will be cancelled later: %s", record.job_id, error)
                except DeliveryError as error:
                    await self._jobs.lost(record, f"it could not be cancelled in order: {error.message}")
        return self._store.job(record.job_id)

    @handler(concurrent=True)
    async def get_job(self, message: GetJob, ctx: Context) -> JobRecord:
        """One job."""
        return self._jobs.placed(self._store.job(message.job_id))

    @handler(concurrent=True)
    async def list_jobs(self, message: ListJobs, ctx: Context) -> list[JobRecord]:
        """All jobs, the newest first."""
        newest = sorted(self._store.jobs.values(), key=lambda job: -job.submitted_at)
        return [self._jobs.placed(job) for job in newest]

    @handler()
    async def progress(self, message: JobProgress, ctx: Context) -> None:
        """How a job is going."""
        record = message.record
        known = self._store.jobs.get(record.job_id)
        if known is not None and known.status in (JobState.RUNNING, JobState.PAUSED):
            told = msgspec.structs.replace(record, status=known.status, waiting=known.waiting)
            self._store.jobs[record.job_id] = told

    @handler(concurrent=True)
    async def job_ended(self, message: JobEnded, ctx: Context) -> None:
        """A job is over, and its session too unless it is a standing one."""
        record = message.record
        async with self._jobs.turns.of(record.session_id):
            known = self._store.jobs.get(record.job_id)
            if known is None:
                return
            if known.status.over:
                # It was given up, and is alive all the same: nothing of it may stay.
                self._jobs.soon(self._jobs.release(known))
            else:
                await self._jobs.ended(record)

    # -- sessions ---------------------------------------------------------------------------------------------

    @handler(concurrent=True)
    async def create_session(self, message: CreateSession, ctx: Context) -> SessionRecord:
        """Make a standing session."""
        repository = await inspect_repository(Path(message.repo))
        await self._may_create(message.name, message.repo, description=message.description)
        async with self._naming:
            session = await self._maker.make(message.name, repository, standing=True)
        session = msgspec.structs.replace(session, description=message.description, group=message.group)
        try:
            await self._store.keep(session)
        except SylkError:
            self._store.forget(session.id, "")
            await self._jobs.workspace(session).undo()
            raise
        return session

    @handler(concurrent=True)
    async def pause_session(self, message: PauseSession, ctx: Context) -> SessionRecord:
        """Pause or suspend."""
        session = self._store.session(message.session)
        async with self._jobs.turns.of(session.id):
            session = self._store.session(session.id)
            target = SessionState.SUSPENDED if message.suspend else SessionState.PAUSED
            if session.state is target:
                return session
            moved = msgspec.structs.replace(session.moved(target), reason=message.reason)
            told = message.reason or f"a person {'suspended' if message.suspend else 'paused'} its session"
            record = self._store.latest_job(session)
            if record is not None and record.status in (JobState.RUNNING, JobState.PAUSED):
                if message.suspend:
                    await self._jobs.put_away(session.id, message.grace_s)
                else:
                    await self._jobs.ask_orchestrator(record, PauseJob())
                # It may have come to its end meanwhile.
                record = self._store.job(record.job_id)
                status = JobState.SUSPENDED if message.suspend else JobState.PAUSED
                record = msgspec.structs.replace(record, status=status, waiting=told)
            elif record is not None and record.status is JobState.QUEUED:
                # It leaves the line: its turn must not wake the session.
                record = msgspec.structs.replace(record, status=JobState.SUSPENDED, waiting=told)
            elif record is not None and record.status.over:
                record = None
            await self._store.keep(moved, record)
        if message.suspend:
            self._jobs.soon(self._jobs.let_in())
        return moved

    @handler(concurrent=True)
    async def resume_session(self, message: ResumeSession, ctx: Context) -> SessionRecord:
        """Go on."""
        session = self._store.session(message.session)
        async with self._jobs.turns.of(session.id):
            session = self._store.session(session.id)
            if session.state in (SessionState.ACTIVE, SessionState.CREATED) and not session.closed:
                return session
            moved = msgspec.structs.replace(session.moved(SessionState.ACTIVE), incarnation=ctx.settings.incarnation)
            record = self._store.latest_job(session)
            if record is None or record.status not in _RESUMABLE:
                await self._store.keep(moved)
            elif record.status is JobState.PAUSED:
                await self._jobs.ask_orchestrator(record, ContinueJob())
                record = msgspec.structs.replace(record, status=JobState.RUNNING, waiting="")
                await self._store.keep(moved, record)
            else:
                await self._store.keep(moved)
                await self._jobs.run(record)
        return self._store.session(session.id)

    @handler(concurrent=True)
    async def resume_job(self, message: ResumeJob, ctx: Context) -> JobRecord:
        """Go on with a job's session."""
        record = self._store.job(message.job_id)
        if record.status.over:
            raise IllegalSessionState(f"job {record.job_id} is {record.status}: there is nothing to resume")
        if record.status in _RESUMABLE:
            await self.resume_session(ResumeSession(record.session_id), ctx)
        return self._jobs.placed(self._store.job(record.job_id))

    @handler(concurrent=True)
    async def switch_session(self, message: SwitchSession, ctx: Context) -> SessionRecord:
        """Make a session the foreground one."""
        session = self._store.session(message.session)
        if session.over:
            raise IllegalSessionState(f"session {session.name} is over", hint="see `sylk session list`")
        before = self._foreground.of(message.user)
        await self._foreground.switch(message.user, session.id)
        if message.pause and before not in ("", session.id):
            known = self._store.sessions.get(before)
            if known is not None and known.state in (SessionState.ACTIVE, SessionState.CREATED) and not known.closed:
                await self.pause_session(PauseSession(before, reason=f"{session.name} was switched to"), ctx)
        return self._store.session(session.id)

    @handler(concurrent=True)
    async def foreground(self, message: GetForeground, ctx: Context) -> SessionRecord | None:
        """The foreground session, as long as it is not over."""
        session = self._store.sessions.get(self._foreground.of(message.user))
        return None if session is None or session.over else session

    @handler(concurrent=True)
    async def set_group(self, message: SetGroup, ctx: Context) -> SessionRecord:
        """Change weight and limits."""
        session = self._store.session(message.session)
        async with self._jobs.turns.of(session.id):
            session = self._store.session(session.id)
            if session.over:
                raise IllegalSessionState(f"session {session.name} is over", hint="see `sylk session list`")
            session = msgspec.structs.replace(session, group=message.group)
            await self._store.keep(session)
            if session.state in (SessionState.ACTIVE, SessionState.PAUSED):
                await ctx.tell(FAIR_SHARE, SetShare(session.id, session.group))
        return session

    @handler()
    async def grant_tokens(self, message: GrantTokens, ctx: Context) -> None:
        """Add them to the budget; what was used of that stays used."""
        session = self._store.session(message.session)
        if message.asking in self._granted or session.over:
            return
        self._granted.add(message.asking)
        budget = (session.group.token_budget or 0.0) + message.more
        group = msgspec.structs.replace(session.group, token_budget=budget)
        await self.set_group(SetGroup(session.id, group), ctx)

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
        record = self._store.latest_job(session)
        if record is not None and not record.status.over:
            await self.cancel(CancelJob(record.job_id, "its session was closed"), ctx)
            await self._jobs.wait_until_over(record.job_id)
        async with self._jobs.turns.of(session.id):
            # Looked at again: another job may have begun in a standing session meanwhile.
            session = self._store.session(session.id)
            record = self._store.latest_job(session)
            if record is not None and not record.status.over:
                error = ErrorRecord("cancelled", "its session was closed before it had come to its end")
                await self._jobs.ended(msgspec.structs.replace(record, status=JobState.CANCELLED, error=error))
                session = self._store.session(session.id)
            await self._jobs.clear(session, delete_branch=message.delete_branch)
            if not session.over:
                session = msgspec.structs.replace(session.moved(SessionState.COMPLETED), ended_at=ctx.clock.now())
            session = msgspec.structs.replace(session, closed=True)
            await self._store.keep(session)
        await self._foreground.forget(session.id)
        return session

    async def _may_create(self, name: str, repo: str, **settings: str) -> None:
        """Hooks may say no to a session, or to a job in one, before anything of it is made. Raises Aborted."""
        await self.hooks.run(SessionCreate(session=name, repository=repo, settings=settings))

    # -- the runtime ------------------------------------------------------------------------------------------

    @handler(concurrent=True)
    async def drain(self, message: DrainSessions, ctx: Context) -> list[JobRecord]:
        """Let nobody in any more, and bring what runs to rest."""
        self._jobs.draining = True
        if message.wait:
            await self._jobs.let_in(draining=True)
            while any(job.status is JobState.RUNNING for job in self._store.jobs.values()):
                await ctx.clock.sleep(0.1)
                await self._jobs.let_in(draining=True)
        # Also those in line: with --wait because paused ones have left them no room, which nobody will change.
        unfinished = (JobState.RUNNING, JobState.PAUSED, JobState.QUEUED)
        at_work = [job for job in self._store.jobs.values() if job.status in unfinished]
        reason = "the runtime was ended"
        wishes = [PauseSession(job.session_id, True, message.grace_s, reason) for job in at_work]
        suspending = (self.pause_session(wish, ctx) for wish in wishes)
        for problem in await asyncio.gather(*suspending, return_exceptions=True):
            if isinstance(problem, BaseException):
                ctx.log.warning("a session was not suspended in order: %s", problem)
        return [job for job in self._store.jobs.values() if job.status is JobState.SUSPENDED]

    @handler(concurrent=True)
    async def cell_died(self, message: CellDied, ctx: Context) -> None:
        """The fleet sees to the agents; what their tools left running ends here."""
        await kill_tool_processes(cell=message.cell)

    @handler(concurrent=True)
    async def session_lost(self, message: SessionLost, ctx: Context) -> None:
        """A session cannot go on: not now, or not at all."""
        session = self._store.sessions.get(message.session)
        if session is None:
            return
        async with self._jobs.turns.of(session.id):
            record = self._store.latest_job(session)
            if record is None or record.status.over:
                return
            if message.for_good:
                await self._jobs.lost(record, message.why)
                return
            await self._jobs.rest(record, message.why)
        await self._jobs.let_in()
