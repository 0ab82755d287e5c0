"""Changes of a job that runs: single ones, and another plan in place of what has not begun."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal, cast, get_args

import msgspec
from pydantic import ValidationError

from sylk_ray.dag import did_you_mean
from sylk_ray.errors import InputError
from sylk_ray.jobs.model import Job, Task

Kind = Literal["add_node", "remove_node", "modify_node", "change_deps", "reprioritize"]
Strategy = Literal["merge_pending", "replace", "abort_and_replace"]
"""What becomes of tasks that have begun when there is another plan: they stay as they are; they go on where they are
the same and are ended or begun anew where not; all that run are ended or begun anew."""

_TAKES: dict[Kind, frozenset[str]] = {
    "add_node": frozenset(Task.model_fields),
    "modify_node": frozenset(Task.model_fields),
    "remove_node": frozenset(),
    "change_deps": frozenset({"depends_on"}),
    "reprioritize": frozenset({"priority"}),
}


class Adjustment(msgspec.Struct, frozen=True):
    """One change. ``details`` are fields of a task as in a job file: all of a new one, those that change of another."""

    type: Kind
    node_id: str
    """The task's name."""
    details: dict[str, Any] = {}


class CannotAdjust(InputError):
    """The job would not be a sound one."""

    code = "cannot_adjust"


def adjusted(job: Job, adjustments: Iterable[Adjustment]) -> Job:
    """The job with all of them made, in their order: together they have to make a sound one. A task that is removed is
    taken out of what others depend on. Raises CannotAdjust."""
    tasks = {name: task.model_dump(exclude_unset=True) for name, task in job.tasks.items()}
    for each in adjustments:
        _adjust(tasks, each)
    return with_tasks(job, tasks)


def with_tasks(job: Job, tasks: Mapping[str, Any]) -> Job:
    """The job with other tasks. Raises CannotAdjust."""
    if not tasks:
        raise CannotAdjust("a job needs a task", hint="to end it: `sylk cancel`")
    try:
        return Job.model_validate({**job.model_dump(by_alias=True, exclude={"tasks"}), "tasks": dict(tasks)})
    except ValidationError as problem:
        told = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}".removeprefix(": ") for each in problem.errors()]
        raise CannotAdjust("; ".join(told), hint="nothing was changed") from None


def merged(job: Job, plan: Job, begun: Collection[str]) -> Job:
    """The tasks of ``plan``, and as they were those that have ``begun``. Raises CannotAdjust."""
    kept = {name: task for name, task in job.tasks.items() if name in begun}
    return with_tasks(job, {**kept, **{name: task for name, task in plan.tasks.items() if name not in kept}})


def _adjust(tasks: dict[str, dict[str, Any]], change: Adjustment) -> None:
    name, details = change.node_id, change.details
    if change.type not in get_args(Kind):
        raise CannotAdjust(f"there is no change {change.type!r}", hint=f"there are: {', '.join(get_args(Kind))}")
    if unknown := sorted(details.keys() - _TAKES[change.type]):
        hint = did_you_mean(unknown[0], _TAKES[change.type]) or f"it takes: {', '.join(sorted(_TAKES[change.type]))}"
        raise CannotAdjust(f"{change.type} of {name} does not take {unknown[0]!r}", hint=hint)
    after = details.get("depends_on", ())
    if not isinstance(after, list | tuple) or not all(isinstance(each, str) for each in cast("list[object]", after)):
        raise CannotAdjust(f"depends_on of {name} is no list of names", hint="for example depends_on: [a, b]")
    if change.type == "add_node":
        if name in tasks:
            raise CannotAdjust(f'there is a task "{name}" already', hint="modify_node changes it")
        tasks[name] = dict(details)
        return
    if name not in tasks:
        raise CannotAdjust(f'there is no task "{name}"', hint=did_you_mean(name, tasks) or ", ".join(tasks))
    if change.type == "remove_node":
        del tasks[name]
        for task in tasks.values():
            task["depends_on"] = [each for each in cast("Iterable[str]", task.get("depends_on", ())) if each != name]
    elif not details:
        takes = ", ".join(sorted(_TAKES[change.type]))
        raise CannotAdjust(f"{change.type} of {name} says nothing", hint=f"it takes: {takes}")
    else:
        tasks[name] |= details
