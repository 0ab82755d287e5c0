"""What the Engineer's model does: it changes the files of a task, until it is done or another goes on with it."""

from __future__ import annotations

import dataclasses
import re
import uuid
from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from actors.commits import committed
from actors.consulting import Consulting
from actors.looking_up import looking_up
from actors.patience import LOOKS_EVERY_S, ask_patiently, until_told
from actors.review import DIFF, NOT_DONE
from actors.surroundings import SHOWN, surroundings
from actors.thinking import all_told, fitting, think_as, told
from sylk_ray.context_window import policy_of
from sylk_ray.errors import SylkError
from sylk_ray.messaging import DeliveryError
from sylk_ray.pipelines import Brief, Work, Worker
from sylk_ray.pipelines.asking import HelpWanted, Said, WasHelped, WhatWasSaid
from sylk_ray.pipelines.handoff import (
    EngineerHandoff,
    Fate,
    Found,
    HandoffFailed,
    HandoffFate,
    HandoffRequest,
    PipelineHandoff,
    Step,
    WhatWasFound,
)
from sylk_ray.pipelines.messages import SlotWait
from sylk_ray.pipelines.worker import Stopped, tool_context, workspace_of
from sylk_ray.runtime import Context
from sylk_ray.sessions.records import Loops
from sylk_ray.skills import Permission
from sylk_ray.thinking import IN_A_WORKTREE, Bench, Heard, Matter, Pause, Summary, Toolbox, help_skill, prompt
from sylk_ray.thinking.toolbox import shortened
from sylk_ray.tools import render

GRANTED: frozenset[Permission] = frozenset({"filesystem.read", "filesystem.write", "shell", "search"})
ANSWERED_WITHIN_S = 30.0
"""That the Architect has a request."""
HANDED_OVER_WITHIN_S = 600.0
"""From then on; the Architect may be planning."""
_NO_TESTS = re.compile(
    r"[^.,;:]* (is|are|was|were|been) (untested|not (yet )?tested)( yet)?\.?"
    r"|((there (is|are)|i (have )?(written|wrote)) )?no (\w+ )?tests?( yet)?\.?"
    r"|(the )?(\w+ )?tests? (is|are|have) (missing|not (yet )?(been )?(written|there|added))( yet)?\.?",
    re.IGNORECASE,
)
"""Nothing but that there are no tests yet."""


class NotDone(SylkError):
    """An Engineer's model has done nothing of its task."""

    code = "not_done"


class Engineered(msgspec.Struct, frozen=True):
    """What an Engineer's model has done."""

    summary: Annotated[str, Meta(min_length=1, description="What was changed and why, in one or two sentences.")]
    unfinished: Annotated[tuple[str, ...], Meta(description="What of the task is not done, and why.")] = ()


