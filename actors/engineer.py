"""Changes the code in the task's worktree: by a declared list of actions, or as its model finds right."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter

from actors.commits import KEPT_OUTPUT, committed
from actors.engineering import Engineering
from actors.skills.engineer import ENGINEER_SKILLS
from sylk_ray.pipelines import Brief, Feedback, PipelineBus, Work, Worker
from sylk_ray.pipelines.messages import EngineerDone, Implement, Inspect, SendBack
from sylk_ray.pipelines.worker import tool_context, workspace_of
from sylk_ray.runtime import Context, handler
from sylk_ray.sessions.records import Loops
from sylk_ray.tools import ActionResult, perform, render_action
from sylk_ray.tools.specs import Action

_ACTION: TypeAdapter[Action] = TypeAdapter(Action)


class Engineer(Worker):
    """Does the task's actions in order, or what its model finds right; on feedback, those of ``on_feedback``, or what
    its model does about it. Leaves one commit."""

    role = "engineer"
    about = "changes the code for one task"
    skills = ENGINEER_SKILLS
    one_a_task = True

    @handler()
    async def implement(self, message: Implement, ctx: Context) -> None:
        """Do the actions on a fresh worktree and pass the work on."""
        brief = message.brief

        async def act() -> None:
            if "engineer" in brief.assignment.thinks:
                task = Engineering(self, brief, message.base, message.loops, ctx)
                doing = task.go_on_from(message.handoff) if message.handoff else task.begin(message.protected)
            else:
                doing = self._act(brief, message.base, "", brief.assignment.engineer, message.protected, ctx)
            work = await self.work(brief, doing)
            await _pass_on(brief, work, message.loops, ctx)

        await self.guarded(brief, message.loops, act(), ctx)

    @handler()
    async def improve(self, message: SendBack, ctx: Context) -> None:
        """Do the actions for feedback on top of the work so far."""
        brief, feedback = message.brief, message.feedback

        async def act() -> None:
            work = await self.work(brief, self._improve(brief, message.work, message.loops, feedback, ctx))
            await _pass_on(brief, work, message.loops, ctx)

        await self.guarded(brief, message.loops, act(), ctx)

    async def _improve(self, brief: Brief, work: Work, loops: Loops, feedback: Feedback, ctx: Context) -> Work:
        # A step: done again after a crash it would wipe what later steps, which are not done again, have made.
        await ctx.step("reset", workspace_of(brief, ctx).reset, brief.task, work.commit or work.base, result=None)
        if brief.assignment.on_feedback:
            improved = await self._act(brief, work.base, feedback.text, brief.assignment.on_feedback, [], ctx)
            output = (work.output + improved.output)[-KEPT_OUTPUT:]
            return Work(improved.base, improved.commit, improved.changes, output)
        return await Engineering(self, brief, work.base, loops, ctx).improve(work, feedback.text)

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
        return await committed(brief, base, output, ctx)


async def _pass_on(brief: Brief, work: Work, loops: Loops, ctx: Context) -> None:
    bus = PipelineBus(ctx)
    await bus.to_pipeline(EngineerDone(brief.attempt, loops))
    await bus.to_inspector(Inspect(brief, work, loops))
