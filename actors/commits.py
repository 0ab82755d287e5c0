"""A task's work as one commit."""

from __future__ import annotations

from sylk_ray.pipelines import Brief, Work
from sylk_ray.pipelines.worker import workspace_of
from sylk_ray.runtime import Context

KEPT_OUTPUT = 20_000


async def committed(brief: Brief, base: str, output: str, ctx: Context) -> Work:
    """What the task's worktree holds now, as one commit on its base."""
    workspace = workspace_of(brief, ctx)
    commit = await workspace.snapshot(brief.task, base, commit_message(brief))
    changes = await workspace.changes(brief.task, base, commit) if commit else []
    return Work(base, commit, changes, output[-KEPT_OUTPUT:])


def commit_message(brief: Brief) -> str:
    """The task's name and description, and trailers that say where the commit came from."""
    title = brief.task.replace("_", " ").capitalize()
    description = brief.assignment.description.strip()
    body = f"\n\n{description}" if description else ""
    return f"{title}{body}\n\nSylk-Session: {brief.session_name}\nSylk-Task: {brief.task}\n"