class Engineering:
    """One order to the Engineer: to begin, to improve, or to go on. Each is used once."""

    def __init__(self, worker: Worker, brief: Brief, base: str, loops: Loops, ctx: Context) -> None:
        assignment = brief.assignment
        self._worker, self._brief, self._base, self._loops, self._ctx = worker, brief, base, loops, ctx
        self._workspace = workspace_of(brief, ctx)
        self._assignment = assignment
        self._prompt = assignment.prompt if assignment.literal else render(assignment.prompt, brief.variables)
        self._feedback = self._output = ""
        self._protected: Sequence[str] = ()
        self._spent = (0, 0)
        self._summary = Summary()
        self._said: list[str] = list(brief.said)
        self._words = self._wishes = 0

    async def begin(self, protected: Sequence[str] = ()) -> Work:
        """From the task alone; ``protected`` files hold others' work."""
        self._protected = protected
        return await self._done(await self._told(None), self._base)

    async def improve(self, before: Work, feedback: str) -> Work:
        """What was done, on feedback."""
        # What was left undone then is what it is sent back for, and may be done now.
        kept = [line for line in before.output.splitlines(keepends=True) if not line.startswith(NOT_DONE)]
        self._feedback, self._output = feedback, "".join(kept)
        return await self._done(await self._told(before.commit), before.commit or before.base)

    async def go_on_from(self, handoff: PipelineHandoff) -> Work:
        """Where another pipeline's Engineer has left it."""
        left = handoff.engineer
        self._feedback, self._protected, self._summary = left.feedback, handoff.protected, left.summary
        self._spent, self._output = (left.turns, left.tokens), handoff.work.output
        known = told("Another Engineer was at this before you, and tells you", left.summary.as_told())
        return await self._done(await self._told(handoff.work.commit, known), self._base)

    async def _done(self, task: str, head: str) -> Work:
        brief, ctx = self._brief, self._ctx

        async def check(done: Engineered, earlier: Sequence[Engineered]) -> str:
            """A small model gives up at the first thing that does not go, or says of what it has done that it has not;
            asked again it does it, or says so."""
            saved = await self._workspace.save(brief.task)
            changed = await self._workspace.changes(brief.task, head, saved)
            if changed:
                undone = self._undone(done)
                if not undone or any(map(self._undone, earlier)):
                    return ""
                said = "; ".join(undone)
                return (
                    f"you say that this is not done: {said}. If it is, finish once more and leave unfinished empty; "
                    "if it can be, do it first; if it cannot, finish once more and say why"
                )
            if done.unfinished and any(each.unfinished for each in earlier):
                return ""
            return (
                "nothing has changed in the worktree: change the files, for example with append_to_file, which also "
                "takes a function that is there already, whole and as it is to be; or say in unfinished why it cannot "
                "be done, and finish once more"
            )

        done, outcome = await think_as(
            self._worker,
            brief,
            Matter(system=prompt("engineer"), task=task, result=Engineered),
            await self._toolbox(),
            ctx,
            check=check,
            hear=self._hear,
            go_on=self._go_on,
            spent=self._spent,
        )
        unfinished = [*self._undone(done), *([] if outcome.whole else [f"it was ended by a limit: {outcome.ended}"])]
        await ctx.publish("engineer.result", task=brief.task, summary=done.summary, unfinished=unfinished)
        left = "".join(f"\n{NOT_DONE}{each}" for each in unfinished)
        work = await committed(brief, self._base, f"{self._output}{done.summary}{left}\n", ctx)
        if work.commit is None and (why := unfinished or done.unfinished):
            said = "".join(f"\n{NOT_DONE}{each}" for each in why)
            raise NotDone(f"the Engineer has changed nothing{said}", hint="say more in the prompt, or see `sylk logs`")
        return work

    def _undone(self, done: Engineered) -> list[str]:
        """A small model that has nothing to say there says the same again, or that there are no tests yet, where a
        Tester comes after it."""
        undone = [each for each in done.unfinished if each.strip() != done.summary.strip()]
        return [each for each in undone if not (self._is_tested and _NO_TESTS.fullmatch(each.strip()))]

    @property
    def _is_tested(self) -> bool:
        return "tester" in self._assignment.thinks

    async def _toolbox(self) -> Toolbox:
        tools = tool_context(self._brief, self._ctx, "engineer")
        bench = Bench(dataclasses.replace(tools, protected=frozenset(self._protected)))
        asking = [help_skill(self._helped)] if self._assignment.may_ask else []
        known = await looking_up(self._brief.repo, self._ctx)
        others = Consulting(self._brief, self._ctx).skill()
        about = f"{self._assignment.request}\n{self._prompt}"
        return Toolbox([*IN_A_WORKTREE, *known, others, *asking], GRANTED, bench, about=about)

    async def _told(self, commit: str | None, known: str = "") -> str:
        """The task, where that commit has brought it."""
        so_far = await self._workspace.diff(self._base, commit) if commit else ""
        proved = " A Tester writes tests for it afterwards." if self._is_tested else ""
        request = self._assignment.request if self._assignment.request != self._prompt else ""
        about = "\n".join([request, self._prompt, *self._assignment.criteria, self._feedback])
        return all_told(
            await surroundings(self._workspace, commit or self._base, about, longest=self._fitting(SHOWN)),
            told("What a person wants, of which the task is a part", request),
            told("Task", self._prompt),
            told("Criteria", self._assignment.criteria),
            told("Others have changed these files since, and their changes must stay", self._protected),
            told("Done so far", f"```diff\n{shortened(so_far, self._fitting(DIFF))}\n```" if so_far else ""),
            told("It was sent back: mend this", self._feedback),
            known,
            told("The person has said of this task", self._said),
            told("Now", f"Change the files, and then call finish.{proved}"),
        )

    def _fitting(self, most: int) -> int:
        return fitting(self._worker.role, most, self._ctx)

    async def _helped(self, question: str) -> str:
        """The answer to a question of the model, however long that takes."""
        brief, orchestrator = self._brief, self._ctx.address.beside("orchestrator", "main")
        await ask_patiently(self._ctx, orchestrator, HelpWanted(brief.task, brief.attempt, question))
        return await until_told(self._ctx, orchestrator, WasHelped(brief.task, brief.attempt, question))

    async def _hear(self, number: int) -> Heard:
        ctx, pipeline = self._ctx, self._ctx.address.beside("pipeline")
        wanted = WhatWasSaid(self._brief.attempt, self._words)
        said = await ctx.step(f"hear {number}", ctx.ask, pipeline, wanted, result=Said)
        self._words += len(said.words)
        self._said += said.words
        hand_off = said.wishes > self._wishes
        self._wishes = max(self._wishes, said.wishes)
        return Heard(said.words, hand_off)

    # -- when another is to go on ------------------------------------------------------------------------------

    async def _go_on(self, pause: Pause) -> str:
        """Another pipeline goes on, and this raises Stopped; or it comes to nothing, and the same Engineer goes on with
        what it has summed up."""
        ctx, brief = self._ctx, self._brief
        if pause.summary != Summary():
            self._summary = pause.summary
        handoff = await ctx.step(f"sum up {pause.turns}", self._bundled, pause, result=PipelineHandoff)
        wanted = WhatWasFound(brief.attempt)
        found = await ctx.step(
            f"may hand over {pause.turns}",
            ask_patiently,
            ctx,
            ctx.address.beside("pipeline"),
            wanted,
            result=Found | None,
        )
        if found is not None:
            ctx.progress("its work is handed over", task=brief.task)
            whole = msgspec.structs.replace(handoff, found=found)
            await ctx.step(f"hand over {pause.turns}", self._hand_over, whole, result=None)
        known = told("You have been at this before, and told yourself", self._summary.as_told())
        return await self._told(handoff.work.commit, known)

    async def _bundled(self, pause: Pause) -> PipelineHandoff:
        brief, (turns, tokens) = self._brief, self._spent
        work = await committed(brief, self._base, self._output, self._ctx)
        engineer = EngineerHandoff(
            self._prompt,
            self._summary,
            self._feedback,
            [change.path for change in work.changes],
            turns + pause.turns,
            tokens + pause.tokens,
        )
        return PipelineHandoff(
            uuid.uuid4().hex,
            brief.session,
            brief.task,
            brief.attempt,
            pause.reason,
            work,
            self._loops,
            engineer,
            protected=list(self._protected),
            used=round(pause.used, 3),
            wishes=self._wishes,
        )

    async def _hand_over(self, handoff: PipelineHandoff) -> None:
        """Returns when it has come to nothing, and has been told so. Raises Stopped when another goes on. The attempt's
        clock stands still meanwhile."""
        ctx, orchestrator = self._ctx, self._ctx.address.beside("orchestrator", "main")
        waits = SlotWait(handoff.task, handoff.attempt)
        ctx.notify(orchestrator, waits)
        problem = await self._requested(handoff)
        step: Step = "request"
        fate: Fate = "open"
        if not problem:
            step, problem = "examine", f"nobody has taken it over within {HANDED_OVER_WITHIN_S:g} s"
            until = ctx.clock.now() + HANDED_OVER_WITHIN_S
            asking = HandoffFate(handoff.id, handoff.task, handoff.attempt)
            while fate == "open" and ctx.clock.now() < until:
                await ctx.clock.sleep(LOOKS_EVERY_S)
                fate = await ask_patiently(ctx, orchestrator, asking)
        if fate == "unwanted":
            step, problem = "create", "a person keeps it where it is"
        if fate != "failed":
            # Also what is over is asked for once more, in a way that is committed before it is answered.
            fate = await ask_patiently(ctx, orchestrator, HandoffFailed(handoff, step, problem))
        if fate == "over":
            raise Stopped
        ctx.notify(orchestrator, msgspec.structs.replace(waits, over=True))

    async def _requested(self, handoff: PipelineHandoff) -> str:
        """Empty when the Architect has it; else why not."""
        policy, problem = policy_of("engineer"), ""
        architect = self._ctx.address.beside("architect", "main")
        for attempt in range(policy.handoff_attempts):
            if attempt:
                await self._ctx.clock.sleep(policy.handoff_wait_s * 2 ** (attempt - 1))
            try:
                await self._ctx.ask(architect, HandoffRequest(self._brief, handoff), timeout=ANSWERED_WITHIN_S)
            except DeliveryError as error:
                problem = f"the Architect could not be asked: {error}"
            else:
                return ""
        return problem
