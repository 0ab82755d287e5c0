"""One task's pipeline: it starts the three, watches their phases, and brings their work to the merge queue."""

from __future__ import annotations

import asyncio

import msgspec

from actors.proving import is_test
from sylk_ray.errors import SylkError
from sylk_ray.messaging import Address, Message
from sylk_ray.pipelines import Brief, Feedback, Lifecycle, Phase, PipelineBus, Work
from sylk_ray.pipelines.asking import Said, TellEngineer, WhatWasSaid
from sylk_ray.pipelines.brief import CHECKS, MOST_ISSUES
from sylk_ray.pipelines.handoff import Found, SteerHandoff, TesterHandoff, WhatWasFound
from sylk_ray.pipelines.lifecycle import may_send_back, sent_back
from sylk_ray.pipelines.messages import (
    ChecksPassed,
    DescribeTask,
    EngineerDone,
    FinishStopping,
    Implement,
    Inspect,
    InspectorDone,
    Merged,
    MergeWork,
    Overrule,
    PipelineFailed,
    PipelinePhase,
    PipelineResult,
    PipelineStopped,
    StartPipeline,
    StopPipeline,
    TaskStatus,
    Test,
    TesterDone,
    Waive,
    WaiveCheck,
    WhatIsOverridden,
    WhatIsWaived,
    WorkerFailed,
)
from sylk_ray.pipelines.worker import kill_left_over, workspace_of
from sylk_ray.runtime import Agent, Context, Retry, handler
from sylk_ray.runtime.directory import GroupDone, router_of
from sylk_ray.sessions.records import ErrorRecord, Loops, Override
from sylk_ray.tools import Issue


class PipelineState(msgspec.Struct):
    """One attempt at a time: what is to be done, and how far it is."""

    brief: Brief | None = None
    life: Lifecycle = msgspec.field(default_factory=Lifecycle)
    stopped: int = 0
    """The last attempt that was stopped: neither it nor one before it may begin any more."""
    said: list[str] = []
    """What a person has told the Engineer of this attempt."""
    found: Found = Found()
    """What Inspector and Tester have told."""
    wishes: int = 0
    """How often a person has wished in this attempt that another pipeline goes on."""
    tried: int = 0
    """Of these, those that something was done about."""
    may_hand_off: bool = True


