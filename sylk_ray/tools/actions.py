"""Perform one action of a job: the single door through which agents change files."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from sylk_ray.tools.commands import run
from sylk_ray.tools.context import ActionResult, ToolContext
from sylk_ray.tools.edits import delete, edit, write
from sylk_ray.tools.patches import patch
from sylk_ray.tools.process import even_if_cancelled
from sylk_ray.tools.rewrite import rewrite
from sylk_ray.tools.specs import Action, Delete, Edit, Patch, Rewrite, Run


async def perform(action: Action, workspace: ToolContext) -> ActionResult:
    """Do what the action says, in a thread or a process.

    Raises NothingChanged if there was nothing to change, PathRefused, ChangesProtected, ToolMissing, or
    ActionFailed. A cancellation waits until file work that has begun is whole.
    """
    match action:
        case Run():
            return await run(action, workspace)
        case Patch():
            return await even_if_cancelled(patch(action, workspace))
        case Rewrite():
            return await _in_thread(lambda: rewrite(action, workspace))
        case Edit():
            return await _in_thread(lambda: edit(action, workspace))
        case Delete():
            return await _in_thread(lambda: delete(action, workspace))
        case _:
            return await _in_thread(lambda: write(action, workspace))


async def _in_thread(work: Callable[[], ActionResult]) -> ActionResult:
    return await even_if_cancelled(asyncio.to_thread(work))
