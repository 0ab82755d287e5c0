"""The coordinator: order, health, and going on without what is not needed."""

from __future__ import annotations

import asyncio
from typing import ClassVar

import pytest

from actors import coordinator as coordinator_module
from actors.coordinator import COORDINATOR, Coordinator, EndSystem, serve
from sylk_ray.config import Settings
from sylk_ray.messaging import SHARED, Address
from sylk_ray.runtime import Agent, Context, Host, LocalTransport, MemoryJournals, Roles, SystemClock, handler
from sylk_ray.runtime.fleet_messages import ShutDown
from sylk_ray.runtime.health import AgentHealth, GetHealth
from sylk_ray.sessions import JobRecord
from sylk_ray.sessions.messages import DrainSessions

ME = Address(SHARED, "operator", "me")


class Recorder(Agent[None]):
    """Notes what happens to system agents, in order."""

    seen: ClassVar[list[str]] = []
    broken: ClassVar[bool] = False

    async def on_activate(self, ctx: Context) -> None:
        if self.role == "librarian" and Recorder.broken:
            raise OSError("no index")
        self.seen.append(f"{self.role} started")


class Fleet(Recorder):
    role = "fleet"

    @handler(concurrent=True)
    async def shut_down(self, message: ShutDown, ctx: Context) -> None:
        self.seen.append("fleet ended")


class FairShare(Recorder):
    role = "fair_share"


class Topics(Recorder):
    role = "topics"


class Guide(Recorder):
    role = "guide"

    @handler(concurrent=True)
    async def drain(self, message: DrainSessions, ctx: Context) -> list[JobRecord]:
        self.seen.append("guide drained")
        return []


class Librarian(Recorder):
    role = "librarian"


@pytest.fixture
async def host(tmp_path, monkeypatch):
    monkeypatch.setattr(coordinator_module, "LOOK_EVERY_S", 0.02)
    Recorder.seen, Recorder.broken = [], True
    roles = {"coordinator": Coordinator, **{cls.role: cls for cls in (Fleet, FairShare, Topics, Guide, Librarian)}}
    host = Host(
        "system",
        roles=Roles(roles),
        transport=LocalTransport(),
        journals=MemoryJournals(),
        clock=SystemClock(),
        settings=Settings(home=tmp_path, system_agents=["librarian", "nobody"]),
    )
    await serve(host)
    yield host
    await host.stop(grace_s=0)


async def health(host: Host, *conditions: str) -> list[AgentHealth]:
    async with asyncio.timeout(5):
        while True:
            seen = await host.ask(ME, COORDINATOR, GetHealth(), timeout=5)
            if tuple(each.condition for each in seen) == conditions:
                return seen
            await asyncio.sleep(0.01)


async def test_agents_start_in_order_and_what_is_not_needed_may_be_missing(host):
    seen = await health(host, "healthy", "healthy", "healthy", "healthy", "failing", "failing")
    assert Recorder.seen == ["fleet started", "fair_share started", "topics started", "guide started"]
    assert [each.needed for each in seen] == [True, True, True, True, False, False]
    assert ("no index" in seen[4].problem, "no role 'nobody'" in seen[5].problem) == (True, True)


async def test_an_agent_that_could_not_start_is_tried_again(host):
    await health(host, "healthy", "healthy", "healthy", "healthy", "failing", "failing")
    Recorder.broken = False
    await health(host, "healthy", "healthy", "healthy", "healthy", "healthy", "failing")
    assert Recorder.seen[-1] == "librarian started"


async def test_the_end_comes_in_order(host):
    await health(host, "healthy", "healthy", "healthy", "healthy", "failing", "failing")
    assert await host.ask(ME, COORDINATOR, EndSystem(), timeout=5) == []
    assert Recorder.seen[-2:] == ["guide drained", "fleet ended"]
