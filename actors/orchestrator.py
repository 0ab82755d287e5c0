"""Runs a session's job: drives the graph, starts pipelines, merges their work, and keeps the record."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from sylk_ray.dag import Decision, NodeState, Outcome, Scheduler, Start, Stop, layers
from sylk_ray.errors import Cancelled, SylkError
from sylk_ray.jobs import Job, graph_of
from sylk_ray.messaging import Message, Request
from sylk_ray.pipelines.messages import (
    CHECKS,
    Assignment,
    Brief,
    ChecksPassed,
    MergeOutcome,
    MergeWork,
    PipelineFailed,
    PipelinePhase,
    PipelineResult,
    PipelineStopped,
    StartPipeline,
    StopPipeline,
)
from sylk_ray.runtime import Agent, Context, handler
from sylk_ray.runtime.directory import router_of
from sylk_ray.runtime.history import ReadHistory
from sylk_ray.sessions import JobRecord, JobState
from sylk_ray.sessions.directories import SessionDirectory, session_directory, write_atomically
from sylk_ray.sessions.ledger import JobLedger
from sylk_ray.sessions.messages import GUIDE, JobProgress
from sylk_ray.sessions.records import ErrorRecord
from sylk_ray.sessions.workspace import Workspace

REPORT_EVERY_S = 0.1


class RunJob(Message, frozen=True):
    """The Guide to a session's orchestrator: run this job; ``record`` is what is known of it so far."""

    job: str
    record: JobRecord


class HaltJob(Request[None], frozen=True):
    """Stop the job; answered at once, and its end is reported when nothing of it runs any more."""

    reason: str


class HaltNow(Message, frozen=True):
    """The orchestrator to itself: a wish to stop has come to its turn."""

    reason: str


class PauseJob(Request[None], frozen=True):
    """Start nothing new; what runs may end."""


class ContinueJob(Request[None], frozen=True):
    """Go on after a pause."""


class Tick(Message, frozen=True):
    """The orchestrator to itself: a time that the scheduler waits for has come."""


