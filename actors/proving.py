"""What the Tester's model does: it writes tests for a change, which are then run whatever it says of them."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from actors.commits import committed
from actors.review import DIFF
from actors.thinking import all_told, think_as, told
from sylk_ray.codebase.roles import Role, role_of
from sylk_ray.pipelines import Brief, Work, Worker
from sylk_ray.pipelines.worker import tool_context, workspace_of
from sylk_ray.runtime import Context
from sylk_ray.thinking import Matter, Toolbox, prompt, worktree_tools
from sylk_ray.thinking.commands import CommandRefused, check_command
from sylk_ray.thinking.toolbox import Permission, shortened

GRANTED: frozenset[Permission] = frozenset({"filesystem.read", "filesystem.write", "shell"})


class Proved(msgspec.Struct, frozen=True):
    """What a Tester's model has done."""

    summary: Annotated[str, Meta(min_length=1, description="What the tests show, in one or two sentences.")]
    command: Annotated[str, Meta(description="Runs the tests of this change and no others.")] = ""
    untested: Annotated[str, Meta(description="Why there is no test, if there can be none.")] = ""


async def prove(worker: Worker, brief: Brief, work: Work, ctx: Context) -> tuple[Work, str]:
    """The work with its tests, and the command that runs them; empty where there can be none."""
    assignment, workspace = brief.assignment, workspace_of(brief, ctx)
    head = work.commit or work.base

    async def check(done: Proved) -> str:
        if not done.command and not done.untested:
            return "give the command that runs the tests, or say in untested why there can be none"
        try:
            check_command(done.command)
        except CommandRefused as refused:
            return f"the command will not do: {refused.message}"
        changed = await workspace.changes(brief.task, head, await workspace.save(brief.task))
        for change in changed:
            if not is_test(change.path):
                return f"{change.path} is no test: put it back as it was. If the code is wrong, leave the test failing"
            if change.removed:
                return f"lines of {change.path} are gone that were there before: put them back, and add to them"
        return ""

    def may_write(path: str, before: str | None, after: str) -> str:
        return "" if is_test(path) else "you write tests, and this is none; the code is the Engineer's"

    diff = await workspace.diff(work.base, head)
    matter = Matter(
        system=prompt("tester").text,
        task=all_told(
            told("Task of the change", assignment.prompt or assignment.description or brief.task.replace("_", " ")),
            told("Criteria", assignment.criteria),
            told("Change", f"```diff\n{shortened(diff, DIFF)}\n```"),
        ),
        result=Proved,
        about="Say how it went. Call it once, when the tests are written and have run.",
    )
    toolbox = Toolbox(worktree_tools(tool_context(brief, ctx, "tester"), may_write), GRANTED)
    proved, _ = await think_as(worker, brief, matter, toolbox, ctx, check=check)
    await ctx.publish("tester.tests", task=brief.task, summary=proved.summary, command=proved.command)
    if problem := await ctx.step("look at the tests", check, proved, result=str):
        # The last word of a model at its limit is not checked, and what it left may not go in.
        await ctx.step("put back", workspace.reset, brief.task, head, result=None)
        ctx.log.warning("the tests that were written are not used: %s", problem)
        return work, ""
    return await committed(brief, work.base, work.output, ctx), proved.command


def is_test(path: str) -> bool:
    """Whether a file is a test, or belongs to one."""
    return role_of(path, "") is Role.TEST
