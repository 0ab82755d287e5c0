"""Routes by which the plan of a job is changed while it is carried out."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Depends, Response
from pydantic import BaseModel, ConfigDict, Field

from actors.planning_messages import AdjustPlan, ChangeKind, RequestPlanChange, RetryTask, SkipTask, UpdatePlan
from sylk_ray.gateway.answers import answer, documented
from sylk_ray.gateway.front import Front
from sylk_ray.gateway.reach import front_of
from sylk_ray.jobs import Adjustment, CannotAdjust, Strategy, load_job
from sylk_ray.messaging import Address, Request
from sylk_ray.sessions import JobRecord

Reach = Annotated[Front, Depends(front_of)]
_TIMEOUT_S = 60.0

routes = APIRouter(prefix="/jobs/{job_id}", tags=["plans"])


class Wish(BaseModel):
    """Who wants it, and why."""

    model_config = ConfigDict(extra="forbid")

    who: str = Field(default="", max_length=200)
    why: str = Field(default="", max_length=20_000)


class Adjusting(Wish):
    """Changes of single tasks."""

    adjustments: list[dict[str, Any]] = Field(
        description="Each with type (add_node, remove_node, modify_node, change_deps, reprioritize), node_id, and "
        "details: fields of a task as in a job file."
    )


class Updating(Wish):
    """Other tasks: of a whole job, as the text of a job file or the same as a JSON object."""

    job: str | dict[str, Any]
    source: str = Field(default="job", description="What problems in the job are reported under.")
    strategy: Strategy = Field(
        default="merge_pending",
        description="Tasks that have begun stay; go on only where they are the same; or are all ended.",
    )


class ChangeWanted(Wish):
    """What the Architect is to change; ``why`` says it in words."""

    change: ChangeKind = "modify"
    context: dict[str, Any] = {}


@routes.post("/adjust", responses=documented(JobRecord))
async def adjust(job_id: str, body: Adjusting, front: Reach) -> Response:
    """Change tasks: all of it, or nothing when the job would not be a sound one."""
    try:
        adjustments = msgspec.convert(body.adjustments, list[Adjustment])
    except msgspec.ValidationError as problem:
        raise CannotAdjust(f"this is no list of adjustments: {problem}") from None
    return await _asked(front, job_id, AdjustPlan(adjustments, body.why, body.who))


@routes.post("/plan", responses=documented(JobRecord))
async def update(job_id: str, body: Updating, front: Reach) -> Response:
    """Take other tasks in place of those there are."""
    text = body.job if isinstance(body.job, str) else json.dumps(body.job, indent=2, ensure_ascii=False)
    job = await asyncio.to_thread(load_job, text, source=body.source)
    return await _asked(front, job_id, UpdatePlan(job.model_dump_json(), body.strategy, body.why, body.who))


@routes.post("/tasks/{task}/retry", responses=documented(JobRecord))
async def retry(job_id: str, task: str, front: Reach, body: Wish | None = None) -> Response:
    """Try a task again that has failed or was interrupted."""
    return await _asked(front, job_id, RetryTask(task, (body or Wish()).who))


@routes.post("/tasks/{task}/skip", responses=documented(JobRecord))
async def skip(job_id: str, task: str, front: Reach, body: Wish | None = None) -> Response:
    """Do without a task; what depends on it goes on."""
    wish = body or Wish()
    return await _asked(front, job_id, SkipTask(task, wish.why, wish.who))


@routes.post("/changes", responses=documented(JobRecord))
async def request_change(job_id: str, body: ChangeWanted, front: Reach) -> Response:
    """Have the Architect change the plan; what it proposes is asked about like any plan."""
    return await _asked(front, job_id, RequestPlanChange(body.change, body.why, body.context, body.who))


async def _asked(front: Front, job_id: str, message: Request[JobRecord]) -> Response:
    job = await front.job(job_id)
    if job.status.over or job.status.waiting:
        what = "is over" if job.status.over else f"is {job.status}, and not at work"
        raise CannotAdjust(f"job {job.job_id} {what}", hint="`sylk resume` lets a resting job go on; then change it")
    orchestrator = Address(job.session_id, "orchestrator", "main")
    return answer(await front.ask(orchestrator, message, timeout=_TIMEOUT_S))
