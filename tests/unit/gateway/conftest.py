"""A gateway in front of a fake Guide and a fake fleet, with a real router, all in one process."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator
from pathlib import Path
from typing import ClassVar

import httpx
import msgspec
import pytest

from actors.coordinator import Coordinator
from actors.fair_share import FairShareAgent
from actors.gate import GateKeeper
from actors.knowledge import Knowledge
from actors.planning_messages import AdjustPlan, RequestPlanChange, RetryTask, SkipTask, UpdatePlan
from actors.session_router import SessionRouter
from actors.topics import Topics
from sylk_ray.config import Settings
from sylk_ray.errors import InputError
from sylk_ray.gateway.agent import GatewayAgent
from sylk_ray.gateway.app import create_app
from sylk_ray.gateway.front import Front
from sylk_ray.home import session_directory
from sylk_ray.messaging import Message, Request, UnknownAddress
from sylk_ray.runtime import Agent, Context, Host, LocalTransport, Roles, SessionBinding, SystemClock
from sylk_ray.runtime.agent import handler
from sylk_ray.runtime.directory import Located, LocateSession, Place, PlaceShared
from sylk_ray.runtime.fleet_messages import CellStatus, Census, GetResources, Resources, ShutDown, TakeCensus
from sylk_ray.runtime.journal import SqliteJournals
from sylk_ray.sessions import JobRecord, JobState, SessionRecord
from sylk_ray.sessions.admission import Line
from sylk_ray.sessions.messages import (
    CancelJob,
    CreateSession,
    DrainSessions,
    EndSession,
    GetForeground,
    GetJob,
    GetSession,
    ListJobs,
    ListSessions,
    PauseSession,
    ResumeJob,
    ResumeSession,
    SetGroup,
    StartJob,
    SubmitJob,
    SwitchSession,
)
from sylk_ray.sessions.records import SessionState
from sylk_ray.speech.messages import Answered, Said, SayAtRest

TOKEN = "secret"


def a_job(job_id: str = "j-1", status: JobState = JobState.RUNNING) -> JobRecord:
    return JobRecord(job_id, "tidy", f"s-{job_id[2:]}", "tidy-1", "/repo", "sylk/tidy-1", status, 1.0)


class FakeGuide(Agent[None]):
    role = "guide"
    jobs: ClassVar[dict[str, JobRecord]] = {}
    sessions: ClassVar[dict[str, SessionRecord]] = {}
    foreground: ClassVar[dict[str, str]] = {}
    heard: ClassVar[list[object]] = []

    @handler(concurrent=True)
    async def submit(self, message: SubmitJob, ctx: Context) -> JobRecord:
        self.heard.append(message)
        if not message.queue:
            raise Line(1).refuse()
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
    async def create_session(self, message: CreateSession, ctx: Context) -> SessionRecord:
        self.heard.append(message)
        told = {"description": message.description, "group": message.group}
        return SessionRecord("s-new", message.name, message.repo, "b", "abc", standing=True, **told)

    @handler(concurrent=True)
    async def pause_session(self, message: PauseSession, ctx: Context) -> SessionRecord:
        self.heard.append(message)
        target = SessionState.SUSPENDED if message.suspend else SessionState.PAUSED
        return self._moved(message.session, target)

    @handler(concurrent=True)
    async def resume_session(self, message: ResumeSession, ctx: Context) -> SessionRecord:
        self.heard.append(message)
        return self._moved(message.session, SessionState.ACTIVE)

    def _moved(self, session: str, state: SessionState) -> SessionRecord:
        self.sessions[session] = self.sessions[session].moved(state)
        return self.sessions[session]

    @handler(concurrent=True)
    async def resume_job(self, message: ResumeJob, ctx: Context) -> JobRecord:
        self.heard.append(message)
        self.jobs[message.job_id] = msgspec.structs.replace(self.jobs[message.job_id], status=JobState.RUNNING)
        return self.jobs[message.job_id]

    @handler(concurrent=True)
    async def switch_session(self, message: SwitchSession, ctx: Context) -> SessionRecord:
        self.heard.append(message)
        self.foreground[message.user] = message.session
        return self.sessions[message.session]

    @handler(concurrent=True)
    async def get_foreground(self, message: GetForeground, ctx: Context) -> SessionRecord | None:
        return self.sessions.get(self.foreground.get(message.user, ""))

    @handler(concurrent=True)
    async def set_group(self, message: SetGroup, ctx: Context) -> SessionRecord:
        self.sessions[message.session] = msgspec.structs.replace(self.sessions[message.session], group=message.group)
        return self.sessions[message.session]

    @handler(concurrent=True)
    async def say_at_rest(self, message: SayAtRest, ctx: Context) -> Said:
        self.heard.append(message)
        return Said(session=message.session, kind="free", answers=(Answered("orchestrator", "at rest"),))

    @handler(concurrent=True)
    async def drain(self, message: DrainSessions, ctx: Context) -> list[JobRecord]:
        self.heard.append(message)
        return [a_job("j-1", JobState.SUSPENDED)]


class Deliver(Message, frozen=True):
    text: str
    data: bytes = b""


class Heard(Request[list[str]], frozen=True):
    pass


class Kept(msgspec.Struct):
    texts: list[str] = []


class Fragile(Agent[Kept]):
    """It is durable, and fails as long as it is ``broken``."""

    role = "fragile"
    broken: ClassVar[bool] = True

    @handler()
    async def deliver(self, message: Deliver, ctx: Context) -> None:
        if Fragile.broken:
            raise RuntimeError("broken")
        self.state.texts.append(message.text)

    @handler()
    async def heard(self, message: Heard, ctx: Context) -> list[str]:
        return self.state.texts


class FakeOrchestrator(Agent[None]):
    """Takes every wish about its plan."""

    role = "orchestrator"
    heard: ClassVar[list[object]] = []

    @handler(concurrent=True)
    async def adjust(self, message: AdjustPlan, ctx: Context) -> JobRecord:
        return self._taken(message)

    @handler(concurrent=True)
    async def update(self, message: UpdatePlan, ctx: Context) -> JobRecord:
        return self._taken(message)

    @handler(concurrent=True)
    async def retry(self, message: RetryTask, ctx: Context) -> JobRecord:
        return self._taken(message)

    @handler(concurrent=True)
    async def skip(self, message: SkipTask, ctx: Context) -> JobRecord:
        return self._taken(message)

    @handler(concurrent=True)
    async def change(self, message: RequestPlanChange, ctx: Context) -> JobRecord:
        return self._taken(message)

    def _taken(self, message: object) -> JobRecord:
        self.heard.append(message)
        return a_job()


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
    async def place(self, message: Place, ctx: Context) -> Located:
        return Located("a")

    @handler(concurrent=True)
    async def place_shared(self, message: PlaceShared, ctx: Context) -> Located:
        return Located("a")

    @handler(concurrent=True)
    async def census(self, message: TakeCensus, ctx: Context) -> Census:
        return Census([CellStatus("a", "Cell(a)", 1, "n", ["s-1"], 1, "")], [])

    @handler(concurrent=True)
    async def resources(self, message: GetResources, ctx: Context) -> Resources:
        return Resources(2.0, [])

    @handler(concurrent=True)
    async def shut_down(self, message: ShutDown, ctx: Context) -> None:
        self.heard.append(message)


class Runtime:
    """Hosts ``gateway``, ``system`` and ``a``, and what tests do to them."""

    def __init__(self, home: Path) -> None:
        self.home = home
        transport = LocalTransport()
        roles = Roles(
            {
                "guide": FakeGuide,
                "fleet": FakeFleet,
                "coordinator": Coordinator,
                "fair_share": FairShareAgent,
                "router": SessionRouter,
                "topics": Topics,
                "gateway": GatewayAgent,
                "knowledge": Knowledge,
                "gate": GateKeeper,
                "fragile": Fragile,
                "orchestrator": FakeOrchestrator,
            }
        )
        self.hosts: dict[str, Host] = {}
        for name in ("gateway", "system", "a"):
            host = Host(
                name,
                roles=roles,
                transport=transport,
                journals=SqliteJournals(functools.partial(session_directory, home)),
                clock=SystemClock(),
                settings=Settings(home=home),
            )
            self.hosts[name] = host
            transport.join(name, host.receive)
        self.app = create_app(self.hosts["gateway"], TOKEN)
        self.front: Front = self.app.state.front

    async def open(self, job: JobRecord) -> JobRecord:
        """A job whose session is open in cell ``a``."""
        FakeGuide.jobs[job.job_id] = job
        FakeFleet.open.add(job.session_id)
        await self.hosts["a"].open_session(self.binding(job))
        return job

    def binding(self, job: JobRecord) -> SessionBinding:
        """Where the job's session is."""
        return SessionBinding(job.session_id, "a")

    async def close(self, job: JobRecord, status: JobState) -> None:
        """The job is over and its session closed."""
        FakeGuide.jobs[job.job_id] = msgspec.structs.replace(job, status=status)
        FakeFleet.open.discard(job.session_id)
        await self.hosts["a"].close_session(job.session_id)


@pytest.fixture
async def runtime(tmp_path: Path) -> AsyncIterator[Runtime]:
    for kept in (FakeGuide.jobs, FakeGuide.sessions, FakeGuide.foreground, FakeGuide.heard):
        kept.clear()
    for kept in (FakeFleet.open, FakeFleet.heard, FakeOrchestrator.heard):
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
