"""The Guide and its sessions, beside agents that only note what is asked of them."""

from __future__ import annotations

import asyncio
from typing import ClassVar

import msgspec
import pytest

from actors.guide import Guide
from actors.job_messages import ContinueJob, RunJob
from actors.job_runner import JobRunner
from sylk_ray.config import Settings
from sylk_ray.jobs import load_job
from sylk_ray.messaging import SHARED, Address, begin_trace, current_trace
from sylk_ray.runtime import (
    Agent,
    Context,
    Host,
    LocalTransport,
    MemoryJournals,
    Roles,
    SessionBinding,
    SystemClock,
    handler,
)
from sylk_ray.runtime.directory import LocateSession
from sylk_ray.runtime.fleet_messages import CloseSession, GetResources, OpenSession, Resources
from sylk_ray.runtime.leases import CloseShare, SetShare
from sylk_ray.sessions import JobRecord, JobState
from sylk_ray.sessions.messages import GUIDE, CreateSession, JobEnded, SubmitJob
from tests.unit.runtime.conftest import FakeRouter
from tests.unit.sessions.conftest import new_repository

ME = Address(SHARED, "operator", "me")
JOB = load_job("name: j\ntasks:\n  a: {engineer: [{run: 'true'}]}\n", source="job.yaml").model_dump_json(by_alias=True)


class Fleet(Agent[None]):
    """Opens every session in the one cell that there is."""

    role = "fleet"
    host: ClassVar[Host]
    seen: ClassVar[list[str]] = []

    @handler(concurrent=True)
    async def open_session(self, message: OpenSession, ctx: Context) -> SessionBinding:
        self.seen.append("opened")
        binding = SessionBinding(message.session, "system")
        await self.host.open_session(binding)
        return binding

    @handler(concurrent=True)
    async def close_session(self, message: CloseSession, ctx: Context) -> None:
        self.seen.append("closed")
        await self.host.close_session(message.session)

    @handler(concurrent=True)
    async def locate(self, message: LocateSession, ctx: Context) -> SessionBinding:
        return SessionBinding(message.session, "system")

    @handler(concurrent=True)
    async def resources(self, message: GetResources, ctx: Context) -> Resources:
        return Resources(2.0, [])


class FairShare(Agent[None]):
    role = "fair_share"

    @handler()
    async def set_share(self, message: SetShare, ctx: Context) -> None:
        pass

    @handler()
    async def close_share(self, message: CloseShare, ctx: Context) -> None:
        pass


class Orchestrator(Agent[None]):
    role = "orchestrator"
    traces: ClassVar[list[str]] = []

    @handler()
    async def run(self, message: RunJob, ctx: Context) -> None:
        Fleet.seen.append("ran")
        self.traces.append(current_trace())

    @handler()
    async def resume(self, message: ContinueJob, ctx: Context) -> None:
        pass


@pytest.fixture
async def host(tmp_path):
    FakeRouter.places, FakeRouter.events, Fleet.seen = {}, [], []
    Orchestrator.traces = []
    transport = LocalTransport()
    agents = (Guide, Fleet, FairShare, Orchestrator, FakeRouter)
    host = Fleet.host = Host(
        "system",
        roles=Roles({cls.role: cls for cls in agents}),
        transport=transport,
        journals=MemoryJournals(),
        clock=SystemClock(),
        settings=Settings(home=tmp_path / "home", max_sessions=1),
    )
    transport.join("system", host.receive)
    yield host
    await host.stop(grace_s=0)


async def submit(host: Host, repo: str) -> JobRecord:
    return await host.ask(ME, GUIDE, SubmitJob(JOB, repo, "standing"), timeout=10)


async def test_a_job_of_a_standing_session_finds_no_agents_of_the_job_before_it(host, tmp_path, monkeypatch):
    """Their tasks may have the same names, and they know what was stopped. Clearing away comes late, as it may."""

    async def too_late(*_: object) -> None:
        return None

    monkeypatch.setattr(JobRunner, "release", too_late)
    repo = str(new_repository(tmp_path / "repo", {"x": "1\n"}))
    await host.ask(ME, GUIDE, CreateSession("standing", repo), timeout=10)
    first = await submit(host, repo)
    ended = msgspec.structs.replace(first, status=JobState.CANCELLED)

    await host.ask(ME, GUIDE, JobEnded(ended), timeout=10)
    second = await submit(host, repo)

    assert second.status is JobState.RUNNING
    assert Fleet.seen[-3:] == ["closed", "opened", "ran"]


async def test_a_job_that_stood_in_line_goes_on_with_its_own_trace(host, tmp_path):
    repos = [str(new_repository(tmp_path / name, {"x": "1\n"})) for name in ("one", "two")]
    submitted: list[JobRecord] = []
    traces: list[str] = []
    for number, repo in enumerate(repos):
        with begin_trace() as trace:
            traces.append(trace)
            submitted.append(await host.ask(ME, GUIDE, SubmitJob(JOB, repo, f"s{number}"), timeout=10))
    assert [(record.status, record.trace) for record in submitted] == [
        (JobState.RUNNING, traces[0]),
        (JobState.QUEUED, traces[1]),
    ]
    with begin_trace():
        ended = msgspec.structs.replace(submitted[0], status=JobState.SUCCEEDED)
        await host.ask(ME, GUIDE, JobEnded(ended), timeout=10)
    async with asyncio.timeout(10):
        while len(Orchestrator.traces) < 2:
            await asyncio.sleep(0.005)
    assert Orchestrator.traces == traces
