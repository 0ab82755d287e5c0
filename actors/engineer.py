"""Changes the code in the task's worktree: by a declared list of actions, or as its model finds right."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from pydantic import TypeAdapter

from actors.commits import KEPT_OUTPUT, committed
from actors.patience import ask_patiently, until_told
from actors.review import DIFF
from actors.skills.engineer import ENGINEER_SKILLS
from actors.surroundings import surroundings
from actors.thinking import all_told, think_as, told
from sylk_ray.errors import SylkError
from sylk_ray.pipelines import Brief, Feedback, PipelineBus, Work, Worker
from sylk_ray.pipelines.asking import HelpWanted, WasHelped, WhatWasSaid
from sylk_ray.pipelines.messages import EngineerDone, Implement, Inspect, SendBack
from sylk_ray.pipelines.worker import tool_context, workspace_of
from sylk_ray.runtime import Context, handler
from sylk_ray.sessions.records import Loops
from sylk_ray.skills import Permission
from sylk_ray.thinking import IN_A_WORKTREE, Bench, Heard, Matter, Toolbox, help_skill, prompt
from sylk_ray.thinking.toolbox import shortened
from sylk_ray.tools import ActionResult, perform, render, render_action
from sylk_ray.tools.specs import Action

GRANTED: frozenset[Permission] = frozenset({"filesystem.read", "filesystem.write", "shell"})

_ACTION: TypeAdapter[Action] = TypeAdapter(Action)


class NotDone(SylkError):
    """An Engineer's model has done nothing of its task."""

    code = "not_done"


class Engineered(msgspec.Struct, frozen=True):
    """What an Engineer's model has done."""

    summary: Annotated[str, Meta(min_length=1, description="What was changed and why, in one or two sentences.")]
    unfinished: Annotated[tuple[str, ...], Meta(description="What of the task is not done, and why.")] = ()


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
                doing = self._think(brief, message.base, ctx, protected=message.protected)
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
            work = await self.work(brief, self._improve(brief, message.work, feedback, ctx))
            await _pass_on(brief, work, message.loops, ctx)

        await self.guarded(brief, message.loops, act(), ctx)

    async def _improve(self, brief: Brief, work: Work, feedback: Feedback, ctx: Context) -> Work:
        # A step: done again after a crash it would wipe what later steps, which are not done again, have made.
        await ctx.step("reset", workspace_of(brief, ctx).reset, brief.task, work.commit or work.base, result=None)
        if brief.assignment.on_feedback:
            improved = await self._act(brief, work.base, feedback.text, brief.assignment.on_feedback, [], ctx)
        else:
            improved = await self._think(brief, work.base, ctx, before=work, feedback=feedback.text)
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
        return await committed(brief, base, output, ctx)

    async def _helped(self, brief: Brief, question: str, ctx: Context) -> str:
        """The answer to a question of the model, however long that takes."""
        orchestrator = ctx.address.beside("orchestrator", "main")
        await ask_patiently(ctx, orchestrator, HelpWanted(brief.task, brief.attempt, question))
        return await until_told(ctx, orchestrator, WasHelped(brief.task, brief.attempt, question))

    async def _think(
        self,
        brief: Brief,
        base: str,
        ctx: Context,
        *,
        protected: Sequence[str] = (),
        before: Work | None = None,
        feedback: str = "",
    ) -> Work:
        tools = dataclasses.replace(tool_context(brief, ctx, "engineer"), protected=frozenset(protected))
        workspace, assignment = workspace_of(brief, ctx), brief.assignment
        prompted = assignment.prompt if assignment.literal else render(assignment.prompt, brief.variables)
        head = before.commit or base if before is not None else base
        so_far = await workspace.diff(base, before.commit) if before is not None and before.commit else ""

        async def check(done: Engineered) -> str:
            if done.unfinished or await workspace.changes(brief.task, head, await workspace.save(brief.task)):
                return ""
            return "nothing has changed in the worktree: do the task, or say in unfinished why it cannot be done"

        matter = Matter(
            system=prompt("engineer").text,
            task=all_told(
                await surroundings(workspace, head, "\n".join([prompted, *assignment.criteria, feedback])),
                told("Task", prompted),
                told("Criteria", assignment.criteria),
                told("Others have changed these files since, and their changes must stay", protected),
                told("Done so far", f"```diff\n{shortened(so_far, DIFF)}\n```" if so_far else ""),
                told("It was sent back: mend this", feedback),
                told("The person has said of this task", brief.said),
                told("Now", "Change the files, and then call finish."),
            ),
            result=Engineered,
        )
        asking = [help_skill(lambda question: self._helped(brief, question, ctx))] if assignment.may_ask else []
        toolbox = Toolbox([*IN_A_WORKTREE, *asking], GRANTED, Bench(tools))
        seen = 0

        async def hear(number: int) -> Heard:
            nonlocal seen
            pipeline, wanted = ctx.address.beside("pipeline"), WhatWasSaid(brief.attempt, seen)
            heard = await ctx.step(f"hear {number}", ctx.ask, pipeline, wanted, result=list[str])
            seen += len(heard)
            return Heard(heard)

        done, outcome = await think_as(self, brief, matter, toolbox, ctx, check=check, hear=hear)
        # A small model that has nothing to say there says the same again.
        left_undone = (each for each in done.unfinished if each.strip() != done.summary.strip())
        unfinished = [*left_undone, *([] if outcome.whole else [f"it was ended by a limit: {outcome.ended}"])]
        await ctx.publish("engineer.result", task=brief.task, summary=done.summary, unfinished=unfinished)
        left = "".join(f"\nnot done: {each}" for each in unfinished)
        work = await committed(brief, base, f"{done.summary}{left}\n", ctx)
        if unfinished and work.commit is None:
            raise NotDone(f"the Engineer has changed nothing{left}", hint="say more in the prompt, or see `sylk logs`")
        return work


async def _pass_on(brief: Brief, work: Work, loops: Loops, ctx: Context) -> None:
    bus = PipelineBus(ctx)
    await bus.to_pipeline(EngineerDone(brief.attempt, loops))
    await bus.to_inspector(Inspect(brief, work, loops))
