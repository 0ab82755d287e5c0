"""One task's pipeline: it starts the three, watches their phases, and brings their work to the merge queue."""

from __future__ import annotations

import asyncio

from sylk_ray.errors import SylkError
from sylk_ray.messaging import Address, Message
from sylk_ray.pipelines import Brief, Feedback, Lifecycle, Phase, PipelineBus, Work
from sylk_ray.pipelines.lifecycle import may_send_back, sent_back
from sylk_ray.pipelines.messages import (
    CHECKS,
    ChecksPassed,
    EngineerDone,
    Implement,
    Inspect,
    InspectorDone,
    MergeWork,
    PipelineFailed,
    PipelinePhase,
    PipelineResult,
    PipelineStopped,
    StartPipeline,
    StopPipeline,
    TesterDone,
    WorkerFailed,
)
from sylk_ray.pipelines.worker import kill_left_over, workspace_of
from sylk_ray.runtime import Agent, Context, handler
from sylk_ray.runtime.directory import GroupDone, router_of
from sylk_ray.sessions.records import ErrorRecord, Loops

MERGE_TIMEOUT_S = 600.0


class PipelineAgent(Agent[None]):
    """Holds the lifecycle of one attempt at a time; messages of an attempt that is over are ignored."""

    role = "pipeline"

    def __init__(self) -> None:
        self._brief: Brief | None = None
        self._life = Lifecycle()
        self._stopping = 0
        self._idle = asyncio.Lock()
        self._opening: asyncio.Task[str] | None = None

    @handler()
    async def start(self, message: StartPipeline, ctx: Context) -> None:
        """Make a worktree and set the Engineer to work; the session's checks begin with the Inspector."""
        brief = self._brief = message.brief
        self._life = Lifecycle()
        base = await self._open(brief, ctx)
        if base is None:
            return
        await self._move(Phase.RUNNING, ctx)
        bus = PipelineBus(ctx)
        if brief.task == CHECKS:
            work = Work(brief.base, base, await workspace_of(brief, ctx).changes(brief.task, brief.base, base))
            await self._move(Phase.INSPECTING, ctx)
            await bus.to_inspector(Inspect(brief, work, Loops()))
        else:
            await bus.to_engineer(Implement(brief, base, Loops()))

    @handler()
    async def engineered(self, message: EngineerDone, ctx: Context) -> None:
        """The work is with the Inspector."""
        if self._current(message.attempt):
            self._life.loops = message.loops
            await self._move(Phase.INSPECTING, ctx)

    @handler()
    async def inspected(self, message: InspectorDone, ctx: Context) -> None:
        """Passed on, sent back, or failed."""
        if self._current(message.attempt):
            self._life.loops = message.loops
            if message.feedback is None:
                await self._move(Phase.TESTING, ctx)
            else:
                await self._judged(message.feedback, message.final, ctx)

    @handler()
    async def tested(self, message: TesterDone, ctx: Context) -> None:
        """Passed, and so to be merged; sent back, or failed."""
        if not self._current(message.attempt):
            return
        self._life.loops = message.loops
        if message.feedback is not None:
            await self._judged(message.feedback, message.final, ctx)
        elif message_is_checks(self._brief):
            await self._complete(ctx)
            await ctx.tell(_orchestrator(ctx), ChecksPassed(message.loops))
        else:
            await self._merge(message.work, ctx)
        if self._life.phase is Phase.COMPLETED:
            # The last word: under the density `dedicated` it ends this process.
            await ctx.tell(router_of(ctx.address.session), GroupDone(ctx.address.name))

    @handler()
    async def worker_failed(self, message: WorkerFailed, ctx: Context) -> None:
        """One of the three cannot do its part."""
        if self._current(message.attempt):
            self._life.loops = message.loops
            await self._fail(message.error, ctx, retryable=message.retryable)

    @handler(concurrent=True)
    async def stop(self, message: StopPipeline, ctx: Context) -> None:
        """End the attempt, whatever it is at, and say so when nothing is left of it."""
        self._stopping = max(self._stopping, message.attempt)
        brief = self._brief
        if self._opening is not None:
            self._opening.cancel()
        try:
            if brief is not None and brief.attempt <= message.attempt:
                async with self._idle:
                    await PipelineBus(ctx).stop(message.attempt)
                    await self._clean(ctx)
        finally:
            # Whatever went wrong: the orchestrator waits for this, and the session's end clears up the rest.
            await ctx.tell(_orchestrator(ctx), PipelineStopped(ctx.address.name, message.attempt))

    async def on_failure(self, message: Message, error: Exception, ctx: Context) -> None:
        """An error nobody foresaw fails the attempt: the orchestrator always hears."""
        if self._brief is not None and not self._life.over and not isinstance(message, StopPipeline):
            retryable = not isinstance(error, SylkError) or error.exit_code != 2
            await self._fail(ErrorRecord.of(error), ctx, retryable=retryable)

    def _current(self, attempt: int) -> bool:
        return (
            self._brief is not None
            and attempt == self._brief.attempt
            and attempt > self._stopping
            and not self._life.over
        )

    async def _merge(self, work: Work, ctx: Context) -> None:
        brief = self._brief
        assert brief is not None
        result = result_of(work)
        request = MergeWork(brief.task, brief.attempt, work.commit, self._life.loops, result)
        outcome = await ctx.ask(_orchestrator(ctx), request, timeout=MERGE_TIMEOUT_S)
        if not outcome.conflicts:
            await self._complete(ctx)
            return
        if not self._current(brief.attempt):
            return
        files = ", ".join(outcome.conflicts)
        loops = self._life.loops
        told = f"other tasks have changed the same lines of {files}"
        if not may_send_back(loops, "merge", brief.max_loops):
            error = ErrorRecord("merge_conflict", told, "let one task depend on the other")
            await self._fail(error, ctx, retryable=False)
            return
        self._life.loops = loops = sent_back(loops, "merge")
        await self._say("merge.conflict", Feedback("merge", loops.merge, told, files=outcome.conflicts), ctx)
        await self._move(Phase.RUNNING, ctx)
        base = await self._open(brief, ctx)
        if base is not None:
            await PipelineBus(ctx).to_engineer(Implement(brief, base, loops, outcome.conflicts))

    async def _open(self, brief: Brief, ctx: Context) -> str | None:
        """A fresh worktree, and the commit that it starts from; None when the attempt is stopped."""
        async with self._idle:
            if brief.attempt <= self._stopping:
                return None
            self._opening = asyncio.create_task(workspace_of(brief, ctx).open_worktree(brief.task))
            try:
                return await self._opening
            except asyncio.CancelledError:
                if brief.attempt <= self._stopping:
                    return None
                raise
            finally:
                self._opening = None

    async def _judged(self, feedback: Feedback, final: bool, ctx: Context) -> None:
        if final:
            assert self._brief is not None
            await self._fail(refusal(self._brief, feedback), ctx)
        else:
            await self._say("pipeline.feedback", feedback, ctx)
            await self._move(Phase.RUNNING, ctx)

    async def _say(self, kind: str, feedback: Feedback, ctx: Context) -> None:
        await ctx.publish(kind, task=ctx.address.name, by=feedback.by, loop=feedback.loop, text=feedback.text)

    async def _move(self, phase: Phase, ctx: Context) -> None:
        self._life.move(phase)
        assert self._brief is not None
        attempt, loops = self._brief.attempt, self._life.loops
        await ctx.tell(_orchestrator(ctx), PipelinePhase(ctx.address.name, attempt, phase.value, loops))

    async def _complete(self, ctx: Context) -> None:
        await self._move(Phase.COMPLETED, ctx)
        await self._clean(ctx)

    async def _fail(self, error: ErrorRecord, ctx: Context, *, retryable: bool = True) -> None:
        brief = self._brief
        assert brief is not None
        try:
            await self._move(Phase.FAILED, ctx)
            async with self._idle:
                await self._clean(ctx)
        finally:
            failed = PipelineFailed(brief.task, brief.attempt, error, self._life.loops, retryable)
            await ctx.tell(_orchestrator(ctx), failed)

    async def _clean(self, ctx: Context) -> None:
        brief = self._brief
        assert brief is not None
        try:
            await kill_left_over(brief)
            await workspace_of(brief, ctx).close_worktree(brief.task)
        except Exception as error:
            # The session's end removes what is left; the attempt's own outcome matters more.
            ctx.log.warning("the worktree of %s could not be removed: %s", brief.task, error)


def message_is_checks(brief: Brief | None) -> bool:
    """Whether this is the pipeline of the session-wide checks."""
    return brief is not None and brief.task == CHECKS


def refusal(brief: Brief, feedback: Feedback) -> ErrorRecord:
    """Why the work failed that may not be sent back once more."""
    code = "inspection_failed" if feedback.by == "inspector" else "tests_failed"
    loops = feedback.loop - 1
    after = f"after {loops} loop{'s' if loops > 1 else ''}: " if loops else ""
    unanswered = not brief.assignment.on_feedback and brief.task != CHECKS
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
