"""Routes about the runtime itself."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Annotated

from fastapi import APIRouter, Depends, Response
from pydantic import BaseModel, ConfigDict, Field

from sylk_ray import __version__
from sylk_ray.errors import SylkError
from sylk_ray.gateway.answers import Health, ShutDownAnswer, Status, answer, documented
from sylk_ray.gateway.front import Front
from sylk_ray.gateway.reach import front_of
from sylk_ray.runtime.directory import FLEET
from sylk_ray.runtime.fleet_messages import Census, ShutDown
from sylk_ray.sessions.messages import GUIDE, EndAllSessions, ListJobs, ListSessions
from sylk_ray.sessions.records import JobState

Reach = Annotated[Front, Depends(front_of)]

log = logging.getLogger("sylk.gateway")
routes = APIRouter(tags=["runtime"])


class Stopping(BaseModel):
    """How the runtime is shut down."""

    model_config = ConfigDict(extra="forbid")

    now: bool = Field(default=False, description="Do not wait for what runs to end in order.")


@routes.get("/health", responses=documented(Health))
async def health() -> Response:
    """The gateway listens; nothing is said about the agents."""
    return answer(Health(ok=True, version=__version__))


@routes.get("/status", responses=documented(Status))
async def status(front: Reach) -> Response:
    """The runtime at a glance."""
    census, sessions, jobs = await asyncio.gather(
        front.census(), front.ask(GUIDE, ListSessions()), front.ask(GUIDE, ListJobs())
    )
    settings = front.host.settings
    return answer(
        Status(
            version=__version__,
            density=settings.density,
            home=str(front.home),
            uptime_s=round(time.monotonic() - front.started, 1),
            cells=len(census.cells),
            warm_cells=sum(cell.warm for cell in census.cells),
            agents=len(census.agents),
            sessions=len(sessions),
            running_jobs=sum(job.status is JobState.RUNNING for job in jobs),
            silent=census.silent,
        )
    )


@routes.get("/agents", responses=documented(Census))
async def agents(front: Reach) -> Response:
    """Every cell and every living agent."""
    return answer(await front.census())


@routes.post("/shutdown", responses=documented(ShutDownAnswer))
async def shutdown(front: Reach, body: Stopping | None = None) -> Response:
    """Cancel what runs and end every cell but the system's own, which whoever asks ends next."""
    now = (body or Stopping()).now
    cancelled = 0
    try:
        cancelled = await front.ask(GUIDE, EndAllSessions(), timeout=3 if now else 120)
    except SylkError as error:
        log.warning("not every job was cancelled in order: %s", error)
    await front.ask(FLEET, ShutDown(grace_s=0.2 if now else 5.0), timeout=60)
    return answer(ShutDownAnswer(cancelled))
