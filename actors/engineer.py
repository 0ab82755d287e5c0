"""Changes the code: a declared list of actions in the task's worktree."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter

from actors.skills.engineer import ENGINEER_SKILLS
from sylk_ray.pipelines import Brief, Feedback, PipelineBus, Work, Worker
from sylk_ray.pipelines.messages import EngineerDone, Implement, Inspect, SendBack
from sylk_ray.pipelines.worker import tool_context, workspace_of
from sylk_ray.runtime import Context, handler
from sylk_ray.sessions.records import Loops
from sylk_ray.tools import ActionResult, perform, render_action
from sylk_ray.tools.specs import Action

KEPT_OUTPUT = 20_000

_ACTION: TypeAdapter[Action] = TypeAdapter(Action)


class Engineer(Worker):
    """Does the task's actions in order; on feedback, those of ``on_feedback``. Leaves one commit."""

    role = "engineer"
    about = "changes the code for one task"
    skills = ENGINEER_SKILLS
    one_a_task = True

    @handler()
    async def implement(self, message: Implement, ctx: Context) -> None:
        """Do the actions on a fresh worktree and pass the work on."""
        brief = message.brief

        async def act() -> None:
            work = await self.work(
                brief, self._act(brief, message.base, "", brief.assignment.engineer, message.protected, ctx)
            )
            await _pass_on(brief, work, message.loops, ctx)

        await self.guarded(brief, message.loops, act(), ctx)

    @handler()
    async def improve(self, message: SendBack, ctx: Context) -> None:
        """Do the actions for feedback on top of the work so far."""
        brief, feedback = message.brief, message.feedback

        async def act() -> None:
            work = await self.work(brief, self._improve(brief, message.work, feedback, ctx))
            await _pass_on(brief, work, message.loops, ctx)

        await self.guarded(brief, message.loops, act(), ctx)

    async def _improve(self, brief: Brief, work: Work, feedback: Feedback, ctx: Context) -> Work:
        # A step: done again after a crash it would wipe what later steps, which are not done again, have made.
        await ctx.step("reset", workspace_of(brief, ctx).reset, brief.task, work.commit or work.base, result=None)
        improved = await self._act(brief, work.base, feedback.text, brief.assignment.on_feedback, [], ctx)
        return Work(improved.base, improved.commit, improved.changes, (work.output + improved.output)[-KEPT_OUTPUT:])

    async def _act(
        self,
        brief: Brief,
        base: str,
        feedback: str,
        actions: Sequence[Action],
        protected: list[str],
        ctx: Context,
    ) -> Work:
        tools = dataclasses.replace(tool_context(brief, ctx, "engineer"), protected=frozenset(protected))
        variables: dict[str, Any] = {**brief.variables, "feedback": feedback}
        output = ""
        for number, action in enumerate(actions, 1):
            ctx.progress(f"{action.kind} ({number} of {len(actions)})", task=brief.task)

            async def do(given: Mapping[str, Any]) -> ActionResult:
                action = _ACTION.validate_python(given)
                done = await perform(render_action(action, variables), tools)
                await ctx.publish(
                    "action.done", task=brief.task, action=action.kind, summary=done.summary, attempt=brief.attempt
                )
                return done

            name = f"{number} {action.kind}"
            done = await self.tool(name, brief, action.model_dump(), do, ctx, result=ActionResult)
            output += done.output
        workspace = workspace_of(brief, ctx)
        commit = await workspace.snapshot(brief.task, base, commit_message(brief))
        changes = await workspace.changes(brief.task, base, commit) if commit else []
        return Work(base, commit, changes, output[-KEPT_OUTPUT:])


async def _pass_on(brief: Brief, work: Work, loops: Loops, ctx: Context) -> None:
    bus = PipelineBus(ctx)
    await bus.to_pipeline(EngineerDone(brief.attempt, loops))
    await bus.to_inspector(Inspect(brief, work, loops))


def commit_message(brief: Brief) -> str:
    """The task's name and description, and trailers that say where the commit came from."""
    title = brief.task.replace("_", " ").capitalize()
    description = brief.assignment.description.strip()
    body = f"\n\n{description}" if description else ""
    return f"{title}{body}\n\nSylk-Session: {brief.session_name}\nSylk-Task: {brief.task}\n"
