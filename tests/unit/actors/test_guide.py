"""The Guide and its sessions, beside agents that only note what is asked of them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import ClassVar

import msgspec
import pytest

from actors import guide_desk
from actors.guide import Guide
from actors.job_messages import ContinueJob, HaltJob, RunJob
from actors.job_runner import JobRunner
from sylk_ray.config import Settings
from sylk_ray.errors import InputError
from sylk_ray.fairness import Group
from sylk_ray.hooks import Abort, Aborted, HookContext, SessionCreate, hook
from sylk_ray.jobs import load_job
from sylk_ray.messaging import SHARED, Address, begin_trace, current_trace
from sylk_ray.routing import NotUnderstood, Route
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
from sylk_ray.sessions.messages import (
    GUIDE,
    CreateSession,
    EndSession,
    GetJob,
    GetSession,
    GrantTokens,
    JobEnded,
    ListSessions,
    SubmitJob,
)
from sylk_ray.sessions.records import TaskRecord
from sylk_ray.speech import NobodyOfThatName, Say
from sylk_ray.speech.messages import SayAtRest
from sylk_ray.speech.registry import GetSharedRoutes, LearnRoute, ListAgents, RegisterAgent, UnregisterAgent
from tests.unit.runtime.conftest import FakeRouter
from tests.unit.sessions.conftest import git, new_repository

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

    @handler()
    async def halt(self, message: HaltJob, ctx: Context) -> None:
        Fleet.seen.append(f"halted {message.reason}")


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


async def test_a_job_that_began_while_its_session_was_being_closed_is_ended_with_it(host, tmp_path, monkeypatch):
    """The first job takes its time to be cancelled; before it is over, a person submits another one."""
    repo = str(new_repository(tmp_path / "repo", {"x": "1\n"}))
    await host.ask(ME, GUIDE, CreateSession("standing", repo), timeout=10)
    first = await submit(host, repo)
    late: list[JobRecord] = []
    wait_until_over = JobRunner.wait_until_over

    async def and_another(jobs: JobRunner, job_id: str) -> None:
        await host.ask(ME, GUIDE, JobEnded(msgspec.structs.replace(first, status=JobState.CANCELLED)), timeout=10)
        await wait_until_over(jobs, job_id)
        late.append(await submit(host, repo))

    monkeypatch.setattr(JobRunner, "wait_until_over", and_another)
    closed = await host.ask(ME, GUIDE, EndSession("standing"), timeout=20)
    assert closed.closed
    assert (await host.ask(ME, GUIDE, GetJob(late[0].job_id), timeout=5)).status is JobState.CANCELLED


async def test_more_tokens_are_added_to_a_sessions_budget_once(host, tmp_path):
    repo = str(new_repository(tmp_path / "repo", {"x": "1\n"}))
    session = await host.ask(ME, GUIDE, CreateSession("standing", repo, group=Group(token_budget=1_000)), timeout=10)
    orchestrator = Address(session.id, "orchestrator", "main")
    for _ in range(2):
        await host.tell(orchestrator, GUIDE, GrantTokens(session.id, 500, "a-1"), timeout=5)
    await host.tell(orchestrator, GUIDE, GrantTokens(session.id, 20, "a-2"), timeout=5)
    # It takes them in their order.
    budget = 1_000.0
    async with asyncio.timeout(10):
        while budget in (1_000, 1_500):
            budget = (await host.ask(ME, GUIDE, GetSession(session.id), timeout=5)).group.token_budget
    assert budget == 1_520


async def test_a_hook_may_refuse_a_session_before_anything_of_it_is_made(host, tmp_path):
    @hook(SessionCreate, name="no-strangers")
    def refuse(payload: SessionCreate, ctx: HookContext) -> None:
        if payload.repository.endswith("strange"):
            raise Abort("that repository is not ours")

    assert await host.ask(ME, GUIDE, ListSessions(), timeout=5) == []
    guide = host._slots[GUIDE].agent
    assert isinstance(guide, Guide)
    guide.hooks.add(refuse)
    strange = str(new_repository(tmp_path / "strange", {"x": "1\n"}))
    with pytest.raises(Aborted, match="not ours"):
        await host.ask(ME, GUIDE, CreateSession("standing", strange), timeout=10)
    with pytest.raises(Aborted, match="not ours"):
        await submit(host, strange)
    assert await host.ask(ME, GUIDE, ListSessions(), timeout=5) == []
    assert git(Path(strange), "branch", "--list", "sylk/*") == ""


async def test_the_guide_can_be_spoken_to_without_a_session(host, tmp_path):
    repo = str(new_repository(tmp_path / "repo", {"x": "1\n"}))
    await host.ask(ME, GUIDE, CreateSession("tidy", repo), timeout=10)
    said = await host.ask(ME, GUIDE, Say("/sessions"), timeout=5)
    assert "tidy (s-" in said.answers[0].text
    said = await host.ask(ME, GUIDE, Say("hello"), timeout=5)
    assert said.answers[0].done_by == "help"
    with pytest.raises(NobodyOfThatName):
        await host.ask(ME, GUIDE, Say("@to:testr hello"), timeout=5)


async def test_a_shared_agent_is_registered_and_spoken_to(host):
    await host.ask(ME, GUIDE, RegisterAgent("other", GUIDE), timeout=5)
    assert "other" in await host.ask(ME, GUIDE, ListAgents(), timeout=5)
    assert (await host.ask(ME, GUIDE, Say("@to:other help"), timeout=5)).answers[0].agent == "other"
    assert await host.ask(ME, GUIDE, UnregisterAgent("other"), timeout=5)
    assert not await host.ask(ME, GUIDE, UnregisterAgent("other"), timeout=5)


async def test_routes_that_sessions_learn_are_kept_for_the_others_and_bounded(host, monkeypatch):
    monkeypatch.setattr(guide_desk, "SHARED_ROUTES", 2)
    router = Address("s-1", "router", "main")
    for key in ("a", "b", "a", "c"):
        await host.tell(router, GUIDE, LearnRoute(key, Route(target="tester", confidence=0.9)), timeout=5)
    routes = await host.ask(router, GUIDE, GetSharedRoutes(), timeout=5)
    assert list(routes) == ["c", "a"]


async def test_names_that_mean_someone_already_cannot_be_registered(host):
    for name in ("guide", "librarian"):
        with pytest.raises(InputError, match="is taken"):
            await host.ask(ME, GUIDE, RegisterAgent(name, GUIDE), timeout=5)
    with pytest.raises(InputError, match="of another session"):
        await host.ask(ME, GUIDE, RegisterAgent("spy", Address("s-1", "spy", "x")), timeout=5)


async def test_of_a_session_at_rest_the_guide_tells_how_things_stand(host, tmp_path):
    repo = str(new_repository(tmp_path / "repo", {"x": "1\n"}))
    made = await host.ask(ME, GUIDE, CreateSession("standing", repo), timeout=10)
    with pytest.raises(NotUnderstood):
        await host.ask(ME, GUIDE, SayAtRest(made.id, "/tsk"), timeout=5)
    said = await host.ask(ME, GUIDE, SayAtRest(made.id, "how is the job going?"), timeout=5)
    assert said.answers[0].error.type == "no_job_at_work"

    job = await submit(host, repo)
    over = msgspec.structs.replace(job, status=JobState.SUCCEEDED, tasks={"a": TaskRecord("a", "succeeded")})
    await host.ask(ME, GUIDE, JobEnded(over), timeout=10)
    said = await host.ask(ME, GUIDE, SayAtRest(made.id, "how is the job going?"), timeout=5)
    assert (said.session, said.answers[0].agent) == (made.id, "orchestrator")
    assert f"job j ({job.job_id}) is succeeded: 1 succeeded" in said.answers[0].text
    query = await host.ask(ME, GUIDE, SayAtRest(made.id, "/task a query what"), timeout=5)
    assert query.answers[0].text.startswith("a: succeeded")
    tests = await host.ask(ME, GUIDE, SayAtRest(made.id, "did the tests pass?"), timeout=5)
    assert tests.answers[0].text == "no tests have run"
    told = await host.ask(ME, GUIDE, SayAtRest(made.id, "where did we leave off?"), timeout=5)
    assert (told.answers[0].agent, told.answers[0].done_by) == ("archivalist", "briefing")
    assert told.answers[0].text == "nothing was done in this session yet"
    lint = await host.ask(ME, GUIDE, SayAtRest(made.id, "/lint"), timeout=5)
    assert lint.answers[0].error.type == "nobody_at_work"
