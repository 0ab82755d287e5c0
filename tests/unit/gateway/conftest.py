"""A gateway in front of a fake Guide and a fake fleet, with a real router, all in one process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import ClassVar

import httpx
import msgspec
import pytest

from actors.session_router import SessionRouter
from sylk_ray.config import Settings
from sylk_ray.errors import InputError
from sylk_ray.gateway.agent import GatewayAgent
from sylk_ray.gateway.app import create_app
from sylk_ray.gateway.front import Front
from sylk_ray.messaging import UnknownAddress
from sylk_ray.runtime import Agent, Context, Host, LocalTransport, MemoryJournal, Roles, SessionBinding, SystemClock
from sylk_ray.runtime.agent import handler
from sylk_ray.runtime.directory import LocateSession
from sylk_ray.runtime.fleet_messages import CellStatus, Census, ShutDown, TakeCensus
from sylk_ray.sessions import JobRecord, JobState, SessionRecord
from sylk_ray.sessions.messages import (
    CancelJob,
    EndAllSessions,
    EndSession,
    GetJob,
    GetSession,
    ListJobs,
    ListSessions,
    StartJob,
    SubmitJob,
)

TOKEN = "secret"


def a_job(job_id: str = "j-1", status: JobState = JobState.RUNNING) -> JobRecord:
    return JobRecord(job_id, "tidy", f"s-{job_id[2:]}", "tidy-1", "/repo", "sylk/tidy-1", status, 1.0)


class FakeGuide(Agent[None]):
    role = "guide"
    jobs: ClassVar[dict[str, JobRecord]] = {}
    sessions: ClassVar[dict[str, SessionRecord]] = {}
    heard: ClassVar[list[object]] = []

    @handler(concurrent=True)
    async def submit(self, message: SubmitJob, ctx: Context) -> JobRecord:
        self.heard.append(message)
        return a_job("j-new", JobState.RUNNING if message.start else JobState.PREPARED)

    @handler(concurrent=True)
    async def start(self, message: StartJob, ctx: Context) -> JobRecord:
        self.heard.append(message)
        job = msgspec.structs.replace(self.jobs[message.job_id], status=JobState.RUNNING, ray_job=message.ray_job)
        self.jobs[message.job_id] = job
        return job

    @handler(concurrent=True)
    async def cancel(self, message: CancelJob, ctx: Context) -> JobRecord:
        self.heard.append(message)
        return self.jobs[message.job_id]

    @handler(concurrent=True)
    async def get_job(self, message: GetJob, ctx: Context) -> JobRecord:
        if message.job_id not in self.jobs:
            raise InputError(f"there is no job {message.job_id!r}", hint="see `sylk jobs`")
        return self.jobs[message.job_id]

    @handler(concurrent=True)
    async def list_jobs(self, message: ListJobs, ctx: Context) -> list[JobRecord]:
        return list(self.jobs.values())

    @handler(concurrent=True)
    async def list_sessions(self, message: ListSessions, ctx: Context) -> list[SessionRecord]:
        return [each for each in self.sessions.values() if message.closed or not each.closed]

    @handler(concurrent=True)
    async def get_session(self, message: GetSession, ctx: Context) -> SessionRecord:
        if message.session not in self.sessions:
            raise InputError(f"there is no session {message.session!r}")
        return self.sessions[message.session]

    @handler(concurrent=True)
    async def end_session(self, message: EndSession, ctx: Context) -> SessionRecord:
        self.heard.append(message)
        return msgspec.structs.replace(self.sessions[message.session], closed=True)

    @handler(concurrent=True)
    async def end_all(self, message: EndAllSessions, ctx: Context) -> int:
        return 2


class FakeFleet(Agent[None]):
    role = "fleet"
    open: ClassVar[set[str]] = set()
    heard: ClassVar[list[object]] = []

    @handler(concurrent=True)
    async def locate(self, message: LocateSession, ctx: Context) -> SessionBinding:
        if message.session not in self.open:
            raise UnknownAddress(f"there is no open session {message.session!r}")
        return SessionBinding(message.session, "a")

    @handler(concurrent=True)
    async def census(self, message: TakeCensus, ctx: Context) -> Census:
        return Census([CellStatus("a", "Cell(a)", 1, "n", ["s-1"], 1, "")], [])

    @handler(concurrent=True)
    async def shut_down(self, message: ShutDown, ctx: Context) -> None:
        self.heard.append(message)


class Runtime:
    """Hosts ``gateway``, ``system`` and ``a``, and what tests do to them."""

    def __init__(self, home: Path) -> None:
        self.home = home
        transport = LocalTransport()
        roles = Roles({"guide": FakeGuide, "fleet": FakeFleet, "router": SessionRouter, "gateway": GatewayAgent})
        self.hosts: dict[str, Host] = {}
        for name in ("gateway", "system", "a"):
            host = Host(
                name,
                roles=roles,
                transport=transport,
                journal=MemoryJournal(),
                clock=SystemClock(),
                settings=Settings(home=home),
            )
            self.hosts[name] = host
            transport.join(name, host.receive)
        self.app = create_app(self.hosts["gateway"], TOKEN)
        self.front: Front = self.app.state.front

    def open(self, job: JobRecord) -> JobRecord:
        """A job whose session is open in cell ``a``."""
        FakeGuide.jobs[job.job_id] = job
        FakeFleet.open.add(job.session_id)
        self.hosts["a"].open_session(SessionBinding(job.session_id, "a"))
        return job

    async def close(self, job: JobRecord, status: JobState) -> None:
        """The job is over and its session closed."""
        FakeGuide.jobs[job.job_id] = msgspec.structs.replace(job, status=status)
        FakeFleet.open.discard(job.session_id)
        await self.hosts["a"].close_session(job.session_id)


@pytest.fixture
async def runtime(tmp_path: Path) -> AsyncIterator[Runtime]:
    for kept in (FakeGuide.jobs, FakeGuide.sessions, FakeGuide.heard, FakeFleet.open, FakeFleet.heard):
        kept.clear()
    made = Runtime(tmp_path)
    yield made
    for host in made.hosts.values():
        await host.stop(grace_s=0)


@pytest.fixture
async def http(runtime: Runtime) -> AsyncIterator[httpx.AsyncClient]:
    """A client that knows the token."""
    transport = httpx.ASGITransport(runtime.app, raise_app_exceptions=False)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:1", headers=headers) as client:
        yield client


@pytest.fixture
def guide() -> type[FakeGuide]:
    return FakeGuide


@pytest.fixture
def fleet() -> type[FakeFleet]:
    return FakeFleet
