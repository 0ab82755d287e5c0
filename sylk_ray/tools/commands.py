"""Run a command of the job in the worktree and tell which files it changed."""

from __future__ import annotations

import asyncio
import shlex
from contextlib import suppress
from pathlib import Path

from sylk_ray.errors import SylkError
from sylk_ray.tools.beneath import read_beneath
from sylk_ray.tools.context import (
    OUTPUT_CHARACTERS,
    ActionResult,
    ToolContext,
    ending_with,
    limit_hit,
    where_kept,
)
from sylk_ray.tools.errors import ActionFailed, NothingChanged
from sylk_ray.tools.paths import CACHES, matching, walk
from sylk_ray.tools.specs import Run

_ALWAYS_IGNORED = (*CACHES, ".venv/")

_OTHERWISE = "If this exit code is fine, add it to ok_exit_codes."

Snapshot = dict[str, tuple[int, int, int, int]]


async def run(action: Run, context: ToolContext) -> ActionResult:
    """Run a command; ActionFailed for an exit code that is not among the good ones, or at a limit."""
    shown = action.command if isinstance(action.command, str) else shlex.join(action.command)
    before = await asyncio.to_thread(snapshot, context.worktree)
    result = await context.run(action.command, timeout_s=action.timeout_s)
    if limit := limit_hit(result, context.limits, action.timeout_s):
        raise ActionFailed(
            f"`{shown}` was ended by {limit}{ending_with(result.output)}",
            hint="Raise the limit in the job if the command needs it, or find out why it does not end.",
        )
    if result.exit_code not in action.ok_exit_codes:
        raise ActionFailed(
            f"`{shown}` ended with exit code {result.exit_code}{ending_with(result.output)}",
            hint=" ".join(filter(None, (result.hint, where_kept(result), _OTHERWISE))),
        )
    after = await asyncio.to_thread(snapshot, context.worktree)
    changed = tuple(sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name)))
    if not changed and not action.allow_no_change:
        raise NothingChanged(f"`{shown}` changed no file", hint="If that is fine, leave allow_no_change at true.")
    summary = f"ran `{shown}`: exit code {result.exit_code}, {len(changed)} files changed"
    return ActionResult(summary, changed, result.output[-OUTPUT_CHARACTERS:])


def snapshot(worktree: Path) -> Snapshot:
    """What identifies each file's content, without reading it; files that git would ignore are left out."""
    names = tuple(walk(worktree))
    found: Snapshot = {}
    for name in set(names).difference(matching(_ignored(worktree), names)):
        with suppress(FileNotFoundError):
            status = (worktree / name).lstat()
            found[name] = (status.st_mtime_ns, status.st_size, status.st_ino, status.st_mode)
    return found


def _ignored(worktree: Path) -> tuple[str, ...]:
    try:
        lines = read_beneath(worktree, ".gitignore").decode(errors="replace").splitlines()
    except (OSError, SylkError):
        lines = []
    return (*_ALWAYS_IGNORED, *lines)
