"""The knowledge agent: whom it answers, what it does not hold up, and what it leaves to others."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from actors.knowledge import LONG_AT_ONCE, Knowledge
from actors.knowledge_messages import KNOWLEDGE, ask_codebase
from sylk_ray.codebase import requests as of
from sylk_ray.codebase.errors import NotIndexed
from sylk_ray.codebase.serving import Codebase, DirectoryUnusable, open_codebase
from sylk_ray.config import Settings
from sylk_ray.messaging import Address, CellLost
from sylk_ray.runtime import Agent, Context, Host, LocalTransport, MemoryJournals, Roles, SystemClock, handler
from sylk_ray.runtime.directory import Located, PlaceShared
from tests.unit.codebase.repository import write_repository

ME = Address("s", "engineer", "notes")


class Fleet(Agent[None]):
    role = "fleet"
    asked = 0

    @handler(concurrent=True)
    async def place_shared(self, message: PlaceShared, ctx: Context) -> Located:
        Fleet.asked += 1
        return Located(f"{message.role}-{Fleet.asked}")


class Measured:
    """What a cell hands over as metrics."""

    def __init__(self) -> None:
        self.levels_by_name: dict[tuple[str, str], float] = {}
        self.seen = asyncio.Event()

    def counts(self, session: str, role: str, count: Any) -> None: ...

    def levels(self, levels: Any) -> None: ...

    def blocked(self, role: str, seconds: float) -> None: ...

    def measured(self, name: str, value: float, labels: Any) -> None:
        self.levels_by_name[name, labels["domain"]] = value
        self.seen.set()


class World:
    """Cells ``system``, and those that the knowledge agent gets."""

    def __init__(self, home: Path) -> None:
        self.transport = LocalTransport()
        self.settings = Settings(home=home, metrics_every_s=0.02)
        self.metrics = Measured()
        self.hosts: dict[str, Host] = {}
        for name in ("system", "knowledge-1", "knowledge-2"):
            self.join(name)

    def join(self, name: str) -> None:
        host = self.hosts[name] = Host(
            name,
            roles=Roles({"fleet": Fleet, "knowledge": Knowledge}),
            transport=self.transport,
            journals=MemoryJournals(),
            clock=SystemClock(),
            settings=self.settings,
            metrics=self.metrics,
        )
        self.transport.join(name, host.receive)

    async def ask(self, request: of.AnyRequest) -> Any:
        async def ask(target: Any, message: Any, *, timeout: float) -> Any:
            return await self.hosts["system"].ask(ME, target, message, timeout=min(timeout, 30))

        return await ask_codebase(ask, request)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    Fleet.asked = 0
    made = World(tmp_path / "home")
    yield made
    for host in made.hosts.values():
        await host.stop(grace_s=0)


@pytest.fixture
def root(tmp_path: Path) -> str:
    return str(write_repository(tmp_path / "jar"))


async def test_a_sessions_agent_has_a_codebase_indexed_and_finds_in_it(world, root):
    assert (await world.ask(of.Index(root=root))).added > 4
    found = await world.ask(of.Search(query="evict the oldest cookie", root=root))
    assert found.results[0].path == "jar/store.py"
    assert Fleet.asked == 1


async def test_nobody_is_asked_where_it_lives_before_it_is_needed(world):
    await asyncio.sleep(0)
    assert Fleet.asked == 0
    assert not any(agent.role == "knowledge" for host in world.hosts.values() for agent in host.agents())


async def test_an_error_is_of_the_class_that_it_was(world):
    with pytest.raises(NotIndexed, match="is not indexed"):
        await world.ask(of.Search(query="x", root="/nowhere"))


async def test_commands_are_answered_by_what_the_agent_has_open(world, root, tmp_path):
    await world.ask(of.Index(root=root))

    def command() -> tuple[bool, Any]:
        with open_codebase(tmp_path / "home") as codebase:
            return codebase.is_owner, codebase.ask(of.Known(root=root))

    assert await asyncio.to_thread(command) == (False, of.KnownAnswer(known=True))


async def test_another_process_that_owns_the_knowledge_is_asked(world, root, tmp_path):
    owner = await asyncio.to_thread(open_codebase, tmp_path / "home", serve=True)
    try:
        await asyncio.to_thread(owner.ask, of.Index(root=root))
        assert (await world.ask(of.Known(root=root))).known
    finally:
        await asyncio.to_thread(owner.close)
    assert (await world.ask(of.Known(root=root))).known  # it has taken its place


async def test_when_it_is_put_away_another_may_own_the_knowledge(world, root, tmp_path):
    await world.ask(of.Index(root=root))
    await world.hosts["knowledge-1"].stop(grace_s=1)

    def command() -> tuple[bool, Any]:
        with open_codebase(tmp_path / "home") as codebase:
            return codebase.is_owner, codebase.ask(of.Known(root=root))

    assert await asyncio.to_thread(command) == (True, of.KnownAnswer(known=True))


async def test_a_search_does_not_wait_for_indexings(world, root, monkeypatch):
    await world.ask(of.Index(root=root))
    begun, go_on = threading.Semaphore(0), threading.Event()
    really = Codebase.ask

    def slow(codebase: Codebase, request: of.AnyRequest, *told: Any) -> Any:
        if isinstance(request, of.Index):
            begun.release()
            assert go_on.wait(20)
        return really(codebase, request, *told)

    monkeypatch.setattr(Codebase, "ask", slow)
    indexing = [asyncio.create_task(world.ask(of.Index(root=root))) for _ in range(LONG_AT_ONCE + 2)]
    for _ in range(LONG_AT_ONCE):
        assert await asyncio.to_thread(begun.acquire, timeout=20)
    try:
        found = await asyncio.gather(*(world.ask(of.Search(query="cookie", root=root)) for _ in range(20)))
        assert all(each.status == "found" for each in found)
        assert not any(task.done() for task in indexing)
    finally:
        go_on.set()
    assert {each.added for each in await asyncio.gather(*indexing)} == {0}


async def test_what_cannot_be_opened_is_told_and_tried_again(world, root, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (home / "knowledge").write_text("in the way")
    for _ in range(2):
        with pytest.raises(DirectoryUnusable, match="cannot be kept in"):
            await world.ask(of.Known(root=root))
    (home / "knowledge").unlink()
    assert not (await world.ask(of.Known(root=root))).known


async def test_a_request_is_made_again_in_another_cell_when_the_first_one_dies(world, root, monkeypatch):
    begun, go_on = threading.Event(), threading.Event()
    really = Codebase.ask

    def slow(codebase: Codebase, request: of.AnyRequest, *told: Any) -> Any:
        if not begun.is_set():
            begun.set()
            go_on.wait(20)
        return really(codebase, request, *told)

    monkeypatch.setattr(Codebase, "ask", slow)
    indexing = asyncio.create_task(world.ask(of.Index(root=root)))
    assert await asyncio.to_thread(begun.wait, 20)
    world.transport.leave("knowledge-1")
    world.hosts["system"].peer_lost("knowledge-1")
    go_on.set()
    assert (await indexing).files > 4
    assert Fleet.asked == 2


async def test_a_request_is_not_made_for_ever():
    asked: list[Any] = []

    async def ask(target: Address, message: Any, *, timeout: float) -> Any:
        asked.append(target)
        raise CellLost("again")

    with pytest.raises(CellLost):
        await ask_codebase(ask, of.Stats())
    assert asked == [KNOWLEDGE, KNOWLEDGE]


async def test_the_gates_numbers_are_metrics_and_part_of_the_statistics(world, root):
    await world.ask(of.Index(root=root))
    await world.ask(of.Search(query="zyxwv", root=root))
    stats = await world.ask(of.Stats())
    assert stats.gate["code.noes"] >= 1
    assert stats.gate["code.bytes"] > 0
    async with asyncio.timeout(10):
        while world.metrics.levels_by_name.get(("sylk_gate_noes", "code")) != stats.gate["code.noes"]:
            world.metrics.seen.clear()
            await world.metrics.seen.wait()
    assert world.metrics.levels_by_name["sylk_gate_bytes", "code"] == stats.gate["code.bytes"]
