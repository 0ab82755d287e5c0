"""The gate of a cell: what it answers by itself, and that it never denies what is there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import actors.gate
from actors.gate import GateKeeper
from actors.knowledge import Knowledge
from actors.knowledge_messages import AskCodebase, CodebaseAnswer, RenewLease, ask_codebase
from sylk_ray.codebase import requests as of
from sylk_ray.codebase.errors import NotIndexed
from sylk_ray.codebase.serving import open_codebase
from sylk_ray.config import Settings
from sylk_ray.knowledge import Domain
from sylk_ray.knowledge.gate import LeaseTerms
from sylk_ray.knowledge.guarding import guards, remote
from sylk_ray.messaging import Address
from sylk_ray.runtime import Agent, Context, Host, LocalTransport, MemoryJournals, Roles, SystemClock, handler
from sylk_ray.runtime.directory import Located, PlaceShared
from sylk_ray.runtime.shelf import LocalShelf
from tests.unit.codebase.repository import write_repository

ME = Address("s", "engineer", "notes")
NOWHERE = "zyxwv qponm"


class Fleet(Agent[None]):
    role = "fleet"

    cell = "knowledge-1"

    @handler(concurrent=True)
    async def place_shared(self, message: PlaceShared, ctx: Context) -> Located:
        return Located(self.cell)


class Counted(Knowledge):
    """The agent itself, which counts what reaches it."""

    asked: list[of.AnyRequest] = []
    leased = 0

    @handler(concurrent=True)
    async def ask(self, message: AskCodebase, ctx: Context) -> CodebaseAnswer:
        self.asked.append(message.request)
        return await super().ask(message, ctx)

    @handler(concurrent=True)
    async def renew_lease(self, message: RenewLease, ctx: Context) -> Any:
        Counted.leased += 1
        return await super().renew_lease(message, ctx)


class World:
    """Cells ``a`` and ``b`` that search, and the one that the knowledge agent gets."""

    def __init__(self, home: Path) -> None:
        self.transport = LocalTransport()
        self.shelved: dict[tuple[str, str], bytes] = {}
        self.settings = Settings(home=home)
        self.hosts = {name: self.join(name) for name in ("system", "knowledge-1", "a", "b")}

    def join(self, name: str) -> Host:
        host = Host(
            name,
            roles=Roles({"fleet": Fleet, "knowledge": Counted, "gate": GateKeeper}),
            transport=self.transport,
            journals=MemoryJournals(),
            clock=SystemClock(),
            settings=self.settings,
            shelf=LocalShelf(name, self.shelved),
        )
        self.transport.join(name, host.receive)
        return host

    async def ask(self, request: of.AnyRequest, cell: str = "a") -> Any:
        async def ask(target: Any, message: Any, *, timeout: float) -> Any:
            return await self.hosts[cell].ask(ME, target, message, timeout=min(timeout, 30))

        return await ask_codebase(ask, request, cell=cell)

    async def answered_here(self, query: str, root: str, cell: str = "a") -> bool:
        """Whether a search for what is nowhere is answered in its cell."""
        before = len(Counted.asked)
        found = await self.ask(of.Search(query=query, root=root), cell)
        assert (found.status, found.results, found.tokens) == ("no_matches", [], 0)
        assert found.hint
        return len(Counted.asked) == before

    async def leased(self, root: str, cell: str = "a") -> None:
        """Until the cell answers by itself."""
        async with asyncio.timeout(20):
            while not await self.answered_here(NOWHERE, root, cell):
                await asyncio.sleep(0.01)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    Counted.asked.clear()
    Counted.leased = 0
    made = World(tmp_path / "home")
    yield made
    for host in made.hosts.values():
        await host.stop(grace_s=0)


@pytest.fixture
def root(tmp_path: Path) -> str:
    return str(write_repository(tmp_path / "jar"))


async def test_what_is_nowhere_is_answered_in_the_cell_that_asks(world, root):
    await world.ask(of.Index(root=root))
    await world.leased(root)
    before = len(Counted.asked)
    for _ in range(20):
        assert await world.answered_here(NOWHERE, root)
    smart = await world.ask(of.SmartSearch(query=NOWHERE, root=root))
    assert (smart.status, smart.budget) == ("no_matches", 2000)
    assert len(Counted.asked) == before
    found = await world.ask(of.Search(query="evict the oldest cookie", root=root))
    assert found.results[0].path == "jar/store.py"
    assert len(Counted.asked) == before + 1


async def test_the_cells_answer_is_the_owners(world, root):
    await world.ask(of.Index(root=root))
    asked = of.Search(query=NOWHERE, root=root)
    by_owner = await world.ask(asked)
    await world.leased(root)
    by_cell = await world.ask(asked)
    assert msgspec.structs.replace(by_cell, took_ms=0.0) == msgspec.structs.replace(by_owner, took_ms=0.0)


async def test_what_was_just_indexed_is_found_by_every_cell(world, root):
    await world.ask(of.Index(root=root))
    for cell in ("a", "b"):
        await world.leased(root, cell)
    for letter in "abcdefgh":
        word = f"qwertz{letter}"
        assert await world.answered_here(word, root, "b")
        (Path(root) / f"fresh_{letter}.py").write_text(f"def {word}():\n    return 1\n")
        await world.ask(of.Index(root=root), "a")
        for cell in ("a", "b"):
            found = await world.ask(of.Search(query=word, root=root), cell)
            assert found.results[0].path == f"fresh_{letter}.py"


async def test_a_write_does_not_wait_for_the_lease_of_a_cell_that_listens(world, root, monkeypatch):
    for module in (guards, remote):
        monkeypatch.setattr(module, "LeaseTerms", lambda: LeaseTerms(duration_s=300))
    await world.ask(of.Index(root=root))
    for cell in ("a", "b"):
        await world.leased(root, cell)
    (Path(root) / "fresh.py").write_text("def qwertz():\n    return 1\n")
    async with asyncio.timeout(30):
        await world.ask(of.Index(root=root))
    assert (await world.ask(of.Search(query="qwertz", root=root), "b")).results


async def test_a_cell_that_is_gone_is_waited_for_no_longer_than_its_lease(world, root):
    await world.ask(of.Index(root=root))
    await world.leased(root, "b")
    world.transport.leave("b")
    await world.hosts.pop("b").stop(grace_s=0)
    (Path(root) / "fresh.py").write_text("def qwertz():\n    return 1\n")
    async with asyncio.timeout(10):
        await world.ask(of.Index(root=root))
    assert (await world.ask(of.Search(query="qwertz", root=root))).results


async def test_the_next_owner_is_followed(world, root, monkeypatch):
    await world.ask(of.Index(root=root))
    await world.leased(root)
    world.hosts["knowledge-2"] = world.join("knowledge-2")
    monkeypatch.setattr(Fleet, "cell", "knowledge-2")
    world.transport.leave("knowledge-1")
    await world.hosts.pop("knowledge-1").stop(grace_s=0)
    for name in ("system", "a", "b"):
        world.hosts[name].peer_lost("knowledge-1")
    await world.leased(root)
    (Path(root) / "fresh.py").write_text("def qwertz():\n    return 1\n")
    await world.ask(of.Index(root=root))
    assert (await world.ask(of.Search(query="qwertz", root=root))).results


async def test_a_root_that_nobody_indexed_is_the_owners_to_speak_of(world, root, tmp_path):
    await world.ask(of.Index(root=root))
    await world.leased(root)
    with pytest.raises(NotIndexed):
        await world.ask(of.Search(query=NOWHERE, root=str(tmp_path)))


async def test_without_the_owner_nothing_is_refused(world, root, tmp_path):
    owner = await asyncio.to_thread(open_codebase, tmp_path / "home", serve=True)
    try:
        await asyncio.to_thread(owner.ask, of.Index(root=root))
        Counted.leased = 0
        async with asyncio.timeout(20):
            while Counted.leased < 2:
                assert not await world.answered_here(NOWHERE, root)
                await asyncio.sleep(0.05)
        assert not await world.answered_here(NOWHERE, root)
    finally:
        await asyncio.to_thread(owner.close)


async def test_a_cell_that_does_not_search_holds_no_lease(world, root, monkeypatch):
    monkeypatch.setattr(actors.gate, "QUIET_S", 0.1)
    await world.ask(of.Index(root=root))
    await world.answered_here(NOWHERE, root)
    # A renewal may be on its way when the cell has become quiet; then there are no more, and what it got runs out.
    renewed = -1
    async with asyncio.timeout(20):
        while renewed != Counted.leased or (await world.ask(of.Stats())).gate["code.readers"]:
            renewed = Counted.leased
            await asyncio.sleep(2 * LeaseTerms().renew_every_s)
    assert renewed > 0
    await asyncio.sleep(2 * LeaseTerms().duration_s)
    assert Counted.leased == renewed
    assert (await world.ask(of.Stats())).gate["code.readers"] == 0


async def test_one_snapshot_of_a_domain_is_on_the_shelf(world, root):
    await world.ask(of.Index(root=root))
    for cell in ("a", "b"):
        await world.leased(root, cell)
    domains = [name.split("/")[1] for _, name in world.shelved]
    assert sorted(domains) == sorted(domain.value for domain in Domain)
    assert {cell for cell, _ in world.shelved} == {"knowledge-1"}