class PipelineAgent(Agent[PipelineState]):
    """Holds the lifecycle of one attempt at a time; messages of an attempt that is over are ignored."""

    role = "pipeline"

    def __init__(self) -> None:
        self._stopping = 0
        self._opening: asyncio.Task[str] | None = None

    async def on_activate(self, ctx: Context) -> None:
        """Know what was stopped."""
        self._stopping = self.state.stopped

    @handler()
    async def start(self, message: StartPipeline, ctx: Context) -> None:
        """Make a worktree and set the Engineer to work; the session's checks begin with the Inspector."""
        brief, handoff = message.brief, message.handoff
        self.state = PipelineState(brief, stopped=self.state.stopped, may_hand_off=message.may_hand_off)
        if handoff is not None:
            self.state.life.loops, self.state.found = handoff.loops, handoff.found
        base = await self._open(brief, ctx, handoff.work.commit or handoff.work.base if handoff is not None else "")
        if base is None:
            return
        await self._move(Phase.RUNNING, ctx)
        bus = PipelineBus(ctx)
        if brief.task == CHECKS:
            work = Work(brief.base, base, await workspace_of(brief, ctx).changes(brief.task, brief.base, base))
            await self._move(Phase.INSPECTING, ctx)
            await bus.to_inspector(Inspect(brief, work, Loops()))
        elif handoff is not None:
            taken = Implement(brief, handoff.work.base, handoff.loops, handoff.protected, handoff)
            await bus.to_engineer(taken)
        else:
            await bus.to_engineer(Implement(brief, base, Loops()))

    @handler()
    async def engineered(self, message: EngineerDone, ctx: Context) -> None:
        """The work is with the Inspector."""
        if self._current(message.attempt):
            self.state.life.loops = message.loops
            await self._move(Phase.INSPECTING, ctx)

    @handler()
    async def inspected(self, message: InspectorDone, ctx: Context) -> None:
        """Passed on, sent back, or failed."""
        if self._current(message.attempt):
            self.state.life.loops = message.loops
            if "inspector" not in self._brief.waived:
                self._note_issues(message.feedback.issues if message.feedback is not None else [])
            if message.feedback is None:
                await self._move(Phase.TESTING, ctx)
            elif message.final and message.work is not None and self._does_without(message.feedback):
                # The verdict was on its way when a person said so: nobody has told the Tester yet.
                await self._move(Phase.TESTING, ctx)
                await PipelineBus(ctx).to_tester(Test(self._brief, message.work, message.loops))
            else:
                await self._judged(message.feedback, message.final, ctx)

    @handler()
    async def tested(self, message: TesterDone, ctx: Context) -> None:
        """Passed, and so to be merged; sent back, or failed."""
        if not self._current(message.attempt):
            return
        brief, life = self._brief, self.state.life
        life.loops = message.loops
        self._note_tests(message)
        if message.feedback is not None and not (message.final and "tester" in brief.waived):
            await self._judged(message.feedback, message.final, ctx)
        elif brief.task == CHECKS:
            await self._complete(ctx, ChecksPassed(message.loops))
        else:
            work = message.work
            merge = MergeWork(brief.task, brief.attempt, work.commit, life.loops, result_of(work))
            await ctx.tell(_orchestrator(ctx), merge)

    @handler()
    async def merged(self, message: Merged, ctx: Context) -> None:
        """The work is on the session's branch; or it is in conflict with others' work, and is done again on top."""
        if not self._current(message.attempt):
            return
        if not message.conflicts:
            await self._complete(ctx)
            return
        brief, life = self._brief, self.state.life
        told = f"other tasks have changed the same lines of {', '.join(message.conflicts)}"
        if not may_send_back(life.loops, "merge", brief.max_loops):
            error = ErrorRecord("merge_conflict", told, "let one task depend on the other")
            await self._fail(error, ctx, retryable=False)
            return
        life.loops = sent_back(life.loops, "merge")
        await self._say("merge.conflict", Feedback("merge", life.loops.merge, told, files=message.conflicts), ctx)
        await self._move(Phase.RUNNING, ctx)
        base = await self._open(brief, ctx)
        if base is not None:
            await PipelineBus(ctx).to_engineer(Implement(brief, base, life.loops, message.conflicts))

    @handler()
    async def worker_failed(self, message: WorkerFailed, ctx: Context) -> None:
        """One of the three cannot do its part."""
        if self._current(message.attempt):
            self.state.life.loops = message.loops
            await self._fail(message.error, ctx, retryable=message.retryable)

    @handler()
    async def waive(self, message: Waive, ctx: Context) -> None:
        """Go on without one of the checks, from the next one on that would be made, or from the one that runs."""
        brief = self.state.brief
        if brief is None or not self._current(message.attempt) or message.check in brief.waived:
            return
        self.state.brief = msgspec.structs.replace(brief, waived=(*brief.waived, message.check))
        await ctx.tell_direct(ctx.address.beside(message.check), WaiveCheck(message.attempt))

    @handler()
    async def overrule(self, message: Overrule, ctx: Context) -> None:
        """Let the work pass with an issue, from the Inspector's next verdict on."""
        brief = self.state.brief
        if brief is not None and self._current(message.attempt):
            self.state.brief = msgspec.structs.replace(brief, overridden=(*brief.overridden, message.override))
            # For whoever goes on with the work it is neither open nor put right.
            found, inspector = self.state.found, self.state.found.inspector
            inspector = msgspec.structs.replace(inspector, pending=self._standing(inspector.pending))
            self.state.found = msgspec.structs.replace(found, inspector=inspector)

    @handler()
    async def tell_engineer(self, message: TellEngineer, ctx: Context) -> None:
        """Keep it until the Engineer asks."""
        if self._current(message.attempt):
            self.state.said = [*self.state.said, message.text]

    @handler()
    async def steer_handoff(self, message: SteerHandoff, ctx: Context) -> None:
        """Keep it until the Engineer asks."""
        state = self.state
        if not self._current(message.attempt):
            return
        match message.wish:
            case "now":
                state.wishes, state.may_hand_off = state.wishes + 1, True
            case "never":
                state.tried, state.may_hand_off = state.wishes, False
            case "tried":
                state.tried = max(state.tried, message.wishes)

    @handler(concurrent=True)
    async def what_was_said(self, message: WhatWasSaid, ctx: Context) -> Said:
        """For the Engineer, before it goes on."""
        brief, state = self.state.brief, self.state
        if brief is None or brief.attempt != message.attempt:
            return Said()
        return Said(state.said[message.after :], state.wishes if state.wishes > state.tried else 0)

    @handler(concurrent=True)
    async def what_was_found(self, message: WhatWasFound, ctx: Context) -> Found | None:
        """For the Engineer, which is to hand the work over."""
        return self.state.found if self.state.may_hand_off and self._current(message.attempt) else None

    @handler(concurrent=True)
    async def what_is_waived(self, message: WhatIsWaived, ctx: Context) -> int:
        """For one of the checks that has come to life anew, and knows nothing."""
        brief = self.state.brief
        return brief.attempt if brief is not None and ctx.sender.role in brief.waived else 0

    @handler(concurrent=True)
    async def what_is_overridden(self, message: WhatIsOverridden, ctx: Context) -> list[Override]:
        """For the Inspector, before it judges."""
        return list(self.state.brief.overridden) if self.state.brief is not None else []

    @handler(concurrent=True)
    async def describe(self, message: DescribeTask, ctx: Context) -> TaskStatus | None:
        """How the attempt is going, and which files its worktree has changed so far."""
        brief, life = self.state.brief, self.state.life
        if brief is None:
            return None
        changed = [] if life.over else await workspace_of(brief, ctx).changed_files(brief.task)
        return TaskStatus(brief.attempt, life.phase.value, life.loops, brief.waived, changed)

    @handler(concurrent=True)
    async def stop(self, message: StopPipeline, ctx: Context) -> None:
        """End the attempt: whatever it is at is cut short, and in its turn, after what came before, it is undone."""
        self._stopping = max(self._stopping, message.attempt)
        if self._opening is not None:
            self._opening.cancel()
        await ctx.tell(ctx.address, FinishStopping(message.attempt))

    @handler()
    async def finish_stopping(self, message: FinishStopping, ctx: Context) -> None:
        """Clear the attempt away, and say so when nothing is left of it; it may never have begun."""
        self.state.stopped = self._stopping = max(self._stopping, message.attempt)
        brief = self.state.brief
        try:
            if brief is not None and brief.attempt <= message.attempt:
                await PipelineBus(ctx).stop(message.attempt)
                await self._clean(ctx)
        except SylkError as error:
            # The orchestrator waits for this all the same, and the session's end clears up the rest.
            ctx.log.warning("it was not stopped in order: %s", error)
        await ctx.tell(_orchestrator(ctx), PipelineStopped(ctx.address.name, message.attempt))

    async def on_failure(self, message: Message, error: Exception, ctx: Context) -> None:
        """An error nobody foresaw fails the attempt: the orchestrator always hears."""
        if isinstance(message, DescribeTask | WhatIsWaived | WhatIsOverridden | WhatWasSaid | WhatWasFound):
            return  # whoever asked has the error
        if isinstance(message, StartPipeline):
            self.state.brief, self.state.life = message.brief, Lifecycle()
        if isinstance(message, StopPipeline | FinishStopping):
            await ctx.tell(_orchestrator(ctx), PipelineStopped(ctx.address.name, message.attempt))
        elif self.state.brief is not None and not self.state.life.over:
            retryable = not isinstance(error, SylkError) or error.exit_code != 2
            await self._fail(ErrorRecord.of(error), ctx, retryable=retryable)

    @property
    def _brief(self) -> Brief:
        assert self.state.brief is not None
        return self.state.brief

    def _current(self, attempt: int) -> bool:
        brief = self.state.brief
        return brief is not None and attempt == brief.attempt and attempt > self._stopping and not self.state.life.over

    def _does_without(self, verdict: Feedback) -> bool:
        """Whether a person lets the work pass without the Inspector, or with all that it has found."""
        all_are_named = 0 < len(verdict.issues) < MOST_ISSUES
        return "inspector" in self._brief.waived or (all_are_named and not self._standing(verdict.issues))

    def _standing(self, issues: list[Issue]) -> list[Issue]:
        """Those that no person accepts."""
        accepted = {each.issue for each in self._brief.overridden}
        return [issue for issue in issues if issue.id not in accepted]

    def _note_issues(self, issues: list[Issue]) -> None:
        found, issues = self.state.found, self._standing(issues)
        self.state.found = msgspec.structs.replace(found, inspector=found.inspector.after(issues))

    def _note_tests(self, message: TesterDone) -> None:
        failures = message.feedback.failures if message.feedback is not None else []
        tests = [change.path for change in message.work.changes if is_test(change.path)]
        tester = TesterHandoff(tests, message.tests_run, failures)
        self.state.found = msgspec.structs.replace(self.state.found, tester=tester)

    async def _open(self, brief: Brief, ctx: Context, commit: str = "") -> str | None:
        """A fresh worktree, and the commit that it starts from, the session's head if none is given; None when the
        attempt is stopped."""
        if brief.attempt <= self._stopping:
            return None
        opening = ctx.step(
            "open worktree", workspace_of(brief, ctx).open_worktree, brief.task, commit, retry=Retry(), result=str
        )
        self._opening = asyncio.create_task(opening)
        try:
            return await self._opening
        except asyncio.CancelledError:
            if brief.attempt <= self._stopping:
                return None
            self._opening.cancel()
            raise
        finally:
            self._opening = None

    async def _judged(self, feedback: Feedback, final: bool, ctx: Context) -> None:
        if final:
            await self._fail(refusal(self._brief, feedback), ctx)
        else:
            await self._say("pipeline.feedback", feedback, ctx)
            await self._move(Phase.RUNNING, ctx)

    async def _say(self, kind: str, feedback: Feedback, ctx: Context) -> None:
        await ctx.publish(kind, task=ctx.address.name, by=feedback.by, loop=feedback.loop, text=feedback.text)

    async def _move(self, phase: Phase, ctx: Context) -> None:
        life = self.state.life
        life.move(phase)
        attempt = self._brief.attempt
        await ctx.tell(_orchestrator(ctx), PipelinePhase(ctx.address.name, attempt, phase.value, life.loops))

    async def _complete(self, ctx: Context, passed: ChecksPassed | None = None) -> None:
        await self._move(Phase.COMPLETED, ctx)
        await self._clean(ctx)
        if passed is not None:
            await ctx.tell(_orchestrator(ctx), passed)
        # The last word: under the density `dedicated` it ends this process.
        await ctx.tell(router_of(ctx.address.session), GroupDone(ctx.address.name))

    async def _fail(self, error: ErrorRecord, ctx: Context, *, retryable: bool = True) -> None:
        brief = self._brief
        await self._move(Phase.FAILED, ctx)
        await self._clean(ctx)
        failed = PipelineFailed(brief.task, brief.attempt, error, self.state.life.loops, retryable)
        await ctx.tell(_orchestrator(ctx), failed)

    async def _clean(self, ctx: Context) -> None:
        brief = self._brief
        try:
            await kill_left_over(brief)
            await workspace_of(brief, ctx).close_worktree(brief.task)
        except Exception as error:
            # The session's end removes what is left; the attempt's own outcome matters more.
            ctx.log.warning("the worktree of %s could not be removed: %s", brief.task, error)


def refusal(brief: Brief, feedback: Feedback) -> ErrorRecord:
    """Why the work failed that may not be sent back once more."""
    code = "inspection_failed" if feedback.by == "inspector" else "tests_failed"
    loops = feedback.loop - 1
    after = f"after {loops} loop{'s' if loops > 1 else ''}: " if loops else ""
    unanswered = not brief.feedback_loops and not brief.assignment.on_feedback and brief.task != CHECKS
    hint = "give the task `on_feedback:` actions that answer such feedback, or fix the cause" if unanswered else ""
    return ErrorRecord(code, f"{after}{feedback.text}", hint)


def result_of(work: Work) -> PipelineResult:
    """What a task's children and people see of its work."""
    return PipelineResult(
        [change.path for change in work.changes],
        sum(change.added for change in work.changes),
        sum(change.removed for change in work.changes),
        work.output,
    )


def _orchestrator(ctx: Context) -> Address:
    return ctx.address.beside("orchestrator", "main")
