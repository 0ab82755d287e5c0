"""The part of an orchestrator that changes a plan while it is carried out, or has the Architect change it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable
from typing import Any, TypeVar

import msgspec

from actors.job_messages import KeepPlan
from actors.orchestrator_state import Planning, WantedChange
from actors.planning_desk import PlanningDesk
from actors.planning_messages import (
    AdjustPlan,
    Change,
    RequestPlanChange,
    RetryTask,
    SkipTask,
    UpdatePlan,
)
from actors.task_desk import TaskOver, one_line
from sylk_ray.dag import NodeState, layers
from sylk_ray.errors import InputError
from sylk_ray.jobs import Adjustment, Job, Task, adjusted, check_models, graph_of, merged, with_tasks
from sylk_ray.runtime import Context, Refused, handler
from sylk_ray.sessions import JobRecord, JobState
from sylk_ray.sessions.records import ErrorRecord, TaskRecord
from sylk_ray.thinking.toolbox import shortened

ResultT = TypeVar("ResultT")
ENDED_BADLY = (NodeState.FAILED, NodeState.CANCELLED)
LONGEST_ERROR = 4_000
"""Characters of an error that the Architect is told."""


class AdjustingDesk(PlanningDesk):
    """Whoever changes a plan: it is sound before and after, and what is done stays done."""

    @abstractmethod
    def _is_current(self, task: str, attempt: int) -> bool: ...

    @abstractmethod
    def _enter_tasks(self) -> None: ...

    @abstractmethod
    async def _drop_handoff(self, task: str, why: str, ctx: Context) -> None: ...

    @abstractmethod
    async def _graph_ended(self, ctx: Context) -> None: ...

    @handler()
    async def adjust(self, message: AdjustPlan, ctx: Context) -> JobRecord:
        """Change single tasks."""
        self._check_changeable()
        for each in message.adjustments:
            entry = self.state.tasks.get(each.node_id)
            if each.type == "remove_node" and entry is not None and entry.record.state == NodeState.SUCCEEDED:
                raise Refused(TaskOver(f"{each.node_id} is done", hint="`git revert` takes back what is on the branch"))
        job = _or_refused(lambda: adjusted(self._job, message.adjustments))
        await self._amend(job, ctx, why=message.why, by=message.who, named=_given(message.adjustments))
        return self._shown()

    @handler()
    async def update(self, message: UpdatePlan, ctx: Context) -> JobRecord:
        """Take another plan."""
        self._check_changeable()
        plan = Job.model_validate_json(message.job)
        if not plan.tasks:
            raise Refused(InputError("it has no tasks", hint="to ask the Architect: `sylk plan ask`"))
        begun = self._begun()
        merging = message.strategy == "merge_pending"
        job = _or_refused(lambda: merged(self._job, plan, begun) if merging else with_tasks(self._job, plan.tasks))
        await self._amend(job, ctx, why=message.why, by=message.who, anew=message.strategy == "abort_and_replace")
        return self._shown()

    @handler()
    async def retry(self, message: RetryTask, ctx: Context) -> JobRecord:
        """Try a task again."""
        self._check_changeable()
        name, _ = self._find(message.task)
        decisions = _or_refused(lambda: self._scheduler.retry([name], ctx.clock.now()))
        self._has_changed()
        await self._told(name, "retry", "", ctx)
        await self._carry_out(decisions, ctx)
        return self._shown()

    @handler()
    async def skip(self, message: SkipTask, ctx: Context) -> JobRecord:
        """Do without a task."""
        self._check_changeable()
        name, record = self._find(message.task)
        if record.state == NodeState.SUCCEEDED:
            raise Refused(TaskOver(f"{name} is done", hint="what is done is on the branch: `git revert` takes it back"))
        reason = one_line(message.reason) or f"{message.who or 'a person'} does without it"
        decisions = _or_refused(lambda: self._scheduler.skip(name, reason, ctx.clock.now()))
        self._has_changed()
        await self._told(name, "skip", reason, ctx)
        await self._carry_out(decisions, ctx)
        return self._shown()

    @handler()
    async def request_change(self, message: RequestPlanChange, ctx: Context) -> JobRecord:
        """Ask the Architect."""
        self._check_changeable()
        if self.state.planning is not None:
            raise Refused(InputError("the plan is being changed already", hint="see `sylk inbox`"))
        told = "\n".join([message.reason, *(f"{name}: {value}" for name, value in message.context.items())])
        await self._want_change(WantedChange(message.change, told), ctx)
        return self._ledger.record

    def _shown(self) -> JobRecord:
        """The job as it is now, to whoever has changed it and to all who ask next."""
        self._reports.at_once()
        return self._ledger.record

    # -- how a plan is changed --------------------------------------------------------------------------------

    async def _amend(
        self, job: Job, ctx: Context, *, why: str, by: str, named: Collection[str] = (), anew: bool = False
    ) -> None:
        """Go on with the tasks of ``job``. What has begun and is not among them is ended and done without; what has
        begun and is otherwise now, or ``anew`` anything that runs, is begun again; and so is what has failed and was
        ``named``, though it be as it was."""
        before, now = self._job, ctx.clock.now()
        left_out = self._begun() - job.tasks.keys()
        if left_out:
            job = _or_refused(lambda: with_tasks(job, {**_without_parents(before, left_out), **job.tasks}))
        same = [name for name in job.tasks if name in before.tasks]
        changed = {name for name in same if not _alike(job.tasks[name], before.tasks[name])}
        given = changed.union(named)
        succeeded = {name for name in changed if self._scheduler.state_of(name) is NodeState.SUCCEEDED}
        if done := sorted(succeeded):
            raise Refused(TaskOver(f"{done[0]} is done, and cannot be changed any more", hint="add another task"))
        _or_refused(lambda: check_models(job, ctx.settings))
        graph = graph_of(job)
        amended, decisions = _or_refused(lambda: self._scheduler.amended(graph, now))
        # On a copy until all of it has been found possible.
        for name in left_out:
            decisions += amended.skip(name, "it was taken out of the plan", now)
        known = [name for name in same if name not in left_out]
        for name in known:
            if amended.state_of(name) is NodeState.RUNNING and (anew or name in changed):
                decisions += amended.redo(name, "its task has changed", now)
        again = [name for name in known if (anew or name in given) and amended.state_of(name) in ENDED_BADLY]
        decisions += _or_refused(lambda: amended.retry(again, now))
        self._job, self._scheduler = job, amended
        self._has_changed()
        self.state.planned = job.model_dump_json()
        for name in same if anew else changed:
            await self._drop_handoff(name, "its task has changed", ctx)
        self._ledger.amend(layers(graph))
        self._enter_tasks()
        for name in same:
            if job.tasks[name].lane is not before.tasks[name].lane:
                self._ask_in_again(name, job.tasks[name])
        await ctx.tell(ctx.address, KeepPlan())
        await ctx.publish(
            "plan.changed",
            added=sorted(job.tasks.keys() - before.tasks.keys()),
            removed=sorted((before.tasks.keys() - job.tasks.keys()) | left_out),
            changed=sorted(changed),
            why=why,
            by=by,
        )
        await self._carry_out(decisions, ctx)

    @abstractmethod
    def _ask_in_again(self, name: str, task: Task) -> None:
        """A task that waits to be let in is more urgent now, or less."""

    def _check_changeable(self) -> None:
        """Raises Refused."""
        if not self.state.running:
            raise Refused(TaskOver("the job is over", hint="what is missing can be submitted as another job"))
        if self.state.planning is not None and self.state.planning.change is None:
            raise Refused(InputError("the job has no plan yet", hint="see `sylk inbox`"))
        if self.state.cancelling:
            raise Refused(TaskOver("the job is being cancelled"))
        if self.state.checks_attempted:
            raise Refused(TaskOver("all tasks have ended, and the session's checks run"))

    def _has_changed(self) -> None:
        """What the job would have ended with does not hold any more."""
        planning = self.state.planning
        if planning is not None and planning.change is not None:
            change = msgspec.structs.replace(planning.change, otherwise=None)
            self.state.planning = msgspec.structs.replace(planning, change=change)

    def _begun(self) -> set[str]:
        return {name for name, entry in self.state.tasks.items() if entry.progress.attempt}

    # -- what the Architect changes ---------------------------------------------------------------------------

    async def _mend(self, error: ErrorRecord, ctx: Context) -> bool:
        """Have the Architect change the plan because something has failed, if it may; else the job ends with that."""
        request, allowed = self._job.request, self._job.policy.max_fixes
        if request is None or self.state.changes >= allowed or self.state.cancelling:
            return False
        self.state.changes += 1
        await self._want_change(WantedChange("fix", error.message, otherwise=error), ctx)
        return True

    async def _want_change(self, change: WantedChange, ctx: Context) -> None:
        await self._plan(Planning(change=change), ctx)
        self._note_state()

    def _situation(self, wanted: WantedChange) -> Change:
        tasks = self._ledger.record.tasks
        told = [_told(record) for record in tasks.values()]
        failed = [name for name, task in tasks.items() if task.state in ENDED_BADLY]
        done = [name for name, task in tasks.items() if task.state == NodeState.SUCCEEDED]
        job = self._job.model_dump_json()
        return Change(wanted.kind, wanted.why, "\n".join(told), job, tuple(failed), tuple(done))

    async def _carry_change_out(self, planning: Planning, change: WantedChange, who: str, ctx: Context) -> None:
        self.state.planning = None
        try:
            job = adjusted(self._job, change.adjustments)
            await self._amend(job, ctx, why=change.why, by=who, named=_given(change.adjustments))
        except (InputError, Refused) as problem:
            # The plan has changed since the Architect looked at it.
            self.state.planning = planning
            await self._give_change_up(ErrorRecord.of(getattr(problem, "error", problem)), ctx)

    async def _give_change_up(self, error: ErrorRecord, ctx: Context) -> None:
        """The plan stays as it is; when nothing of it is left to do, the job ends as it would have."""
        planning, self.state.planning = self.state.planning, None
        await ctx.publish("plan.unchanged", error=msgspec.to_builtins(error))
        self._note_state()
        if not self._scheduler.finished:
            return
        if planning is not None and planning.change is not None and planning.change.otherwise is not None:
            await self._finish(JobState.FAILED, ctx, planning.change.otherwise)
        else:
            await self._graph_ended(ctx)


def _or_refused(doing: Callable[[], ResultT]) -> ResultT:
    """Raises Refused: whoever wants it is told what is wrong, and nothing has changed."""
    try:
        return doing()
    except InputError as problem:
        raise Refused(problem) from None


def _given(adjustments: Iterable[Adjustment]) -> set[str]:
    return {each.node_id for each in adjustments if each.type == "modify_node"}


def _without_parents(job: Job, names: Iterable[str]) -> dict[str, Task]:
    """They wait for nothing any more."""
    return {name: job.tasks[name].model_copy(update={"depends_on": ()}) for name in names}


def _alike(task: Task, other: Task) -> bool:
    """Whether the same is done, whenever that is."""
    when: dict[str, Any] = {"depends_on": (), "priority": "normal"}
    return task.model_copy(update=when) == other.model_copy(update=when)


def _told(record: TaskRecord) -> str:
    """Without times: the same is told when it happens again."""
    lines = [f"{record.name}: {record.state}"]
    if record.files_changed:
        lines.append(f"  changed {', '.join(record.files_changed)}")
    if record.reason:
        lines.append(f"  {record.reason}")
    if record.error is not None:
        lines.append(f"  error: {shortened(record.error.message, LONGEST_ERROR)}")
    return "\n".join(lines)
