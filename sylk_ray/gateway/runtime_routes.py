"""Routes about the runtime itself."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Annotated

from fastapi import APIRouter, Depends, Response
from pydantic import BaseModel, ConfigDict, Field

from actors.coordinator import COORDINATOR, EndSystem
from sylk_ray import __version__
from sylk_ray.errors import SylkError
from sylk_ray.fairness import Snapshot
from sylk_ray.gateway.answers import Health, ShutDownAnswer, Status, answer, documented
from sylk_ray.gateway.front import Front
from sylk_ray.gateway.reach import front_of
from sylk_ray.runtime.fleet_messages import Census
from sylk_ray.runtime.health import GetHealth
from sylk_ray.runtime.leases import FAIR_SHARE, GetShares
from sylk_ray.sessions.messages import GUIDE, ListJobs, ListSessions
from sylk_ray.sessions.records import JobState

Reach = Annotated[Front, Depends(front_of)]

GRACE_S = 10.0
"""How long what runs has to come to the end of a step."""

log = logging.getLogger("sylk.gateway")
routes = APIRouter(tags=["runtime"])


class Stopping(BaseModel):
    """How the runtime is shut down."""

    model_config = ConfigDict(extra="forbid")

    now: bool = Field(default=False, description="Do not wait for what runs: it is done again from its last step.")
    wait: bool = Field(default=False, description="Let all running and queued jobs come to their ends first.")


@routes.get("/health", responses=documented(Health))
async def health() -> Response:
    """The gateway listens; nothing is said about the agents."""
    return answer(Health(ok=True, version=__version__))


@routes.get("/status", responses=documented(Status))
async def status(front: Reach) -> Response:
    """The runtime at a glance."""
    census, sessions, jobs, health = await asyncio.gather(
        front.census(),
        front.ask(GUIDE, ListSessions()),
        front.ask(GUIDE, ListJobs()),
        front.ask(COORDINATOR, GetHealth()),
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
            health=health,
        )
    )


@routes.get("/agents", responses=documented(Census))
async def agents(front: Reach) -> Response:
    """Every cell and every living agent."""
    return answer(await front.census())


@routes.get("/shares", responses=documented(Snapshot))
async def shares(front: Reach) -> Response:
    """Who holds and who waits for what is shared: sessions by their ids, with their leases and waits."""
    return answer(await front.ask(FAIR_SHARE, GetShares(), timeout=10))


@routes.post("/shutdown", responses=documented(ShutDownAnswer))
async def shutdown(front: Reach, body: Stopping | None = None) -> Response:
    """Bring what runs to rest and end every cell but the system's own, which whoever asks ends next."""
    how = body or Stopping()
    grace_s = 0.0 if how.now else GRACE_S
    patience_s = 15.0 if how.now else 7 * 24 * 3600.0 if how.wait else 120.0
    try:
        resumable = await front.ask(COORDINATOR, EndSystem(how.wait, grace_s), timeout=patience_s)
    except SylkError as error:
        # What was not put to rest in order is found in its journal when the runtime is started again.
        log.warning("the runtime does not end in order: %s", error)
        resumable = []
    return answer(ShutDownAnswer([job.job_id for job in resumable]))
