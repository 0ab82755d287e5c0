"""The base of Engineer, Inspector and Tester: work that can be stopped in the middle."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from sylk_ray.errors import SylkError
from sylk_ray.fairness import Request as Lease
from sylk_ray.hooks import Aborted, ToolAfter, ToolBefore, runtime_hooks
from sylk_ray.messaging import DeliveryError, Message
from sylk_ray.pipelines.brief import Brief
from sylk_ray.pipelines.bus import PipelineBus
from sylk_ray.pipelines.messages import FinishWork, SlotWait, StopWork, WaiveCheck, WhatIsWaived, WorkerFailed
from sylk_ray.runtime import Context, handler
from sylk_ray.sessions.records import ErrorRecord, Loops
from sylk_ray.sessions.workspace import Workspace
from sylk_ray.speech import Conversant
from sylk_ray.speech.receivers import MAIN
from sylk_ray.tools import ToolContext, kill_tool_processes
from sylk_ray.tools.held import held, is_held, put_back
from sylk_ray.tools.process import even_if_cancelled

ResultT = TypeVar("ResultT")
StateT = TypeVar("StateT", bound="msgspec.Struct | None")

NOTICED_WAIT_S = 0.5
"""A shorter wait for a CPU slot is not worth telling of."""


class Stopped(Exception):
    """The work was stopped from outside; there is nothing to report."""


class Waived(Exception):
    """A person lets the work pass without this check."""


class Working(Conversant[StateT]):
    """Runs its work as a task of its own, so that it can be cancelled while the handler waits for it."""

    durable = True

    def __init__(self) -> None:
        self._task: asyncio.Task[Any] | None = None
        self._stopped_attempt = 0

    async def stop_attempt(self, attempt: int) -> None:
        """Cancel what runs and return when it has ended; later mail of the attempt is ignored."""
        self._stopped_attempt = max(self._stopped_attempt, attempt)
        task = self._task
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    async def work(self, brief: Brief, doing: Coroutine[Any, Any, ResultT]) -> ResultT:
        """Do it, unless the attempt was stopped, or this check of it waived; raises Stopped or Waived when it was,
        before or meanwhile."""
        if reason := self._called_off(brief):
            doing.close()
            raise reason
        task = self._task = asyncio.create_task(doing, name=f"work of {brief.session}/{self.role}/{brief.task}")
        try:
            return await task
        except asyncio.CancelledError:
            if reason := self._called_off(brief):
                raise reason from None
            task.cancel()
            await asyncio.wait([task])
            raise
        except Exception as problem:
            # What failed as it was stopped must not be taken for unforeseen: it would be begun once more.
            if reason := self._called_off(brief):
                raise reason from problem
            raise
        finally:
            self._task = None

    def _called_off(self, brief: Brief) -> Exception | None:
        return Stopped() if brief.attempt <= self._stopped_attempt else None

    async def tool(
        self,
        name: str,
        brief: Brief,
        arguments: Mapping[str, Any],
        doing: Callable[[Mapping[str, Any]], Awaitable[ResultT]],
        ctx: Context,
        *,
        result: Any,
        looks: bool = False,
        writes: Callable[[Mapping[str, Any]], str] = lambda arguments: "",
    ) -> ResultT:
        """Run a tool as a step, with the worktree's tree before it, or the one file that it ``writes``, which its
        arguments tell: completed, it is never run again; cut off with its cell, what it left is killed, the worktree or
        the file put back, and the tool run anew. One that only ``looks`` needs neither that nor a CPU slot.

        The hooks of ``tool.before`` may change the ``arguments``, or refuse (Aborted); they and those of ``tool.after``
        are asked again when the handler runs again, also where the tool is not.
        """
        hooks = runtime_hooks(ctx.settings.hooks)
        wanted = ToolBefore(session=brief.session, agent=ctx.address, tool=name, arguments=arguments)
        given = (await hooks.run(wanted)).arguments
        after = ToolAfter(session=brief.session, agent=ctx.address, tool=name, arguments=given)
        try:
            if looks:
                done = await ctx.step(name, doing, given, result=result)
            else:
                done = await self._as_step(name, brief, lambda: doing(given), ctx, result, writes(given))
        except SylkError as error:
            await hooks.run(msgspec.structs.replace(after, error=str(error)))
            raise
        await hooks.run(msgspec.structs.replace(after, result=done))
        return done

    async def _as_step(
        self, name: str, brief: Brief, doing: Callable[[], Awaitable[ResultT]], ctx: Context, result: Any, file: str
    ) -> ResultT:
        workspace = workspace_of(brief, ctx)
        worktree = workspace.directory.worktree(brief.task)

        async def mark() -> str:
            noted = await asyncio.to_thread(held, worktree, file) if file else ""
            return noted or await workspace.save(brief.task)

        async def undo(before: str) -> None:
            await kill_left_over(brief)
            if is_held(before):
                await even_if_cancelled(asyncio.to_thread(put_back, worktree, before))
            else:
                await workspace.restore(brief.task, before)

        @contextlib.asynccontextmanager
        async def in_turn() -> AsyncGenerator[None]:
            """With a CPU slot of the session's share. The attempt's clock stands still while it waits for that."""
            key = f"{brief.session}/tool/{brief.task}#{brief.attempt}/{self.role}/{name}"
            demand = {"cpu": 1.0, "memory": float(brief.limits.memory_mb)}
            orchestrator = ctx.address.beside("orchestrator", "main")
            waits = SlotWait(brief.task, brief.attempt)
            timer = ctx.clock.call_later(NOTICED_WAIT_S, lambda: ctx.notify(orchestrator, waits))
            try:
                async with ctx.leases.held(Lease(key, brief.session, demand, brief.lane)):
                    timer.cancel()
                    # Whether this run has told of its wait or one before it, which died: it is over.
                    ctx.notify(orchestrator, msgspec.structs.replace(waits, over=True))
                    yield
            finally:
                timer.cancel()

        return await ctx.step(name, doing, mark=mark, undo=undo, within=in_turn, result=result)


class Worker(Working[None]):
    """One of a pipeline's three."""

    @handler(concurrent=True)
    async def stop_work(self, message: StopWork, ctx: Context) -> None:
        """Cancel what runs and return when it has ended; later mail of the attempt is ignored."""
        await self.stop_attempt(message.attempt)

    @handler()
    async def finish_work(self, message: FinishWork, ctx: Context) -> None:
        """All that came before has been handled: also work that was ordered and not begun, which after a crash would
        be begun, for that it was stopped is not in the journal."""

    async def guarded(self, brief: Brief, loops: Loops, doing: Awaitable[None], ctx: Context) -> None:
        """Await the whole of a handler; an error becomes WorkerFailed, so that the pipeline always hears."""
        try:
            await doing
        except Stopped:
            ctx.log.info("its work was stopped")
        except SylkError as error:
            retryable = error.exit_code != 2 and not isinstance(error, Aborted)
            failed = WorkerFailed(brief.attempt, loops, ErrorRecord.of(error), retryable=retryable)
            await PipelineBus(ctx).to_pipeline(failed)

    async def on_failure(self, message: Message, error: Exception, ctx: Context) -> None:
        """An error nobody foresaw still ends the attempt."""
        brief = getattr(message, "brief", None)
        if isinstance(brief, Brief):
            failed = WorkerFailed(brief.attempt, getattr(message, "loops", Loops()), ErrorRecord.of(error))
            await PipelineBus(ctx).to_pipeline(failed)


