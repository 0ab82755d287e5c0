"""What a pipeline is told of its attempt: the job's assignment, its limits, and what its parents have done."""

from __future__ import annotations

from typing import Any

import msgspec

from sylk_ray.dag import Start
from sylk_ray.fairness import Lane
from sylk_ray.jobs import Job
from sylk_ray.pipelines.brief import CHECKS, Assignment, Brief, Check
from sylk_ray.pipelines.messages import PipelineResult
from sylk_ray.sessions import JobRecord


def brief_of_task(
    job: Job,
    record: JobRecord,
    start: Start,
    waived: tuple[Check, ...] = (),
    said: tuple[str, ...] = (),
    reworded: str | None = None,
) -> Brief:
    """For one attempt of a task, which passes without the checks that are ``waived``; a person has ``said`` that, and
    the Architect has ``reworded`` what is asked for the attempt."""
    name = start.node.name
    task = job.tasks[name]
    assignment = Assignment(
        request=job.request or "",
        description=task.description,
        prompt=(task.prompt or "") if reworded is None else reworded,
        literal=task.literal or reworded is not None,
        criteria=task.criteria,
        thinks=task.thinks,
        thinking=job.thinking,
        may_ask=job.policy.approval == "ask",
        engineer=task.engineer,
        on_feedback=task.on_feedback,
        inspector=task.inspector,
        tester=task.tester,
    )
    max_loops = job.policy.max_loops if task.max_loops is None else task.max_loops
    brief = _brief(
        job, record, name, assignment, start.attempt, start.parent_results, max_loops=max_loops, lane=task.lane
    )
    return msgspec.structs.replace(brief, waived=waived, overridden=tuple(record.tasks[name].overridden), said=said)


def brief_of_checks(
    job: Job,
    record: JobRecord,
    attempt: int,
    waived: tuple[Check, ...] = (),
) -> Brief:
    """For the checks of the whole branch at the job's end (its ``finally``)."""
    finale = job.finally_
    assert finale is not None
    assignment = Assignment(
        prompt=job.description,
        inspector=finale.inspector,
        tester=finale.tester,
        thinks=("inspector",) if finale.review else (),
        thinking=job.thinking,
    )
    brief = _brief(job, record, CHECKS, assignment, attempt, {}, max_loops=0, lane=Lane.HIGH)
    # What was accepted of any task is on the branch.
    accepted = [*record.tasks.values(), *([record.checks] if record.checks else [])]
    overridden = tuple(each for task in accepted for each in task.overridden)
    return msgspec.structs.replace(brief, waived=waived, overridden=overridden)


def _brief(
    job: Job,
    record: JobRecord,
    name: str,
    assignment: Assignment,
    attempt: int,
    parents: dict[str, PipelineResult | None],
    *,
    max_loops: int,
    lane: Lane,
) -> Brief:
    variables: dict[str, Any] = {
        "vars": dict(job.vars),
        "tasks": {
            # One that was done without has no result.
            parent: msgspec.to_builtins(result or PipelineResult())
            for parent, result in parents.items()
        },
        "task": {"name": name, "attempt": attempt},
        "session": {"id": record.session_id, "name": record.session, "branch": record.branch},
    }
    return Brief(
        session=record.session_id,
        session_name=record.session,
        repo=record.repo,
        task=name,
        attempt=attempt,
        assignment_json=assignment.model_dump_json(),
        limits_json=job.limits.model_dump_json(),
        sandbox_json=job.sandbox.model_dump_json(),
        max_loops=max_loops,
        variables=variables,
        lane=lane,
        base=record.base,
    )
