"""The part of an orchestrator by which a request becomes a plan, and a person says whether it is carried out."""

from __future__ import annotations

import asyncio
import secrets
from abc import abstractmethod
from typing import Literal

import msgspec

from actors.job_messages import Begin
from actors.job_reports import JobReports
from actors.orchestrator_state import Planning, Rejected, WantedChange
from actors.planning_messages import Change, Decide, MakePlan, PlanFailed, PlanMade, PlanQuestion, StopPlanning
from actors.task_desk import TaskDesk
from sylk_ray.errors import InputError
from sylk_ray.jobs import Job
from sylk_ray.messaging import Address
from sylk_ray.runtime import Context, Refused, handler
from sylk_ray.sessions import JobRecord, JobState
from sylk_ray.sessions.records import Asking, ErrorRecord

MOST_ROUNDS = 10
NOBODY = "nobody"
ARCHITECT = "architect"
"""Who asks a person about plans; what others ask is about their tasks."""


class NotAsked(InputError):
    """A person decides something that they are not asked, or not any more."""

    code = "not_asked"


class PlanningDesk(TaskDesk):
    """Planning is a part of the job: it is followed, paused, suspended and cancelled with it."""

    _reports: JobReports

    @abstractmethod
    async def _adopt(self, job: Job, ctx: Context) -> None:
        """Take the tasks of the plan up, in place of those before; none of them begins."""

    @abstractmethod
    async def _keep_plan(self) -> None:
        """Write the job with its tasks where whoever looks at the session finds it."""

    @abstractmethod
    async def _finish(self, state: JobState, ctx: Context, error: ErrorRecord | None = None) -> None: ...

    @abstractmethod
    def _note_state(self) -> None: ...

    @abstractmethod
    def _set_alarm(self) -> None: ...

    @abstractmethod
    def _check_answer(self, asking: Asking, text: str) -> None:
        """Raises Refused for an answer that means nothing to whoever asks."""

    @abstractmethod
    async def _person_helped(self, asking: Asking, answer: str, who: str, ctx: Context) -> None:
        """A person has answered somebody else's question, or has not (an empty answer)."""

    @abstractmethod
    def _situation(self, wanted: WantedChange) -> Change:
        """How the plan stands that is to be changed."""

    @abstractmethod
    async def _carry_change_out(self, planning: Planning, change: WantedChange, who: str, ctx: Context) -> None:
        """It was approved."""

    @abstractmethod
    async def _give_change_up(self, error: ErrorRecord, ctx: Context) -> None:
        """There will be no change of the plan."""

    async def _plan(self, planning: Planning, ctx: Context) -> None:
        """Have the Architect make one, the first or another, or a change of it."""
        self.state.planning = planning
        if _round(planning) > MOST_ROUNDS:
            error = ErrorRecord("no_plan", f"no plan was approved in {MOST_ROUNDS} tries")
            await self._planned_nothing(JobState.FAILED, error, ctx)
            return
        change = self._situation(planning.change) if planning.change is not None else None
        await ctx.publish("plan.begun", round=_round(planning), change=change.kind if change else "")
        record = self._ledger.record
        # All tasks of a record may be many; what the Architect needs of them is in the situation.
        record = msgspec.structs.replace(record, tasks={})
        self.state.plans += 1
        self.state.planning = msgspec.structs.replace(planning, number=self.state.plans)
        await ctx.tell(_architect(ctx), MakePlan(record, self.state.plans, _said(planning), change))

    @handler()
    async def plan_made(self, message: PlanMade, ctx: Context) -> None:
        """Show it to a person, or carry it out."""
        planning = self._awaited(message.job_id, message.round)
        if planning is None:
            return
        planning = msgspec.structs.replace(planning, plan=message.told)
        if planning.change is None:
            job = Job.model_validate_json(message.job)
            await self._adopt(job, ctx)
            tasks = [{"name": name, "depends_on": list(task.depends_on)} for name, task in job.tasks.items()]
        else:
            change = msgspec.structs.replace(planning.change, adjustments=message.adjustments)
            planning = msgspec.structs.replace(planning, change=change)
            tasks = [{"name": each.node_id, "change": each.type} for each in message.adjustments]
        self.state.planning = planning
        await ctx.publish("plan.made", summary=message.summary, text=message.told, tasks=tasks, round=_round(planning))
        if self._job.policy.approval == "auto":
            await self._carry_plan_out("policy", ctx)
        else:
            await self._ask_person("plan", message.told, ctx)

    @handler()
    async def plan_question(self, message: PlanQuestion, ctx: Context) -> None:
        """Ask a person."""
        if self._awaited(message.job_id, message.round) is not None:
            await self._ask_person("question", message.question, ctx)

    @handler()
    async def plan_failed(self, message: PlanFailed, ctx: Context) -> None:
        """There are no tasks to do."""
        if self._awaited(message.job_id, message.round) is not None:
            await self._planned_nothing(JobState.FAILED, message.error, ctx)

    @handler()
    async def decide(self, message: Decide, ctx: Context) -> JobRecord:
        """What a person says to what they are asked."""
        asking = next((each for each in self._asking if each.id == message.asking), None)
        if asking is None:
            raise Refused(NotAsked(f"nothing is asked under {message.asking} any more", hint="see `sylk inbox`"))
        if (message.decision == "answer") is not (asking.kind == "question") and message.decision != "deny":
            way = "answer" if asking.kind == "question" else "approve` or `sylk deny"
            raise Refused(NotAsked(f"{asking.id} is a {asking.kind}", hint=f"use `sylk {way}`"))
        if message.decision == "answer" and not message.text.strip():
            raise Refused(NotAsked("an empty answer says nothing", hint='sylk answer ID "..."'))
        self._check_answer(asking, message.text)
        await self._decided(asking, message.decision, message.text, message.who, ctx)
        planning = self.state.planning
        if asking.by != ARCHITECT:
            await self._person_helped(asking, message.text.strip(), message.who or "a person", ctx)
        elif planning is None:
            ctx.log.warning("%s was decided, and is not planned about any more", asking.id)
        elif message.decision == "approve":
            await self._carry_plan_out(message.who, ctx)
        elif message.decision == "answer":
            answers = [*planning.answers, (asking.text, message.text.strip())]
            await self._plan(msgspec.structs.replace(planning, answers=answers), ctx)
        elif message.text.strip():
            refused = Rejected(planning.plan or asking.text, message.text.strip())
            await self._plan(msgspec.structs.replace(planning, rejected=[*planning.rejected, refused], plan=""), ctx)
        else:
            what = "the plan was not approved" if asking.kind == "plan" else "the question was not answered"
            denied = ErrorRecord("denied", f"{what} by {message.who or 'a person'}")
            await self._planned_nothing(JobState.CANCELLED, denied, ctx)
        return self._ledger.record

    async def _ask_person(self, kind: Literal["plan", "question"], text: str, ctx: Context, by: str = ARCHITECT) -> str:
        now = ctx.clock.now()
        until = now + self._job.policy.answer_within_s
        asking = Asking(id=f"a-{secrets.token_hex(3)}", kind=kind, text=text, by=by, at=now, until=until)
        self._ledger.change(asking=[*self._asking, asking], waiting=f"for an answer: sylk inbox ({asking.id})")
        self._asked_changed()
        await ctx.publish("person.asked", id=asking.id, asked=asking.kind, text=text, role=asking.by, until=until)
        return asking.id

    async def _decided(self, asking: Asking, decision: str, text: str, who: str, ctx: Context) -> None:
        left = [each for each in self._asking if each.id != asking.id]
        waiting = f"for an answer: sylk inbox ({left[0].id})" if left else ""
        self._ledger.change(asking=left, waiting=waiting)
        self._asked_changed()
        await ctx.publish("person.decided", id=asking.id, asked=asking.kind, decision=decision, text=text, who=who)

    def _asked_changed(self) -> None:
        self._note_state()
        self._set_alarm()
        self._reports.soon()

    def _ask_for_longer(self, now: float) -> None:
        """After a pause, or a time in which nobody could answer: the person has the whole time again."""
        within = self._job.policy.answer_within_s
        if self._asking:
            asking = [msgspec.structs.replace(each, until=max(each.until, now + within)) for each in self._asking]
            self._ledger.change(asking=asking)
            self._asked_changed()

    async def _planned_nothing(self, state: JobState, error: ErrorRecord, ctx: Context) -> None:
        """A job without a plan is over; one whose plan stays as it is goes on."""
        if self.state.planning is not None and self.state.planning.change is not None:
            await self._give_change_up(error, ctx)
        else:
            await self._finish(state, ctx, error)

    async def _carry_plan_out(self, who: str, ctx: Context) -> None:
        planning = self.state.planning
        if planning is not None and planning.change is not None:
            await ctx.publish("plan.approved", by=who)
            await self._carry_change_out(planning, planning.change, who, ctx)
            return
        await self._keep_plan()
        self.state.planning = None
        self._note_state()
        await ctx.publish("plan.approved", by=who)
        await ctx.tell(ctx.address, Begin())

    async def _nobody_answered(self, ctx: Context) -> None:
        """What has waited too long is denied."""
        late = [each for each in self._asking if each.until <= ctx.clock.now()]
        for asking in late:
            await self._decided(asking, "deny", "nobody answered in time", NOBODY, ctx)
            if asking.by != ARCHITECT:
                await self._person_helped(asking, "", NOBODY, ctx)
        if any(asking.by == ARCHITECT for asking in late):
            within = f"{self._job.policy.answer_within_s:g} s"
            hint = "`sylk submit --yes` approves plans; `policy: {answer_within_s: ...}` waits longer"
            error = ErrorRecord("not_answered", f"nobody answered within {within}", hint)
            await self._planned_nothing(JobState.CANCELLED, error, ctx)

    async def _stop_planning(self, ctx: Context) -> None:
        """For a job that is cancelled meanwhile."""
        planning, self.state.planning = self.state.planning, None
        self._ledger.change(asking=[], waiting="")
        if planning is not None:
            stop = StopPlanning(planning.number)
            stopping = asyncio.create_task(ctx.ask(_architect(ctx), stop, timeout=30))
            stopping.add_done_callback(lambda task: task.cancelled() or task.exception())

    def _asked_until(self) -> float | None:
        """When the first of what a person is asked is not waited for any longer."""
        return min((each.until for each in self._asking), default=None)

    @property
    def _asking(self) -> list[Asking]:
        return self._ledger.record.asking if self.state.running else []

    def _awaited(self, job_id: str, round_: int) -> Planning | None:
        """The planning, if that is what this round of it was for and nobody has been asked yet."""
        planning = self.state.planning
        if planning is None or not self.state.running or self._ledger.record.job_id != job_id:
            return None
        waits = any(each.by == ARCHITECT for each in self._asking)
        return planning if planning.number == round_ and not planning.plan and not waits else None


def _round(planning: Planning) -> int:
    return 1 + len(planning.answers) + len(planning.rejected)


def _said(planning: Planning) -> list[str]:
    answered = [f"You asked: {question}\nThe person answered: {answer}" for question, answer in planning.answers]
    refused = [f"This was not wanted:\n{each.plan}\nThe person said: {each.reason}" for each in planning.rejected]
    return [*answered, *refused]


def _architect(ctx: Context) -> Address:
    return ctx.address.beside("architect", "main")
