"""What an Engineer can do in its task's worktree."""

from __future__ import annotations

from typing import Any

from actors.skills.bench import own_worktree
from actors.skills.looking import LOOKING
from actors.skills.quality import run_linter, run_type_checker
from sylk_ray.skills import skill
from sylk_ray.speech import Heard, SkillCall
from sylk_ray.tools import ActionResult, perform
from sylk_ray.tools.specs import Action, Edit, Run, Write

Call = SkillCall[Any]


@skill(domain="file_ops", keywords=["write", "create", "save"], tier="core")
async def write_file(ctx: Call, path: str, content: str) -> Heard:
    """Write a whole file, making its folders.

    Args:
        path: The file, relative to the worktree.
        content: All of it.
    """
    return _told(await _do(ctx, Write(path=path, content=content)))


@skill(domain="file_ops", keywords=["edit", "replace", "modify", "change"], tier="core")
async def edit_file(ctx: Call, path: str, old_content: str, new_content: str) -> Heard:
    """Replace one exact text in a file by another; the text must be there once.

    Args:
        path: The file, relative to the worktree.
        old_content: What is there.
        new_content: What is to be there.
    """
    return _told(await _do(ctx, Edit(path=path, old=old_content, new=new_content)))


@skill(domain="bash", keywords=["run", "command", "bash", "shell", "execute"], tier="core")
async def run_command(ctx: Call, command: str, timeout_ms: int = 0) -> Heard:
    """Run a shell command in the worktree, confined to it.

    Args:
        command: The command.
        timeout_ms: How long it may take; 0 for the job's own limit.
    """
    return _told(await _do(ctx, Run(command=command, timeout_s=timeout_ms / 1000 if timeout_ms else None)))


@skill(domain="communication", keywords=["progress", "update"])
async def report_progress(ctx: Call, status: str, percent_complete: int = -1) -> str:
    """Show who watches how far the task is.

    Args:
        status: In a line.
        percent_complete: 0 to 100, if it can be said.
    """
    line = f"{status} ({percent_complete} %)" if 0 <= percent_complete <= 100 else status
    ctx.ctx.progress(line[:200], task=ctx.address.name)
    return "shown"


async def _do(ctx: Call, action: Action) -> ActionResult:
    async with own_worktree(ctx.ctx, "engineer") as tools:
        return await perform(action, tools)


def _told(done: ActionResult) -> Heard:
    output = f"\n{done.output.rstrip()}" if done.output.strip() else ""
    return Heard(f"{done.summary}{output}", {"summary": done.summary, "files_changed": list(done.files_changed)})


ENGINEER_SKILLS = (*LOOKING, write_file, edit_file, run_command, report_progress, run_linter, run_type_checker)