class Orchestrator(Agent[None]):
    """One job at a time. All decisions are the scheduler's; this carries them out and reports what came of them."""

    role = "orchestrator"

    def __init__(self) -> None:
        self._running = False

    async def on_deactivate(self) -> None:
        """Stop waiting for time to pass."""
        if self._running:
            self._set_alarm(None)

    @handler()
    async def run(self, message: RunJob, ctx: Context) -> None:
        """Begin the job."""
        job = Job.model_validate_json(message.job)
        record = message.record
        graph = graph_of(job)
        self._ctx = ctx
        self._job = job
        self._began = time.monotonic()
        self._workspace = Workspace(ctx.settings.home, record.session_id, record.session, Path(record.repo))
        self._directory = SessionDirectory(session_directory(ctx.settings.home, record.session_id))
        self._scheduler = Scheduler(graph, rng=random.Random())
        self._alarm: asyncio.Task[None] | None = None
        self._running = True
        self._checks_attempted = False
        self._stopping: set[tuple[str, int]] = set()
        self._reporting: asyncio.Task[None] | None = None
        self._unreported = False
        self._ledger = JobLedger(record, layers(graph), ctx.clock.now())
        await ctx.publish(
            "job.started",
            job=record.job_id,
            name=job.name,
            branch=record.branch,
            base=record.base,
            layers=[list(layer) for layer in layers(graph)],
            grants=msgspec.to_builtins(record.grants),
            warnings=record.warnings,
        )
        await self._carry_out(self._scheduler.start(ctx.clock.now()), ctx)

    # -- what pipelines say -----------------------------------------------------------------------------------

    @handler()
    async def phase(self, message: PipelinePhase, ctx: Context) -> None:
        """A pipeline has come to another phase."""
        if message.task == CHECKS:
            await self._checks_changed(ctx, phase=message.phase, loops=message.loops)
        elif self._is_current(message.task, message.attempt):
            self._ledger.task(message.task, phase=message.phase, loops=message.loops)
            await ctx.publish(
                "pipeline.phase", task=message.task, phase=message.phase, loops=msgspec.to_builtins(message.loops)
            )
            self._report_soon()

    @handler()
    async def merge(self, message: MergeWork, ctx: Context) -> MergeOutcome:
        """The merge queue: one at a time, because an agent handles one message at a time.

        Merging is what makes a task succeed; both happen in this one handler, so that a task which was stopped
        meanwhile has either been merged and succeeded, or neither.
        """
        task = message.task
        if not self._is_current(task, message.attempt) or (task, message.attempt) in self._stopping:
            raise Cancelled(f"{task} was stopped before its work was merged")
        commit: str | None = None
        if message.commit is not None:
            merged = await self._workspace.merge(message.commit, await self._message_of(message.commit))
            if merged.conflicts:
                return MergeOutcome(None, list(merged.conflicts))
            commit = merged.commit
        result = msgspec.structs.replace(message.result, commit=commit)
        self._ledger.task(
            task,
            loops=message.loops,
            commit=commit,
            phase="completed",
            files_changed=result.files_changed,
            lines_added=result.lines_added,
            lines_removed=result.lines_removed,
            error=None,
        )
        if commit:
            self._ledger.change(commit=commit)
            await ctx.publish("task.merged", task=task, commit=commit, files=result.files_changed)
        decisions = self._scheduler.node_succeeded(task, message.attempt, result, ctx.clock.now())
        await self._carry_out(decisions, ctx)
        return MergeOutcome(commit)

    @handler()
    async def failed(self, message: PipelineFailed, ctx: Context) -> None:
        """An attempt failed."""
        error = message.error
        if message.task == CHECKS:
            await self._checks_changed(ctx, state="failed", phase="failed", loops=message.loops, error=error)
            told = ErrorRecord(error.type, f"the session's checks failed: {error.message}", error.hint)
            await self._finish(JobState.FAILED, ctx, told)
        elif self._is_current(message.task, message.attempt):
            self._ledger.task(message.task, loops=message.loops, phase="failed", error=error)
            reason = error.message.splitlines()[0] if error.message else error.type
            decisions = self._scheduler.node_failed(
                message.task, message.attempt, reason, ctx.clock.now(), retryable=message.retryable
            )
            await self._carry_out(decisions, ctx)

    @handler()
    async def stopped(self, message: PipelineStopped, ctx: Context) -> None:
        """An attempt was stopped and nothing is left of it."""
        if message.task == CHECKS:
            await self._checks_changed(ctx, state="cancelled")
            await self._finish(JobState.CANCELLED, ctx)
        elif self._running:
            await self._carry_out(self._scheduler.node_stopped(message.task, message.attempt, ctx.clock.now()), ctx)

    @handler()
    async def checks_passed(self, message: ChecksPassed, ctx: Context) -> None:
        """The session's branch is good."""
        await self._checks_changed(ctx, state="succeeded", phase="completed", loops=message.loops)
        await self._finish(JobState.SUCCEEDED, ctx)

    # -- what people say --------------------------------------------------------------------------------------

    @handler(concurrent=True)
    async def halt(self, message: HaltJob, ctx: Context) -> None:
        """Note the wish to stop; it is carried out in its turn, for what is at work may take a while."""
        await ctx.tell(ctx.address, HaltNow(message.reason))

    @handler()
    async def halt_now(self, message: HaltNow, ctx: Context) -> None:
        """Cancel the job."""
        if not self._running:
            return
        await ctx.publish("job.cancelling", reason=message.reason)
        if self._scheduler.finished and self._ledger.record.checks is not None:
            await ctx.tell(ctx.address.beside("pipeline", CHECKS), StopPipeline(1, message.reason))
            return
        await self._carry_out(self._scheduler.cancel(message.reason, ctx.clock.now()), ctx)

    @handler()
    async def pause(self, message: PauseJob, ctx: Context) -> None:
        """Start nothing new."""
        if self._running:
            await self._carry_out(self._scheduler.pause(ctx.clock.now()), ctx)

    @handler()
    async def resume(self, message: ContinueJob, ctx: Context) -> None:
        """Go on."""
        if self._running:
            await self._carry_out(self._scheduler.resume(ctx.clock.now()), ctx)

    @handler()
    async def tick(self, message: Tick, ctx: Context) -> None:
        """Deadlines and back-offs."""
        if self._running:
            await self._carry_out(self._scheduler.tick(ctx.clock.now()), ctx)

    async def on_failure(self, message: Message, error: Exception, ctx: Context) -> None:
        """A job whose orchestrator cannot go on has failed, and says so."""
        if self._running and not isinstance(error, Cancelled):
            await self._finish(JobState.FAILED, ctx, ErrorRecord.of(error))
        elif isinstance(message, RunJob):
            failed = msgspec.structs.replace(message.record, status=JobState.FAILED, error=ErrorRecord.of(error))
            await ctx.tell(GUIDE, JobProgress(failed))

    # -- carrying out -----------------------------------------------------------------------------------------

    async def _carry_out(self, decisions: Iterable[Decision], ctx: Context) -> None:
        await self._note_transitions(ctx)
        for decision in decisions:
            if isinstance(decision, Start):
                await self._start(decision, ctx)
            else:
                await self._stop(decision, ctx)
        self._set_alarm(self._scheduler.next_wakeup())
        if self._scheduler.finished:
            await self._graph_ended(ctx)

    async def _start(self, start: Start, ctx: Context) -> None:
        name = start.node.name
        task = self._job.tasks[name]
        assignment = Assignment(
            description=task.description,
            engineer=task.engineer,
            on_feedback=task.on_feedback,
            inspector=task.inspector,
            tester=task.tester,
        )
        max_loops = self._job.policy.max_loops if task.max_loops is None else task.max_loops
        brief = self._brief(name, assignment, start.attempt, start.parent_results, max_loops=max_loops)
        await ctx.tell(ctx.address.beside("pipeline", name), StartPipeline(brief))

    async def _stop(self, stop: Stop, ctx: Context) -> None:
        self._stopping.add((stop.node.name, stop.attempt))
        await ctx.tell(ctx.address.beside("pipeline", stop.node.name), StopPipeline(stop.attempt, stop.reason))

    def _brief(
        self, name: str, assignment: Assignment, attempt: int, parents: dict[str, PipelineResult], *, max_loops: int
    ) -> Brief:
        job, record = self._job, self._ledger.record
        variables: dict[str, Any] = {
            "vars": dict(job.vars),
            "tasks": {parent: msgspec.to_builtins(result) for parent, result in parents.items()},
            "task": {"name": name, "attempt": attempt},
            "session": {"id": record.session_id, "name": record.session, "branch": record.branch},
        }
        return Brief(
            session=record.session_id,
            session_name=record.session,
            repo=record.repo,
            task=name,
            attempt=attempt,
            assignment_json=assignment.model_dump_json(),
            limits_json=job.limits.model_dump_json(),
            sandbox_json=job.sandbox.model_dump_json(),
            max_loops=max_loops,
            variables=variables,
            base=record.base,
        )

    async def _note_transitions(self, ctx: Context) -> None:
        for move in self._scheduler.take_transitions():
            task = self._ledger.moved(move)
            failed = task.error if move.target is NodeState.FAILED else None
            await ctx.publish(
                "task.state",
                task=task.name,
                state=task.state,
                attempt=move.attempt,
                reason=move.reason,
                error=msgspec.to_builtins(failed) if failed else None,
            )
        self._report_soon()

    def _set_alarm(self, at: float | None) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if at is not None:
            self._alarm = asyncio.create_task(self._wait_until(at))

    async def _wait_until(self, at: float) -> None:
        ctx = self._ctx
        await ctx.clock.sleep(max(0.0, at - ctx.clock.now()))
        await ctx.tell(ctx.address, Tick())

    # -- the end ----------------------------------------------------------------------------------------------

    async def _graph_ended(self, ctx: Context) -> None:
        outcome = self._scheduler.outcome
        finale = self._job.finally_
        if outcome is Outcome.SUCCEEDED and finale is not None and not self._checks_attempted:
            self._checks_attempted = True
            await self._checks_changed(ctx, state="running", attempts=1, started_at=ctx.clock.now())
            assignment = Assignment(inspector=finale.inspector, tester=finale.tester)
            brief = self._brief(CHECKS, assignment, 1, {}, max_loops=0)
            await ctx.tell(ctx.address.beside("pipeline", CHECKS), StartPipeline(brief))
        elif not self._checks_attempted:
            state = {Outcome.SUCCEEDED: JobState.SUCCEEDED, Outcome.CANCELLED: JobState.CANCELLED}.get(
                outcome or Outcome.FAILED, JobState.FAILED
            )
            await self._finish(state, ctx, self._ledger.failure() if state is JobState.FAILED else None)

    async def _checks_changed(self, ctx: Context, **changes: Any) -> None:
        checks = self._ledger.checks(CHECKS, ctx.clock.now(), **changes)
        error = msgspec.to_builtins(checks.error) if checks.error else None
        await ctx.publish("checks.state", task=CHECKS, state=checks.state, phase=checks.phase, error=error)
        self._report_soon()

    async def _finish(self, state: JobState, ctx: Context, error: ErrorRecord | None = None) -> None:
        """The end is told whatever fails on the way to it: people and programs wait for it."""
        if not self._running:
            return
        self._running = False
        self._set_alarm(None)
        self._ledger.change(status=state, error=error, duration_s=round(time.monotonic() - self._began, 3))
        for what, step in (
            ("its branch could not be looked at", self._note_head),
            ("its worktrees could not all be removed", self._workspace.close),
            ("its end is not on disk", self._write_record),
            ("its end is not in its history", lambda: self._publish_end(ctx)),
        ):
            try:
                await step()
            except Exception as problem:
                ctx.log.warning("job %s has ended, but %s: %s", self._ledger.record.job_id, what, problem)
        await self._tell_guide(ctx)

    async def _note_head(self) -> None:
        self._ledger.change(commit=await self._workspace.head())

    async def _write_record(self) -> None:
        await asyncio.to_thread(write_atomically, self._directory.record, msgspec.json.encode(self._ledger.record))

    async def _publish_end(self, ctx: Context) -> None:
        status = self._ledger.record.status.value
        await ctx.publish("job.finished", status=status, record=msgspec.to_builtins(self._ledger.record))
        # The router handles its mail in order: once it answers, whoever watches has the last event.
        await ctx.ask(router_of(ctx.address.session), ReadHistory(limit=0))

    async def _tell_guide(self, ctx: Context) -> None:
        for wait_s in (0.5, 2.0, 10.0, 30.0, None):
            try:
                await ctx.tell(GUIDE, JobProgress(self._ledger.record))
            except SylkError as problem:
                if wait_s is None:
                    raise
                ctx.log.warning("the guide did not take the end of %s: %s", self._ledger.record.job_id, problem)
                await ctx.clock.sleep(wait_s)
            else:
                return

    def _report_soon(self) -> None:
        """Tell the Guide how things are, at most each REPORT_EVERY_S: a large job changes far more often."""
        self._unreported = True
        if self._reporting is None or self._reporting.done():
            self._reporting = asyncio.create_task(self._report())

    async def _report(self) -> None:
        while self._unreported and self._running:
            await self._ctx.clock.sleep(REPORT_EVERY_S)
            self._unreported = False
            if self._running:
                try:
                    await self._ctx.tell(GUIDE, JobProgress(self._ledger.record))
                except SylkError as problem:
                    self._ctx.log.warning("the guide did not hear of %s: %s", self._ledger.record.job_id, problem)

    def _is_current(self, task: str, attempt: int) -> bool:
        if not self._running or task not in self._ledger.record.tasks:
            return False
        running = self._scheduler.state_of(task) is NodeState.RUNNING
        return running and self._ledger.record.tasks[task].attempts == attempt

    async def _message_of(self, commit: str) -> str:
        return await self._workspace.message_of(commit)
