"""Runs a session's job: drives the graph, starts pipelines, merges their work, and keeps the record."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from actors.admission import Admission
from actors.briefs import brief_of_checks, brief_of_task
from actors.job_messages import (
    Admitted,
    Begin,
    ContinueJob,
    EndTold,
    HaltJob,
    HaltNow,
    KeepPlan,
    PauseJob,
    RunJob,
    TellEnd,
    Tick,
)
from actors.job_reports import JobReports
from actors.orchestrator_state import OrchestratorState, Planning, TaskEntry
from actors.planning_messages import AdjustPlan, Decide, RequestPlanChange, RetryTask, SkipTask, UpdatePlan
from actors.skills.orchestrator import ORCHESTRATOR_SKILLS
from actors.token_desk import TokenDesk
from sylk_ray.dag import Decision, NodeState, Outcome, Scheduler, Snapshot, Start, Stop, layers
from sylk_ray.errors import SylkError
from sylk_ray.fairness import Lane
from sylk_ray.hooks import AgentDelegate, runtime_hooks
from sylk_ray.jobs import Job, Task, graph_of
from sylk_ray.messaging import Message, begin_trace
from sylk_ray.pipelines.brief import CHECKS
from sylk_ray.pipelines.messages import (
    ChecksPassed,
    Merged,
    MergeWork,
    PipelineFailed,
    PipelinePhase,
    PipelineStopped,
    SlotWait,
    StartPipeline,
    StopPipeline,
    Waive,
)
from sylk_ray.runtime import Context, Reminders, handler
from sylk_ray.sessions import JobRecord, JobState
from sylk_ray.sessions.directories import SessionDirectory, session_directory, write_atomically
from sylk_ray.sessions.git import GitFailed
from sylk_ray.sessions.ledger import JobLedger
from sylk_ray.sessions.records import ErrorRecord, Loops
from sylk_ray.sessions.workspace import Plan, Workspace
from sylk_ray.speech import CallSkill, Hear
from sylk_ray.speech.tasks import FindTask, TaskMessage, UserOverride

MERGE_TRIES = 5
_SAID = (
    TaskMessage
    | FindTask
    | Hear
    | CallSkill
    | Waive
    | UserOverride
    | Decide
    | (AdjustPlan | UpdatePlan | RetryTask | SkipTask | RequestPlanChange)
)
"""What people say: a fault of that is theirs to hear of, and no end of the job."""


class Orchestrator(TokenDesk):
    """One job at a time. All decisions are the scheduler's; this carries them out and reports what came of them."""

    role = "orchestrator"
    keyed = "tasks"
    skills = ORCHESTRATOR_SKILLS
    answers_with = "get_status"
    about = "the work that is running: its status, pausing, cancelling"

    async def on_activate(self, ctx: Context) -> None:
        """Go on with the job that the state tells of, if there is one."""
        record = self.state.record
        with begin_trace(record.trace if record is not None else ""):
            await self._go_on(ctx)

    async def _go_on(self, ctx: Context) -> None:
        self._ctx = ctx
        self._reminders = Reminders(ctx)
        self._admission = Admission(ctx, self._reminders)
        self._reports = JobReports(ctx, lambda: self._ledger.record if self.state.running else None)
        record = self.state.record
        if record is not None and self.state.running:
            entries = self.state.tasks
            known = {name: entry.record for name, entry in entries.items()}
            await self._take_up(msgspec.structs.replace(record, tasks=known))
            self._ask_again()
            self._start_clocks_anew(ctx.clock.now())
            self._ask_for_longer(ctx.clock.now())
            self._reports.soon()
            self._set_alarm()
        self._tell_end()

    def may_rest(self) -> bool:
        """Not while a job runs, for its alarm and its leases would go; nor before the Guide has heard of its end."""
        return self.state.record is None or self.state.end_told

    def _start_clocks_anew(self, now: float) -> None:
        """An attempt that was brought back has its whole time again: its step is done anew, and the session may have
        been suspended for days."""
        for decision in self._scheduler.in_flight():
            key = (decision.node.name, decision.attempt)
            if isinstance(decision, Start) and key in self.state.admitted:
                self._scheduler.node_began(*key, now)
                if self._waits_for_help(*key):
                    self._scheduler.hold_clock(*key, now)

    async def on_deactivate(self) -> None:
        """Stop waiting for time to pass."""
        self._reminders.close()
        self._reports.close()
        self._admission.keep(set())

    async def _take_up(self, record: JobRecord) -> None:
        home = self._ctx.settings.home
        self._directory = SessionDirectory(session_directory(home, record.session_id))
        self._workspace = Workspace(home, record.session_id, record.session, Path(record.repo))
        file = self._directory.job_of(record.job_id)
        self._job = Job.model_validate_json(self.state.planned or await asyncio.to_thread(file.read_bytes))
        graph = graph_of(self._job)
        rng = random.Random()
        entries = self.state.tasks
        if entries:
            nodes = tuple(entries[node.name].progress for node in graph.nodes)
            self._scheduler = Scheduler.restore(graph, Snapshot(nodes, self.state.graph), rng=rng)
        else:
            self._scheduler = Scheduler(graph, rng=rng)
        self._ledger = JobLedger(record)

    @handler()
    async def run(self, message: RunJob, ctx: Context) -> None:
        """Take the job up; it begins with a message of its own, so that whoever asked need not wait."""
        if self.state.record is not None and self.state.record.job_id == message.record.job_id:
            return
        if self.state.record is not None:
            # What an earlier job of this session has left must not be taken for this one's.
            others = [agent for agent in await ctx.journal.agents() if agent != ctx.address]
            await asyncio.gather(*map(ctx.journal.forget, others))
        self.state = OrchestratorState(running=True, began_at=ctx.clock.now())
        await self._take_up(message.record)
        depths = layers(graph_of(self._job))
        self._ledger.begin(depths, ctx.clock.now())
        record = self._ledger.record
        await ctx.publish(
            "job.started",
            job=record.job_id,
            name=self._job.name,
            branch=record.branch,
            base=record.base,
            layers=[list(layer) for layer in depths],
            grants=msgspec.to_builtins(record.grants),
            warnings=record.warnings,
        )
        self._enter_tasks()
        if self._job.needs_plan:
            await self._plan(Planning(), ctx)
        else:
            await ctx.tell(ctx.address, Begin())
        self._note_state()

    @handler()
    async def keep_plan(self, message: KeepPlan, ctx: Context) -> None:
        """Write it where whoever looks at the session finds it: what is not in the journal is not in the file."""
        if self.state.running and self.state.planned:
            await self._keep_plan()

    async def _keep_plan(self) -> None:
        path = self._directory.job_of(self._ledger.record.job_id)
        await asyncio.to_thread(write_atomically, path, self.state.planned.encode())

    def _enter_tasks(self) -> None:
        record = self._ledger.record
        nodes = self._scheduler.snapshot().nodes
        self.state.tasks = {node.name: TaskEntry(record.tasks[node.name], node) for node in nodes}

    async def _adopt(self, job: Job, ctx: Context) -> None:
        record = self._ledger.record
        paused = self._scheduler.mode.paused
        self.state.planned, self.state.tasks = job.model_dump_json(), {}
        await self._take_up(msgspec.structs.replace(record, tasks={}))
        self._ledger.begin(layers(graph_of(self._job)), record.started_at)
        if paused:
            self._scheduler.pause(ctx.clock.now())
        self._enter_tasks()
        self._note_state()
        self._reports.soon()

    @handler()
    async def begin(self, message: Begin, ctx: Context) -> None:
        """Start the graph."""
        if self.state.running and self.state.planning is None:
            await self._carry_out(self._scheduler.start(ctx.clock.now()), ctx)

    def _note_state(self) -> None:
        record, tasks = self._ledger.record, self.state.tasks
        self.state.record = msgspec.structs.replace(record, tasks={})
        self.state.graph = self._scheduler.mode
        for progress in self._scheduler.take_changes():
            tasks[progress.name] = TaskEntry(record.tasks[progress.name], progress)
        for name in self._ledger.take_touched():
            if tasks[name].record is not record.tasks[name]:
                tasks[name] = TaskEntry(record.tasks[name], tasks[name].progress)

    # -- what pipelines say -----------------------------------------------------------------------------------

    @handler()
    async def phase(self, message: PipelinePhase, ctx: Context) -> None:
        """A pipeline has come to another phase."""
        if message.task == CHECKS:
            if self._checks_run:
                await self._checks_changed(ctx, phase=message.phase, loops=message.loops)
        elif self._is_current(message.task, message.attempt):
            self._ledger.task(message.task, phase=message.phase, loops=message.loops)
            if message.phase == "running":
                await self._note_taken_over(message.task, message.attempt, ctx)
            self._note_state()
            await ctx.publish(
                "pipeline.phase", task=message.task, phase=message.phase, loops=msgspec.to_builtins(message.loops)
            )
            self._reports.soon()

    @handler()
    async def slot_wait(self, message: SlotWait, ctx: Context) -> None:
        """An attempt waits for a CPU slot, or does so no more."""
        if self._is_current(message.task, message.attempt):
            key, now = (message.task, message.attempt), ctx.clock.now()
            if not message.over:
                self._scheduler.hold_clock(*key, now)
            elif not self._waits_for_help(*key):
                self._scheduler.go_on(*key, now)
            self._set_alarm()
            self._note_state()

    @handler()
    async def merge(self, message: MergeWork, ctx: Context) -> None:
        """The merge queue: one at a time, because an agent handles one message at a time.

        Merging is what makes a task succeed; both happen in this one handler, so that a task which was stopped
        meanwhile has either been merged and succeeded, or neither. A merge is planned in one step and carried out
        in the next: cut off between, the same plan is carried out.
        """
        task = message.task
        if not self._is_current(task, message.attempt) or self._scheduler.is_stopping(task, message.attempt):
            return
        pipeline = ctx.address.beside("pipeline", task)
        commit: str | None = None
        if message.commit is not None:
            plan = await self._merge(message.commit, ctx)
            if plan.commit is None:
                await ctx.tell(pipeline, Merged(message.attempt, None, list(plan.conflicts)))
                return
            commit = plan.commit
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
        await ctx.tell(pipeline, Merged(message.attempt, commit))
        decisions = self._scheduler.node_succeeded(task, message.attempt, result, ctx.clock.now())
        await self._carry_out(decisions, ctx)

    async def _merge(self, commit: str, ctx: Context) -> Plan:
        told = await self._workspace.message_of(commit)
        for _ in range(MERGE_TRIES):
            plan = await ctx.step("plan merge", self._workspace.plan_merge, commit, told, result=Plan)
            if plan.commit is None or await self._workspace.carry_out(plan):
                return plan
        raise GitFailed(f"{self._workspace.branch} keeps moving while work is merged into it", hint="who writes there?")

    @handler()
    async def failed(self, message: PipelineFailed, ctx: Context) -> None:
        """An attempt failed."""
        error = message.error
        if message.task == CHECKS:
            if not self._checks_run:
                return
            await self._checks_changed(ctx, state="failed", phase="failed", loops=message.loops, error=error)
            told = ErrorRecord(error.type, f"the session's checks failed: {error.message}", error.hint)
            self.state.checks_attempted = False
            self._give_back_ended()
            if not await self._mend(told, ctx):
                await self._finish(JobState.FAILED, ctx, told)
        elif self._is_current(message.task, message.attempt):
            self._ledger.task(message.task, loops=message.loops, phase="failed", error=error)
            if self._inherited(message.task, message.attempt) is not None:
                await self._drop_handoff(message.task, "the next pipeline could not begin", ctx)
            reason = error.message.splitlines()[0] if error.message else error.type
            decisions = self._scheduler.node_failed(
                message.task, message.attempt, reason, ctx.clock.now(), retryable=message.retryable
            )
            await self._carry_out(decisions, ctx)

    @handler()
    async def stopped(self, message: PipelineStopped, ctx: Context) -> None:
        """An attempt was stopped and nothing is left of it."""
        if message.task == CHECKS:
            if self._checks_run:
                await self._checks_changed(ctx, state="cancelled")
                await self._finish(JobState.CANCELLED, ctx)
        elif self.state.running:
            await self._carry_out(self._scheduler.node_stopped(message.task, message.attempt, ctx.clock.now()), ctx)

    @handler()
    async def checks_passed(self, message: ChecksPassed, ctx: Context) -> None:
        """The session's branch is good."""
        if not self._checks_run:
            return
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
        if not self.state.running:
            return
        self.state.cancelling = True
        await ctx.publish("job.cancelling", reason=message.reason)
        if self.state.planning is not None:
            change = self.state.planning.change
            await self._stop_planning(ctx)
            if change is None or self._scheduler.finished:
                await self._finish(JobState.CANCELLED, ctx)
                return
        if self.state.checks_attempted:
            await ctx.tell(
                ctx.address.beside("pipeline", CHECKS), StopPipeline(self.state.checks_round, message.reason)
            )
            return
        decisions = self._scheduler.cancel(message.reason, ctx.clock.now(), stop_running=message.stop_running)
        await self._carry_out(decisions, ctx)

    @handler()
    async def pause(self, message: PauseJob, ctx: Context) -> None:
        """Start nothing new."""
        if self.state.running:
            await self._carry_out(self._scheduler.pause(ctx.clock.now()), ctx)

    @handler()
    async def resume(self, message: ContinueJob, ctx: Context) -> None:
        """Go on."""
        if self.state.running:
            self._ask_for_longer(ctx.clock.now())
            await self._carry_out(self._scheduler.resume(ctx.clock.now()), ctx)
            with begin_trace(self._ledger.record.trace):
                self._ask_again()

    @handler()
    async def tick(self, message: Tick, ctx: Context) -> None:
        """Deadlines and back-offs."""
        if self.state.running and not self._scheduler.mode.paused:
            await self._nobody_answered(ctx)
        if self.state.running and (self.state.planning is None or self.state.planning.change is not None):
            await self._carry_out(self._scheduler.tick(ctx.clock.now()), ctx)

    async def on_failure(self, message: Message, error: Exception, ctx: Context) -> None:
        """A job whose orchestrator cannot go on has failed, and says so; not so when a person was refused something."""
        if self.state.running and not isinstance(message, _SAID):
            await self._finish(JobState.FAILED, ctx, ErrorRecord.of(error))

    # -- carrying out -----------------------------------------------------------------------------------------

    async def _carry_out(self, decisions: Iterable[Decision], ctx: Context) -> None:
        """All of it is of the trace that the job came of, whoever has set it off: a person who resumes it, a timer."""
        with begin_trace(self._ledger.record.trace):
            await self._carry_on(decisions, ctx)

    async def _carry_on(self, decisions: Iterable[Decision], ctx: Context) -> None:
        await self._note_transitions(ctx)
        for decision in decisions:
            if isinstance(decision, Start):
                self._ask_in(decision.node.name, decision.attempt)
            else:
                await self._stop(decision, ctx)
        self._give_back_ended()
        await self._withdraw_questions(ctx)
        self._set_alarm()
        if self._scheduler.finished and self.state.planning is None:
            await self._graph_ended(ctx)
        self._note_state()

    # -- being let in -----------------------------------------------------------------------------------------

    def _ask_in(self, task: str, attempt: int, *, at_work: bool = False) -> None:
        if self._scheduler.mode.paused and not at_work:
            return  # it is asked for when the job goes on
        lane = Lane.HIGH if task == CHECKS else self._job.tasks[task].lane
        self._admission.ask(task, attempt, lane, at_work=at_work)

    def _ask_again(self) -> None:
        """After a crash, or a pause: what was let in is at work, what was not asks again."""
        for decision in self._scheduler.in_flight():
            key = (decision.node.name, decision.attempt)
            if key not in self._admission.asked:
                self._ask_in(*key, at_work=key in self.state.admitted or isinstance(decision, Stop))
        checks = (CHECKS, self.state.checks_round)
        if self.state.checks_attempted and checks not in self._admission.asked:
            self._ask_in(*checks, at_work=checks in self.state.admitted)

    def _ask_in_again(self, name: str, task: Task) -> None:
        for asked in [each for each in self._admission.asked if each[0] == name and each not in self.state.admitted]:
            self._admission.keep(self._admission.asked - {asked})
            self._admission.ask(*asked, task.lane, at_work=False)

    def _give_back_ended(self) -> None:
        """Let go of what is for attempts that have ended."""
        in_flight = self._scheduler.in_flight()
        at_work = {(decision.node.name, decision.attempt) for decision in in_flight}
        if self.state.checks_attempted and self.state.running:
            at_work.add((CHECKS, self.state.checks_round))
        if self._scheduler.mode.paused:
            # A paused job waits for nothing: what was not let in is asked for again when it goes on.
            stopping = {(each.node.name, each.attempt) for each in in_flight if isinstance(each, Stop)}
            at_work &= self.state.admitted | stopping
        self._admission.keep(at_work)
        self.state.admitted &= at_work

    @handler()
    async def admitted(self, message: Admitted, ctx: Context) -> None:
        """An attempt may begin."""
        task, key = message.task, (message.task, message.attempt)
        if not self.state.running or key not in self._admission.asked or key in self.state.admitted:
            return
        if task != CHECKS and self._scheduler.is_stopping(*key):
            return
        if message.refused:
            error = ErrorRecord("not_admitted", message.refused, "see `sylk top`, and `sylk session set`")
            await self.failed(PipelineFailed(task, message.attempt, error, Loops(), retryable=False), ctx)
            return
        self.state.admitted.add(key)
        handoff = self._inherited(*key)
        if task == CHECKS:
            waived = self.state.waived.get(CHECKS, ())
            brief = brief_of_checks(self._job, self._ledger.record, message.attempt, waived)
        else:
            self._scheduler.node_began(task, message.attempt, ctx.clock.now())
            start = next(each for each in self._scheduler.in_flight() if each.node.name == task)
            assert isinstance(start, Start)
            brief = brief_of_task(
                self._job,
                self._ledger.record,
                start,
                self.state.waived.get(task, ()),
                self.state.prompted.get(task, ()),
                handoff.engineer.prompt if handoff is not None else None,
            )
            self._set_alarm()
        self._note_state()
        hooks = runtime_hooks(ctx.settings.hooks)
        delegation = AgentDelegate(session=ctx.address.session, agent=ctx.address, to="pipeline", task=task)
        try:
            await hooks.run(delegation)
        except SylkError as refused:
            failed = PipelineFailed(task, message.attempt, ErrorRecord.of(refused), Loops(), retryable=False)
            await self.failed(failed, ctx)
            return
        started = StartPipeline(brief, handoff, may_hand_off=task not in self.state.may_not_hand_off)
        await ctx.tell(ctx.address.beside("pipeline", task), started)

    async def _stop(self, stop: Stop, ctx: Context) -> None:
        """Also one that was not let in yet: its pipeline says at once that nothing is left of it."""
        await ctx.tell(ctx.address.beside("pipeline", stop.node.name), StopPipeline(stop.attempt, stop.reason))

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
        self._reports.soon()

    def _set_alarm(self) -> None:
        # A paused job does not say for a person that they have taken too long.
        asked = None if not self.state.running or self._scheduler.mode.paused else self._asked_until()
        due = [self._scheduler.next_wakeup(), asked] if self.state.running else []
        self._reminders.set_alarm(min((at for at in due if at is not None), default=None), Tick())

    # -- the end ----------------------------------------------------------------------------------------------

    async def _graph_ended(self, ctx: Context) -> None:
        outcome = self._scheduler.outcome
        finale = self._job.finally_
        if outcome is Outcome.SUCCEEDED and finale is not None and not self.state.checks_attempted:
            self.state.checks_attempted = True
            self.state.checks_round += 1
            begun = {"attempts": self.state.checks_round, "started_at": ctx.clock.now(), "error": None}
            await self._checks_changed(ctx, state="running", phase="", **begun)
            self._ask_in(CHECKS, self.state.checks_round)
        elif not self.state.checks_attempted:
            state = {Outcome.SUCCEEDED: JobState.SUCCEEDED, Outcome.CANCELLED: JobState.CANCELLED}.get(
                outcome or Outcome.FAILED, JobState.FAILED
            )
            error = self._ledger.failure() if state is JobState.FAILED else None
            if error is None or not self._any_failed() or not await self._mend(error, ctx):
                await self._finish(state, ctx, error)

    def _any_failed(self) -> bool:
        """What a person has interrupted is not for the Architect to bring back."""
        return any(task.state == NodeState.FAILED for task in self._ledger.record.tasks.values())

    async def _checks_changed(self, ctx: Context, **changes: Any) -> None:
        checks = self._ledger.checks(CHECKS, ctx.clock.now(), **changes)
        self._note_state()
        error = msgspec.to_builtins(checks.error) if checks.error else None
        await ctx.publish("checks.state", task=CHECKS, state=checks.state, phase=checks.phase, error=error)
        self._reports.soon()

    async def _finish(self, state: JobState, ctx: Context, error: ErrorRecord | None = None) -> None:
        """The end is told whatever fails on the way to it: people and programs wait for it."""
        if not self.state.running:
            return
        self.state.running = False
        self._ledger.change(asking=[], waiting="")
        self._set_alarm()
        self._give_back_ended()
        duration = round(ctx.clock.now() - self.state.began_at, 3)
        self._ledger.change(status=state, error=error, duration_s=duration)
        for what, step in (
            ("its branch could not be looked at", self._note_head),
            ("its worktrees could not all be removed", self._workspace.close),
            ("its end is not on disk", self._write_record),
        ):
            try:
                await step()
            except Exception as problem:
                ctx.log.warning("job %s has ended, but %s: %s", self._ledger.record.job_id, what, problem)
        record = self._ledger.record
        await ctx.publish("job.finished", status=record.status.value, record=msgspec.to_builtins(record))
        self._note_state()
        await ctx.tell(ctx.address, TellEnd())

    async def _note_head(self) -> None:
        self._ledger.change(commit=await self._workspace.head())

    async def _write_record(self) -> None:
        record = self._ledger.record
        path = self._directory.record_of(record.job_id)
        await asyncio.to_thread(write_atomically, path, msgspec.json.encode(record))

    @handler()
    async def tell_end(self, message: TellEnd, ctx: Context) -> None:
        """Tell the Guide that the job is over: in the background, for the Guide may be asking something itself."""
        self._tell_end()

    @handler()
    async def end_told(self, message: EndTold, ctx: Context) -> None:
        """The Guide has heard."""
        if self.state.record is not None and self.state.record.job_id == message.job_id:
            self.state.end_told = True

    def _tell_end(self) -> None:
        record = self.state.record
        if record is not None and not self.state.running and not self.state.end_told:
            tasks = {name: task.record for name, task in self.state.tasks.items()}
            self._reports.end(msgspec.structs.replace(record, tasks=tasks))

    @property
    def _checks_run(self) -> bool:
        """Whether this job's own session-wide checks are at work."""
        return self.state.running and self.state.checks_attempted

    def _is_current(self, task: str, attempt: int) -> bool:
        if not self.state.running or task not in self._ledger.record.tasks:
            return False
        running = self._scheduler.state_of(task) is NodeState.RUNNING
        return running and self._ledger.record.tasks[task].attempts == attempt
