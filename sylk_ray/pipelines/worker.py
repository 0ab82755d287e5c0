"""The base of Engineer, Inspector and Tester: work that can be stopped in the middle."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Coroutine
from typing import Any, Literal, TypeVar

from sylk_ray.errors import SylkError
from sylk_ray.messaging import Message
from sylk_ray.pipelines.bus import PipelineBus
from sylk_ray.pipelines.messages import Brief, StopWork, WorkerFailed
from sylk_ray.runtime import Agent, Context, handler
from sylk_ray.sessions.records import ErrorRecord, Loops
from sylk_ray.sessions.workspace import Workspace
from sylk_ray.tools import ToolContext, kill_tool_processes

ResultT = TypeVar("ResultT")


class Stopped(Exception):
    """The work was stopped from outside; there is nothing to report."""


class Worker(Agent[None]):
    """Runs its work as a task of its own, so that StopWork can cancel it while the handler waits for it."""

    keeps_nothing = True

    def __init__(self) -> None:
        self._task: asyncio.Task[Any] | None = None
        self._stopped_attempt = 0

    @handler(concurrent=True)
    async def stop_work(self, message: StopWork, ctx: Context) -> None:
        """Cancel what runs and return when it has ended; later mail of the attempt is ignored."""
        self._stopped_attempt = max(self._stopped_attempt, message.attempt)
        task = self._task
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    async def work(self, brief: Brief, doing: Coroutine[Any, Any, ResultT]) -> ResultT:
        """Do it, unless the attempt was stopped; raises Stopped when it was, before or meanwhile."""
        if brief.attempt <= self._stopped_attempt:
            doing.close()
            raise Stopped
        task = self._task = asyncio.create_task(doing, name=f"work of {brief.session}/{self.role}/{brief.task}")
        try:
            return await task
        except asyncio.CancelledError:
            if brief.attempt <= self._stopped_attempt:
                raise Stopped from None
            task.cancel()
            await asyncio.wait([task])
            raise
        finally:
            self._task = None

    async def guarded(self, brief: Brief, loops: Loops, doing: Awaitable[None], ctx: Context) -> None:
        """Await the whole of a handler; an error becomes WorkerFailed, so that the pipeline always hears."""
        try:
            await doing
        except Stopped:
            ctx.log.info("%s was stopped", ctx.address)
        except SylkError as error:
            failed = WorkerFailed(brief.attempt, loops, ErrorRecord.of(error), retryable=error.exit_code != 2)
            await PipelineBus(ctx).to_pipeline(failed)

    async def on_failure(self, message: Message, error: Exception, ctx: Context) -> None:
        """An error nobody foresaw still ends the attempt."""
        brief = getattr(message, "brief", None)
        if isinstance(brief, Brief):
            failed = WorkerFailed(brief.attempt, getattr(message, "loops", Loops()), ErrorRecord.of(error))
            await PipelineBus(ctx).to_pipeline(failed)


def workspace_of(brief: Brief, ctx: Context) -> Workspace:
    """The session's workspace, as any of its agents sees it."""
    from pathlib import Path

    return Workspace(ctx.settings.home, brief.session, brief.session_name, Path(brief.repo))


def tool_context(brief: Brief, ctx: Context, role: Literal["engineer", "inspector", "tester"]) -> ToolContext:
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
