"""Routes about what people are asked."""

from __future__ import annotations

import asyncio
import time
from typing import Annotated, Literal

import msgspec
from fastapi import APIRouter, Depends, Response
from pydantic import BaseModel, ConfigDict, Field

from actors.planning_messages import Decide
from sylk_ray.errors import InputError
from sylk_ray.gateway.answers import NotFound, answer, documented
from sylk_ray.gateway.front import Front
from sylk_ray.gateway.reach import front_of
from sylk_ray.messaging import Address
from sylk_ray.sessions import JobRecord, JobState
from sylk_ray.sessions.messages import GUIDE, ListJobs
from sylk_ray.sessions.records import Asking

Reach = Annotated[Front, Depends(front_of)]

HEARD_WITHIN_S = 2.0

routes = APIRouter(prefix="/inbox", tags=["people"])


class AskedByJob(msgspec.Struct, frozen=True):
    """Something that a person is asked, and the job that waits for it."""

    job_id: str
    session: str
    asking: Asking


class Decision(BaseModel):
    """What a person says to it."""

    model_config = ConfigDict(extra="forbid")

    decision: Literal["approve", "deny", "answer"]
    text: str = Field(default="", max_length=20_000, description="The answer; of a denial, what is wanted instead.")
    who: str = Field(default="", max_length=200, description="Whose decision it is.")


@routes.get("", responses=documented(list[AskedByJob]))
async def inbox(front: Reach) -> Response:
    """What people are asked, the oldest first."""
    return answer(sorted(await _asked(front), key=lambda each: each.asking.at))


@routes.post("/{asking}", responses=documented(JobRecord))
async def decide(asking: str, body: Decision, front: Reach) -> Response:
    """Approve, deny or answer; a denial with a text asks for another plan."""
    until = time.monotonic() + HEARD_WITHIN_S
    while not (found := [each for each in await _asked(front) if each.asking.id.startswith(asking)]):
        # Whoever follows the job may know of it before the Guide has heard.
        if time.monotonic() >= until:
            break
        await asyncio.sleep(0.1)
    if len(found) > 1:
        raise InputError(f"{asking} can mean {', '.join(each.asking.id for each in found)}", hint="give the whole id")
    if not found:
        raise NotFound(f"nothing is asked under {asking}, or not any more", hint="`sylk inbox` lists what is asked")
    job = await front.job(found[0].job_id)
    orchestrator = Address(job.session_id, "orchestrator", "main")
    message = Decide(found[0].asking.id, body.decision, body.text, body.who)
    return answer(await front.ask(orchestrator, message))


async def _asked(front: Front) -> list[AskedByJob]:
    jobs = await front.ask(GUIDE, ListJobs())
    at_work = [job for job in jobs if job.status in (JobState.RUNNING, JobState.PAUSED)]
    return [AskedByJob(job.job_id, job.session, each) for job in at_work for each in job.asking]
