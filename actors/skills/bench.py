"""Where a skill of a task's agents works: in a throw-away worktree, or (to write) in its task's own."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from sylk_ray.errors import SylkError
from sylk_ray.fairness import Lane
from sylk_ray.fairness import Request as Lease
from sylk_ray.jobs import Job
from sylk_ray.messaging import Event
from sylk_ray.runtime import Context
from sylk_ray.sessions import SessionDirectory, SessionRecord, session_directory
from sylk_ray.sessions.store import read_session
from sylk_ray.sessions.workspace import Workspace
from sylk_ray.speech.receivers import MAIN
from sylk_ray.tools import ToolContext
from sylk_ray.tools.specs import Limits, Sandbox

Role = Literal["engineer", "inspector", "tester"]
AT_ONCE = 1_000


class NoWorktree(SylkError):
    """A task is not at work, and has no files of its own to look at."""

    code = "no_worktree"


class Bench(NamedTuple):
    """``base`` is the commit that the session began from, ``head`` the one that is looked at."""

    tools: ToolContext
    job: Job | None
    workspace: Workspace
    base: str
    head: str


@contextlib.asynccontextmanager
async def bench(ctx: Context, role: Role) -> AsyncGenerator[Bench]:
    """To look: a worktree that is thrown away, with a CPU slot of the session's share. ``main`` sees the session's
    head, an agent that is named after a task what that task's worktree holds now. Raises NoWorktree."""
    session, job, workspace = await _session(ctx)
    name = f"look-{secrets.token_hex(4)}"
    async with ctx.leases.held(_slot(session, job, name)):
        head = await _seen(workspace, ctx.address.name)
        try:
            await workspace.open_worktree(name, head)
            tools = _tools(ctx, job, workspace, name, f"{session.id}.{name}.0.{role}", artifacts="looks")
            yield Bench(tools, job, workspace, session.base, head)
        finally:
            await workspace.close_worktree(name)


@contextlib.asynccontextmanager
async def own_worktree(ctx: Context, role: Role) -> AsyncGenerator[ToolContext]:
    """To write: the worktree of the task that the agent is named after. Raises NoWorktree."""
    session, job, workspace = await _session(ctx)
    task = ctx.address.name
    _at_work(workspace, task)
    async with ctx.leases.held(_slot(session, job, task)):
        yield _tools(ctx, job, workspace, task, f"{session.id}.{task}.0.{role}", artifacts=task)


async def _session(ctx: Context) -> tuple[SessionRecord, Job | None, Workspace]:
    home = ctx.settings.home
    session, job = await asyncio.to_thread(_records, home, ctx.address.session)
    return session, job, Workspace(home, session.id, session.name, Path(session.repo))


async def _seen(workspace: Workspace, name: str) -> str:
    if name != MAIN:
        _at_work(workspace, name)
        return await workspace.saved_commit(name)
    head = await workspace.head()
    if head is None:
        raise NoWorktree(f"the branch {workspace.branch} is gone", hint="someone deleted it")
    return head


def _at_work(workspace: Workspace, task: str) -> None:
    if not workspace.directory.worktree(task).is_dir():
        raise NoWorktree(f"{task} is not at work, and has no worktree", hint=f"`/task {task} query` tells how it is")


def _slot(session: SessionRecord, job: Job | None, name: str) -> Lease:
    memory = (job.limits if job is not None else Limits()).memory_mb
    key = f"{session.id}/look/{name}-{secrets.token_hex(4)}"
    return Lease(key, session.id, {"cpu": 1.0, "memory": float(memory)}, Lane.HIGH)


def _tools(
    ctx: Context, job: Job | None, workspace: Workspace, name: str, run_id: str, *, artifacts: str
) -> ToolContext:
    directory = workspace.directory
    return ToolContext(
        worktree=directory.worktree(name),
        private_dir=directory.private(name),
        artifacts_dir=directory.artifacts(artifacts),
        limits=job.limits if job is not None else Limits(),
        sandbox=job.sandbox if job is not None else Sandbox(),
        run_id=f"{run_id}-{secrets.token_hex(4)}",
        cell=ctx.cell,
        repository=workspace.repository,
    )


def _records(home: Path, session_id: str) -> tuple[SessionRecord, Job | None]:
    session = read_session(home, session_id)
    path = SessionDirectory(session_directory(home, session_id)).job_of(session.job)
    job = Job.model_validate_json(path.read_bytes()) if session.job and path.exists() else None
    return session, job


async def latest_by_task(ctx: Context, kind: str) -> dict[str, Event]:
    """The last event of a kind, of each task, in the session's history."""
    found: dict[str, Event] = {}
    after = 0
    while events := await ctx.journal.events(after, AT_ONCE):
        after = events[-1].sequence
        found.update({event.task: event for event in _of(events, kind)})
    return found


def _of(events: list[Event], kind: str) -> Iterator[Event]:
    return (event for event in events if event.kind == kind)
