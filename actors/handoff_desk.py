"""The part of an orchestrator by which another pipeline goes on with a task that is at work."""

from __future__ import annotations

import msgspec

from actors.help_desk import HelpDesk
from sylk_ray.errors import InputError
from sylk_ray.pipelines.handoff import (
    AllowHandoff,
    CreatePipelineWithState,
    HandoffComplete,
    HandoffFailed,
    PipelineHandoff,
    Step,
    WhyNotHandedOff,
    pipeline_name,
)
from sylk_ray.runtime import Context, Refused, handler
from sylk_ray.speech import Heard
from sylk_ray.speech.tasks import UserStopHandoff, UserTriggerHandoff

KEPT = 10
"""Handoffs of a task whose content is known; more can be counted."""


class HandoffDesk(HelpDesk):
    """The old attempt is ended and the next one begun with what it leaves, which costs the task no try. What cannot be
    handed over is told to whoever asked, and stays with the old one."""

    @handler()
    async def hand_off(self, message: UserTriggerHandoff, ctx: Context) -> Heard:
        """As soon as its Engineer thinks again."""
        name, record = self._thinking(message.task, "a handoff")
        if (name, record.attempts) not in self.state.admitted:
            raise Refused(InputError(f"{name} has not begun: there is nothing to hand over"))
        self.state.may_not_hand_off.discard(name)
        return await self._allow(name, record.attempts, True, message.reason, ctx)

    @handler()
    async def stop_handoff(self, message: UserStopHandoff, ctx: Context) -> Heard:
        """What is handed over already is so; from now on the pipeline that has it keeps it."""
        name, record = self._thinking(message.task, "a handoff")
        self.state.may_not_hand_off.add(name)
        return await self._allow(name, record.attempts, False, message.reason, ctx)

    async def _allow(self, task: str, attempt: int, now: bool, reason: str, ctx: Context) -> Heard:
        if (task, attempt) in self.state.admitted:
            await ctx.tell(ctx.address.beside("pipeline", task), AllowHandoff(attempt, now))
        await self._told(task, "handoff" if now else "stop_handoff", reason, ctx)
        told = "is handed over when its Engineer thinks next" if now else "stays with its pipeline from now on"
        return Heard(f"{task} {told}", {"task": task})

    @handler()
    async def create_pipeline(self, message: CreatePipelineWithState, ctx: Context) -> None:
        """End the old attempt; the next one finds in its beginning what this one leaves."""
        left = message.handoff
        if not self._is_current(left.task, left.attempt) or self._known(left.task, left.id) is not None:
            return
        if left.task in self.state.may_not_hand_off:
            await self._came_to_nothing(left, "create", "a person keeps it where it is", ctx)
            return
        decisions = self._scheduler.redo(left.task, "another pipeline goes on with it", ctx.clock.now())
        if not decisions:
            return  # it is being stopped, and whoever asked with it
        prompt = message.prompt or left.engineer.prompt
        engineer = msgspec.structs.replace(left.engineer, prompt=prompt)
        handoff = self._numbered(left, ctx, engineer=engineer, new_pipeline=pipeline_name(left.task, left.attempt + 1))
        self._keep_handoff(handoff)
        self._ledger.task(left.task, handoffs=handoff.index + 1)
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
    async def handoff_failed(self, message: HandoffFailed, ctx: Context) -> None:
        """Whoever asked goes on itself; what it has summed up is kept."""
        left = message.handoff
        if self._is_current(left.task, left.attempt) and self._known(left.task, left.id) is None:
            await self._came_to_nothing(left, message.step, message.reason, ctx)

    @handler(concurrent=True)
    async def why_not_handed_off(self, message: WhyNotHandedOff, ctx: Context) -> str | None:
        """For the Engineer that waits to be ended."""
        known = self._known(message.task, message.id)
        return known.failed or None if known is not None else None

    async def _came_to_nothing(self, left: PipelineHandoff, step: Step, reason: str, ctx: Context) -> None:
        self._keep_handoff(self._numbered(left, ctx, failed=reason))
        self._note_state()
        await ctx.publish("handoff.failed", task=left.task, pipeline=left.old_pipeline, step=step, reason=reason)

    async def _note_taken_over(self, task: str, attempt: int, ctx: Context) -> None:
        """The new pipeline is at work."""
        handoff = self._inherited(task, attempt)
        if handoff is None or handoff.taken_over:
            return
        self._keep_handoff(msgspec.structs.replace(handoff, taken_over=True))
        old, new, index = handoff.old_pipeline, handoff.new_pipeline, handoff.index
        await ctx.publish("handoff.completed", task=task, old_pipeline=old, new_pipeline=new, index=index)
        await ctx.tell(ctx.address.beside("architect", "main"), HandoffComplete(handoff.id, task, old, new, index))

    def _inherited(self, task: str, attempt: int) -> PipelineHandoff | None:
        """What an attempt goes on with."""
        name = pipeline_name(task, attempt)
        return next((each for each in self.state.handoffs.get(task, []) if each.new_pipeline == name), None)

    def _known(self, task: str, id_: str) -> PipelineHandoff | None:
        return next((each for each in self.state.handoffs.get(task, []) if each.id == id_), None)

    def _numbered(self, left: PipelineHandoff, ctx: Context, **more: object) -> PipelineHandoff:
        record = self._ledger.record
        index = record.tasks[left.task].handoffs
        return msgspec.structs.replace(left, index=index, at=ctx.clock.now(), job_id=record.job_id, **more)

    def _keep_handoff(self, handoff: PipelineHandoff) -> None:
        others = [each for each in self.state.handoffs.get(handoff.task, []) if each.id != handoff.id]
        self.state.handoffs = {**self.state.handoffs, handoff.task: [*others, handoff][-KEPT:]}
