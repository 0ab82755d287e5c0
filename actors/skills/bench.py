"""Where a skill of an Engineer, Inspector or Tester works: its task's worktree, or a throw-away one of the session."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from sylk_ray.errors import SylkError
from sylk_ray.fairness import Lane
from sylk_ray.fairness import Request as Lease
from sylk_ray.jobs import Job
from sylk_ray.messaging import Event
from sylk_ray.runtime import Context
from sylk_ray.sessions import SessionDirectory, SessionRecord, session_directory
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
    """``base`` is the commit that the session began from, and ``head`` the one that the worktree was opened at; empty
    for a task's own."""

    tools: ToolContext
    job: Job | None
    workspace: Workspace
    base: str = ""
    head: str = ""


@contextlib.asynccontextmanager
async def bench(ctx: Context, role: Role) -> AsyncGenerator[Bench]:
    """With a CPU slot of the session's share. An agent that is named after a task works in that task's worktree, which
    must be there (NoWorktree); ``main`` in one at the session's head that nobody keeps."""
    home, address = ctx.settings.home, ctx.address
    session, job = await asyncio.to_thread(_records, home, address.session)
    workspace = Workspace(home, session.id, session.name, Path(session.repo))
    own = address.name == MAIN
    name = f"look-{secrets.token_hex(4)}" if own else address.name
    limits, sandbox = (job.limits, job.sandbox) if job is not None else (Limits(), Sandbox())
    demand = {"cpu": 1.0, "memory": float(limits.memory_mb)}
    key = f"{session.id}/look/{name}-{secrets.token_hex(4)}"
    async with ctx.leases.held(Lease(key, session.id, demand, Lane.HIGH)), _worktree(workspace, name, own) as head:
        directory = workspace.directory
        tools = ToolContext(
            worktree=directory.worktree(name),
            private_dir=directory.private(name),
            artifacts_dir=directory.artifacts(name if not own else "looks"),
            limits=limits,
            sandbox=sandbox,
            run_id=f"{session.id}.{name}.0.{role}-{key[-8:]}",
            cell=ctx.cell,
        )
        yield Bench(tools, job, workspace, session.base, head)


@contextlib.asynccontextmanager
async def _worktree(workspace: Workspace, name: str, own: bool) -> AsyncGenerator[str]:
    if not own:
        if not workspace.directory.worktree(name).is_dir():
            raise NoWorktree(f"{name} is not at work, and has no worktree", hint="ask the session's own: without /TASK")
        yield ""
        return
    head = await workspace.open_worktree(name)
    try:
        yield head
    finally:
        await workspace.close_worktree(name)


def _records(home: Path, session_id: str) -> tuple[SessionRecord, Job | None]:
    directory = SessionDirectory(session_directory(home, session_id))
    session = msgspec.json.decode(directory.session.read_bytes(), type=SessionRecord)
    path = directory.job_of(session.job)
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
