"""What a person says to a task of the job that runs: ``/task <name> <action>``."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable

import msgspec

from actors.admission import key_of
from actors.orchestrator_state import OrchestratorState
from actors.task_views import describe_task, task_data
from sylk_ray.dag import Decision, NodeState, Scheduler
from sylk_ray.errors import InputError
from sylk_ray.jobs import Job
from sylk_ray.messaging import DeliveryError
from sylk_ray.pipelines.asking import TellEngineer
from sylk_ray.pipelines.brief import CHECKS, Check
from sylk_ray.pipelines.messages import DescribeTask, Overrule, TaskStatus, Waive
from sylk_ray.routing import find_task
from sylk_ray.runtime import Context, Refused, handler
from sylk_ray.runtime.leases import FAIR_SHARE, GetPlace
from sylk_ray.sessions.ledger import JobLedger
from sylk_ray.sessions.records import TaskRecord
from sylk_ray.speech import Conversant, Heard, NeedsModel, NoSuchJob
from sylk_ray.speech.tasks import (
    FindTask,
    FoundTask,
    UserIgnoreInspector,
    UserIgnoreTester,
    UserOverride,
    UserTaskInterrupt,
    UserTaskPrompt,
    UserTaskQuery,
)

_OVER = frozenset({NodeState.SUCCEEDED, NodeState.FAILED, NodeState.SKIPPED, NodeState.CANCELLED})


LONGEST_REASON = 500


class TaskOver(InputError):
    """A person wants something of a task that has ended."""

    code = "task_over"


class TaskDesk(Conversant[OrchestratorState]):
    """Half of the orchestrator: it takes a person's word about one task, and passes it on to the task's pipeline if
    that is at work. What it promises holds for later attempts too, and is in the journal before it is answered."""

    _job: Job
    _ledger: JobLedger
    _scheduler: Scheduler

    @abstractmethod
    async def _carry_out(self, decisions: Iterable[Decision], ctx: Context) -> None: ...

    @abstractmethod
    def _note_state(self) -> None: ...

    @handler(concurrent=True)
    async def find(self, message: FindTask, ctx: Context) -> FoundTask:
        """For the router, before it speaks to one of a task's agents."""
        try:
            name, record = self._find(message.task)
        except Refused as refusal:
            raise refusal.error from None
        return FoundTask(name, record.state == NodeState.RUNNING)

    @handler(concurrent=True)
    async def query(self, message: UserTaskQuery, ctx: Context) -> Heard:
        """How it is going, and what its worktree has changed so far."""
        try:
            name, record = self._find(message.task)
        except Refused as refusal:
            raise refusal.error from None
        status: TaskStatus | None = None
        waits = ""
        if record.state == NodeState.RUNNING:
            attempt = max(record.attempts, 1)
            try:
                if (name, attempt) in self.state.admitted:
                    status = await ctx.ask(ctx.address.beside("pipeline", name), DescribeTask(), timeout=10)
                else:
                    key = key_of(ctx.address.session, name, attempt)
                    waits = await ctx.ask(FAIR_SHARE, GetPlace(key), timeout=5)
            except DeliveryError as problem:
                ctx.log.warning("it cannot be said how %s is going: %s", name, problem)
        told = describe_task(record, status, ctx.clock.now())
        data = task_data(record, status)
        return Heard(f"{told}\nwaits to be let in: {waits}", {**data, "waits": waits}) if waits else Heard(told, data)

    @handler()
    async def interrupt(self, message: UserTaskInterrupt, ctx: Context) -> Heard:
        """End the task: it is cancelled, and what depends on it is skipped; the rest goes on."""
        name, record = self._at_work(message.task)
        if name == CHECKS:
            raise Refused(TaskOver("the session's checks are not a task", hint="`sylk cancel` ends the whole job"))
        reason = one_line(message.reason)
        decisions = self._scheduler.interrupt(name, reason or "a person interrupted it", ctx.clock.now())
        await self._told(name, "interrupt", reason, ctx)
        await self._carry_out(decisions, ctx)
        being = "being ended" if self._scheduler.state_of(name) is NodeState.RUNNING else "cancelled"
        return Heard(f"{name} is {being}", {"task": name, "was": record.state})

    @handler()
    async def ignore_inspector(self, message: UserIgnoreInspector, ctx: Context) -> Heard:
        """Let its work pass without the Inspector."""
        return await self._ignore(message.task, "inspector", message.reason, ctx)

    @handler()
    async def ignore_tester(self, message: UserIgnoreTester, ctx: Context) -> Heard:
        """Let its work pass without the Tester."""
        return await self._ignore(message.task, "tester", message.reason, ctx)

    async def _ignore(self, task: str, check: Check, reason: str, ctx: Context) -> Heard:
        name, record = self._at_work(task)
        data = {"task": name, "ignored": check}
        before = self.state.waived.get(name, ())
        if check in before:
            return Heard(f"the {check} is ignored for {name} already", data)
        self.state.waived = {**self.state.waived, name: (*before, check)}
        await self._told(name, f"ignore_{check}", one_line(reason), ctx)
        if name != CHECKS:
            self._ledger.task(name, waived=[*before, check])
        elif self._ledger.record.checks is not None:
            self._ledger.checks(CHECKS, ctx.clock.now(), waived=[*before, check])
        self._note_state()
        if record.state == NodeState.RUNNING:
            await ctx.tell(ctx.address.beside("pipeline", name), Waive(record.attempts, check))
        return Heard(f"{name} goes on without the {check}", data)

    @handler()
    async def override(self, message: UserOverride, ctx: Context) -> Heard:
        """Let its work pass with an issue; also that of a later attempt, when this one has failed for it."""
        name, record = self._find(message.task)
        if name != message.task:
            raise Refused(TaskOver(f"{message.task} is no task of the job that runs", hint="see `sylk jobs`"))
        failed = record.state == NodeState.FAILED
        if not self.state.running or (record.state in _OVER and not failed):
            raise Refused(TaskOver(f"{name} has ended: it is {record.state}", hint="see `sylk jobs`"))
        override = msgspec.structs.replace(message.override, reason=one_line(message.override.reason))
        data = {"task": name, "issue": override.issue}
        if any(each.issue == override.issue for each in record.overridden):
            return Heard(f"{override.issue} is accepted for {name} already", data)
        await self._told(name, "override", str(override), ctx)
        overridden = [*record.overridden, override]
        if name == CHECKS:
            self._ledger.checks(CHECKS, ctx.clock.now(), overridden=overridden)
        else:
            self._ledger.task(name, overridden=overridden)
        if (name, record.attempts) in self.state.admitted:
            await ctx.tell(ctx.address.beside("pipeline", name), Overrule(record.attempts, override))
        if name != CHECKS and "engineer" in self._job.tasks[name].thinks:
            await self._tell_engineer(name, record, f"A person accepts this, leave it as it is: {override.told}", ctx)
        self._note_state()
        return Heard(f"{name} may pass with {override}" + (", when it is tried again" if failed else ""), data)

    @handler()
    async def prompt(self, message: UserTaskPrompt, ctx: Context) -> Heard:
        """For an Engineer that thinks: it hears it before it goes on, and in every later attempt."""
        name, record = self._thinking(message.task, "a prompt")
        text = message.text.strip()
        if not text:
            raise Refused(InputError("there is nothing in it to hear", hint='/task NAME prompt "..."'))
        await self._tell_engineer(name, record, text, ctx)
        await self._told(name, "prompt", one_line(text), ctx)
        return Heard(f"{name}'s Engineer hears it at its next step", {"task": name})

    async def _tell_engineer(self, name: str, record: TaskRecord, text: str, ctx: Context) -> None:
        # One that was not let in yet finds it in its brief.
        if (name, record.attempts) in self.state.admitted:
            await ctx.tell(ctx.address.beside("pipeline", name), TellEngineer(record.attempts, text))
        self.state.prompted = {**self.state.prompted, name: (*self.state.prompted.get(name, ()), text)}

    def _thinking(self, task: str, what: str) -> tuple[str, TaskRecord]:
        """A task at work whose Engineer thinks; to others that would mean nothing. Raises Refused."""
        name, record = self._at_work(task)
        if name == CHECKS or "engineer" not in self._job.tasks[name].thinks:
            raise Refused(
                NeedsModel(
                    f"{what} means nothing to {name}: its Engineer does the actions that the job declares",
                    hint="query, interrupt, ignore_inspector and ignore_tester work for every task",
                )
            )
        return name, record

    async def _told(self, task: str, action: str, reason: str, ctx: Context) -> None:
        await ctx.publish("task.told", task=task, action=action, reason=reason)

    def _find(self, task: str) -> tuple[str, TaskRecord]:
        """By its whole name, or the one that it can only mean. Raises Refused."""
        job = self.state.record
        if job is None:
            raise Refused(NoSuchJob("no job has run in this session", hint="submit one: `sylk submit JOB.yaml`"))
        records = {name: entry.record for name, entry in self.state.tasks.items()}
        if job.checks is not None:
            records[CHECKS] = job.checks
        try:
            name = find_task(task, records)
        except InputError as problem:
            raise Refused(problem) from None
        return name, records[name]

    def _at_work(self, task: str) -> tuple[str, TaskRecord]:
        """The same, of a task that has not ended."""
        name, record = self._find(task)
        if not self.state.running or record.state in _OVER:
            raise Refused(TaskOver(f"{name} has ended: it is {record.state}", hint="see `sylk jobs`"))
        return name, record


def one_line(reason: str) -> str:
    """A reason as it is kept: it goes into every record of the task."""
    line = " ".join(reason.split())
    return line if len(line) <= LONGEST_REASON else f"{line[:LONGEST_REASON]}..."
