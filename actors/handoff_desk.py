"""The part of an orchestrator by which another pipeline goes on with a task that is at work."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from actors.help_desk import HelpDesk
from actors.task_desk import TaskOver, one_line
from sylk_ray.dag.scheduler import NotPossible
from sylk_ray.errors import InputError
from sylk_ray.pipelines.handoff import (
    CreatePipelineWithState,
    Fate,
    HandoffComplete,
    HandoffFailed,
    HandoffFate,
    PipelineHandoff,
    SteerHandoff,
    Step,
    pipeline_name,
)
from sylk_ray.runtime import Context, Refused, handler
from sylk_ray.speech import Heard
from sylk_ray.speech.tasks import UserStopHandoff, UserTriggerHandoff

KEPT = 10
"""Handoffs of a task that are known, the last ones."""
KEPT_BY_A_PERSON = "a person keeps it where it is"


class HandoffDesk(HelpDesk):
    """The old attempt is ended and the next one begun with what it leaves, which costs the task no try. What cannot be
    handed over is told to whoever asked, and stays with the old one."""

    @handler()
    async def hand_off(self, message: UserTriggerHandoff, ctx: Context) -> Heard:
        """As soon as its Engineer thinks again."""
        name, record = self._thinking(message.task, "a handoff")
        if (name, record.attempts) not in self.state.admitted:
            raise Refused(InputError(f"{name} has not begun: there is nothing to hand over"))
        if self._scheduler.is_stopping(name, record.attempts):
            raise Refused(TaskOver(f"{name}: its pipeline is being ended already"))
        self.state.may_not_hand_off.discard(name)
        return await self._steer(name, record.attempts, "now", message.reason, ctx)

    @handler()
    async def stop_handoff(self, message: UserStopHandoff, ctx: Context) -> Heard:
        """What is handed over already is so; from now on the pipeline that has it keeps it."""
        name, record = self._thinking(message.task, "a handoff")
        self.state.may_not_hand_off.add(name)
        return await self._steer(name, record.attempts, "never", message.reason, ctx)

    async def _steer(self, task: str, attempt: int, wish: Literal["now", "never"], reason: str, ctx: Context) -> Heard:
        if (task, attempt) in self.state.admitted:
            await ctx.tell(ctx.address.beside("pipeline", task), SteerHandoff(attempt, wish))
        await self._told(task, "handoff" if wish == "now" else "stop_handoff", one_line(reason), ctx)
        told = (
            "is handed over when its Engineer thinks next" if wish == "now" else "stays with its pipeline from now on"
        )
        return Heard(f"{task} {told}", {"task": task})

    @handler()
    async def create_pipeline(self, message: CreatePipelineWithState, ctx: Context) -> None:
        """End the old attempt; the next one finds in its beginning what this one leaves."""
        left = message.handoff
        if self._fate(left.id, left.task, left.attempt) not in ("open", "unwanted"):
            return
        if left.task in self.state.may_not_hand_off:
            await self._came_to_nothing(left, "create", KEPT_BY_A_PERSON, ctx)
            return
        try:
            decisions = self._scheduler.hand_over(left.task, "another pipeline goes on with it", ctx.clock.now())
        except NotPossible as problem:
            await self._came_to_nothing(left, "create", problem.message, ctx)
            return
        engineer = msgspec.structs.replace(left.engineer, prompt=message.prompt or left.engineer.prompt)
        handoff = self._numbered(left, ctx, engineer=engineer, new_pipeline=pipeline_name(left.task, left.attempt + 1))
        self._keep_handoff(handoff)
        await ctx.publish(
            "handoff.created",
            task=handoff.task,
            old_pipeline=handoff.old_pipeline,
            new_pipeline=handoff.new_pipeline,
            index=handoff.index,
            reason=handoff.reason,
            remaining=list(handoff.engineer.summary.remaining),
        )
        await self._carry_out(decisions, ctx)

    @handler()
    async def handoff_failed(self, message: HandoffFailed, ctx: Context) -> Fate:
        """Whoever asked goes on itself; what it has summed up is kept."""
        left = message.handoff
        if self._fate(left.id, left.task, left.attempt) in ("open", "unwanted"):
            await self._came_to_nothing(left, message.step, message.reason, ctx)
        return self._fate(left.id, left.task, left.attempt)

    @handler(concurrent=True)
    async def handoff_fate(self, message: HandoffFate, ctx: Context) -> Fate:
        """For who waits for it."""
        return self._fate(message.id, message.task, message.attempt)

    def _fate(self, id_: str, task: str, attempt: int) -> Fate:
        known = next((each for each in self.state.handoffs.get(task, []) if each.id == id_), None)
        if not self._is_current(task, attempt) or self._scheduler.is_stopping(task, attempt):
            return "over"
        if known is not None and known.failed:
            return "failed"
        return "unwanted" if task in self.state.may_not_hand_off else "open"

    async def _came_to_nothing(self, left: PipelineHandoff, step: Step, reason: str, ctx: Context) -> None:
        self._keep_handoff(_shortened(self._numbered(left, ctx, failed=reason)))
        self._note_state()
        await ctx.tell(ctx.address.beside("pipeline", left.task), SteerHandoff(left.attempt, "tried", left.wishes))
        await _publish_failed(left, step, reason, ctx)

    async def _drop_handoff(self, task: str, why: str, ctx: Context) -> None:
        pending = [each for each in self.state.handoffs.get(task, []) if not each.over]
        for each in pending:
            self._keep_handoff(_shortened(msgspec.structs.replace(each, new_pipeline="", failed=why)))
            await _publish_failed(each, "create", why, ctx)

    async def _note_taken_over(self, task: str, attempt: int, ctx: Context) -> None:
        """The new pipeline is at work."""
        handoff = self._inherited(task, attempt)
        if handoff is None or handoff.over:
            return
        self._keep_handoff(_shortened(msgspec.structs.replace(handoff, taken_over=True)))
        self._ledger.task(task, handoffs=handoff.index + 1)
        old, new, index = handoff.old_pipeline, handoff.new_pipeline, handoff.index
        await ctx.publish("handoff.completed", task=task, old_pipeline=old, new_pipeline=new, index=index)
        await ctx.tell(ctx.address.beside("architect", "main"), HandoffComplete(handoff.id, task, old, new, index))

    def _inherited(self, task: str, attempt: int) -> PipelineHandoff | None:
        """What an attempt goes on with."""
        name = pipeline_name(task, attempt)
        return next((each for each in self.state.handoffs.get(task, []) if each.new_pipeline == name), None)

    def _numbered(self, left: PipelineHandoff, ctx: Context, **more: Any) -> PipelineHandoff:
        record = self._ledger.record
        index = record.tasks[left.task].handoffs
        return msgspec.structs.replace(left, index=index, at=ctx.clock.now(), job_id=record.job_id, **more)

    def _keep_handoff(self, handoff: PipelineHandoff) -> None:
        others = [each for each in self.state.handoffs.get(handoff.task, []) if each.id != handoff.id]
        self.state.handoffs = {**self.state.handoffs, handoff.task: [*others, handoff][-KEPT:]}


def _shortened(handoff: PipelineHandoff) -> PipelineHandoff:
    """For the record: without what only the next pipeline needs, which has it."""
    work = msgspec.structs.replace(handoff.work, changes=[], output="")
    return msgspec.structs.replace(handoff, work=work)


async def _publish_failed(handoff: PipelineHandoff, step: Step, reason: str, ctx: Context) -> None:
    await ctx.publish("handoff.failed", task=handoff.task, pipeline=handoff.old_pipeline, step=step, reason=reason)