class Checker(Worker):
    """The base of Inspector and Tester: work whose verdict a person may do without."""

    def __init__(self) -> None:
        super().__init__()
        self._waived_attempt = 0

    async def on_activate(self, ctx: Context) -> None:
        """It keeps nothing: what was waived before, its pipeline knows."""
        if ctx.address.name != MAIN:
            with contextlib.suppress(DeliveryError):
                pipeline = ctx.address.beside("pipeline")
                self._waived_attempt = await ctx.ask(pipeline, WhatIsWaived(), timeout=5)

    @handler(concurrent=True)
    async def waive(self, message: WaiveCheck, ctx: Context) -> None:
        """Cancel the check that runs; later ones of the attempt are not begun."""
        self._waived_attempt = max(self._waived_attempt, message.attempt)
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    def _called_off(self, brief: Brief) -> Exception | None:
        waived = self.role in brief.waived or brief.attempt == self._waived_attempt
        return super()._called_off(brief) or (Waived() if waived else None)

    async def tell_waived(self, brief: Brief, ctx: Context) -> None:
        """For people: the work goes on without this check."""
        await ctx.publish("check.waived", task=brief.task, check=self.role, attempt=brief.attempt)


def workspace_of(brief: Brief, ctx: Context) -> Workspace:
    """The session's workspace, as any of its agents sees it."""
    return Workspace(ctx.settings.home, brief.session, brief.session_name, Path(brief.repo))


def tool_context(
    brief: Brief, ctx: Context, role: Literal["engineer", "inspector", "tester", "architect"]
) -> ToolContext:
    """Where this agent's tools work. The run id begins with session and task, so that whoever cleans up after a
    dead cell finds what it left running."""
    directory = brief.directory(ctx.settings.home)
    return ToolContext(
        worktree=directory.worktree(brief.task),
        private_dir=directory.private(brief.task),
        artifacts_dir=directory.artifacts(brief.task),
        limits=brief.limits,
        sandbox=brief.sandbox,
        run_id=run_id(brief, role),
        cell=ctx.cell,
        repository=Path(brief.repo),
        on_line=lambda line: ctx.progress(_plain(line), task=brief.task),
    )


def run_id(brief: Brief, role: str) -> str:
    """The marker of this agent's tool processes."""
    return f"{brief.session}.{brief.task}.{brief.attempt}.{role}"


async def kill_left_over(brief: Brief) -> int:
    """Kill whatever tool process of a task still runs; returns how many there were."""
    return await kill_tool_processes(f"{brief.session}.{brief.task}.")


def _plain(line: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line)[:200]
