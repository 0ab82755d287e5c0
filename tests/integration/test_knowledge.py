"""A codebase indexed and found in a running runtime, whatever becomes of the cell that owns the knowledge."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sqlite3
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from actors.coordinator import COORDINATOR
from sylk_ray.errors import SylkError
from sylk_ray.gateway.client import GatewayClient
from sylk_ray.gateway.door import find_door
from sylk_ray.runtime.health import GetHealth
from tests.unit.codebase.repository import FILES, write_repository
from tests.unit.sessions.conftest import new_repository

from .command import Sylk, processes_with

JOB = "name: notes\ntasks:\n  notes: {engineer: [{write: {path: NOTES.md, content: x}}]}\n"
MANY = 600


class Codebase:
    """What the gateway of a runtime says of a codebase."""

    def __init__(self, runtime: Any) -> None:
        self.runtime = runtime
        self.home: Path = runtime.settings.home

    async def ask(self, type_: str, **fields: object) -> Any:
        client = GatewayClient(self.home)
        return await asyncio.to_thread(client.post, "/codebase", {"type": type_, **fields})

    async def cells(self) -> list[Any]:
        return [cell for cell in (await self.runtime.census()).cells if cell.title.startswith("Knowledge(")]

    async def pid(self) -> int:
        (cell,) = await self.cells()
        return cell.pid


@pytest.fixture
async def codebase(start) -> Codebase:
    runtime = await start(gateway=True, density="packed", cells=1, warm_cells=0, placement_timeout_s=5)

    async def door() -> Any:
        return find_door(runtime.settings.home)

    await runtime.until(door, bool)
    return Codebase(runtime)


@pytest.fixture
def root(tmp_path: Path) -> str:
    return str(write_repository(tmp_path / "jar"))


@pytest.fixture
def large(tmp_path: Path) -> str:
    """One whose indexing takes some seconds."""
    root = write_repository(tmp_path / "large")
    for number in range(MANY):
        functions = (
            f'def step_{number}_{each}(value):\n    """Step {each} of {number}."""\n    return value * {each}\n'
            for each in range(12)
        )
        (root / f"module_{number}.py").write_text("\n\n".join(functions))
    return str(root)


@pytest.fixture
def sylk(codebase: Codebase) -> Iterator[Sylk]:
    made = Sylk(codebase.home)
    yield made
    made.close()


async def test_it_is_found_from_the_gateway_and_by_commands_at_once(codebase, sylk, root):
    assert await codebase.cells() == []  # nobody pays for what nobody has asked for
    indexed = await codebase.ask("Index", root=root)
    found, done = await asyncio.gather(
        asyncio.gather(*(codebase.ask("Search", query="evict the oldest cookie", root=root) for _ in range(8))),
        asyncio.to_thread(sylk, "search", "evict the oldest cookie", "--repo", root, "--json"),
    )
    assert indexed["files"] == len(FILES) - 2  # without what is ignored
    assert {each["results"][0]["path"] for each in found} == {"jar/store.py"}
    assert done.code == 0, done
    assert done.document()["results"][0]["path"] == "jar/store.py"
    assert len(await codebase.cells()) == 1
    owners = psutil.Process(await codebase.pid()).open_files()
    assert str(codebase.home / "knowledge" / "knowledge.db") in {file.path for file in owners}


async def test_what_is_nowhere_is_answered_where_it_is_asked_however_much_is_written(codebase, root):
    await codebase.ask("Index", root=root)

    async def owners_answers() -> float:
        stats = await codebase.ask("Stats")
        return stats["gate"]["code.noes"] + stats["gate"]["code.maybes"]

    async def goes_no_further() -> bool:
        before = await owners_answers()
        found = await codebase.ask("Search", query="zyxwv", root=root)
        assert found["status"] == "no_matches"
        return await owners_answers() == before

    await codebase.runtime.until(goes_no_further, bool)
    before = await owners_answers()
    for letter in "abcdefgh":
        assert (await codebase.ask("Search", query=f"qwertz{letter}", root=root))["status"] == "no_matches"
        (Path(root) / f"fresh_{letter}.py").write_text(f"def qwertz{letter}():\n    return 1\n")
        await codebase.ask("Index", root=root)
        found = await codebase.ask("Search", query=f"qwertz{letter}", root=root)
        assert found["results"][0]["path"] == f"fresh_{letter}.py"
    assert await owners_answers() == before + 8  # those that found something
    # Whoever owns the knowledge next is followed as well, and nothing of it is denied meanwhile.
    os.kill(await codebase.pid(), signal.SIGKILL)
    for letter in "abcdefgh":
        found = await codebase.ask("Search", query=f"qwertz{letter}", root=root)
        assert found["results"][0]["path"] == f"fresh_{letter}.py"
    await codebase.runtime.until(goes_no_further, bool)


def nodes_in(home: Path) -> int:
    """How many are in the database by now, whoever has it open."""
    with contextlib.closing(sqlite3.connect(f"file:{home}/knowledge/knowledge.db?mode=ro", uri=True)) as database:
        return database.execute("SELECT count(*) FROM nodes").fetchone()[0]


@pytest.mark.timeout(180)
async def test_an_indexing_whose_cell_is_killed_is_complete_all_the_same(codebase, large):
    await codebase.ask("Stats")
    first = await codebase.pid()
    indexing = asyncio.create_task(codebase.ask("Index", root=large))

    async def stored() -> int:
        return await asyncio.to_thread(nodes_in, codebase.home)

    await codebase.runtime.until(stored, lambda nodes: nodes > 500)
    os.kill(first, signal.SIGKILL)
    assert not indexing.done()
    cut_off = await stored()

    assert (await indexing)["files"] == MANY + len(FILES) - 2
    assert cut_off < await stored()
    assert await codebase.pid() != first
    again = await codebase.ask("Index", root=large)
    assert (again["added"], again["changed"], again["removed"]) == (0, 0, 0)
    assert await codebase.ask("Verify") == {"type": "Verified", "well": True, "problems": [], "mended": 0}
    found = await codebase.ask("FindSymbol", name="step_599_11", root=large)
    assert [each["path"] for each in found["symbols"]] == ["module_599.py"]


async def test_a_fleet_that_is_started_again_finds_the_cell(codebase, root):
    await codebase.ask("Index", root=root)
    before = await codebase.pid()
    os.kill(await codebase.runtime.pid_of("system"), signal.SIGKILL)
    await codebase.runtime.until(codebase.runtime.census, lambda census: bool(census.cells))
    assert await codebase.pid() == before
    assert (await codebase.ask("Known", root=root))["known"]


async def test_the_gates_numbers_are_on_the_prometheus_endpoint(codebase, root):
    import ray

    await codebase.ask("Index", root=root)
    # Asked at once: who has a lease says no for itself, and these are the owner's numbers. On a busy machine the first
    # may be the only one that it answers; a filter takes one key in 256 for another, and lets that through.
    asked = [codebase.ask("Search", query=f"zyxwvut{last}", root=root) for last in "abcde"]
    assert [each["status"] for each in await asyncio.gather(*asked)] == ["no_matches"] * 5
    noes = (await codebase.ask("Stats"))["gate"]["code.noes"]
    assert noes >= 1
    port = ray.nodes()[0]["MetricsExportPort"]

    async def scrape() -> list[str]:
        response = await asyncio.to_thread(urllib.request.urlopen, f"http://127.0.0.1:{port}/metrics")
        return [line for line in response.read().decode().splitlines() if 'domain="code"' in line]

    def complete(lines: list[str]) -> bool:
        shown = [line for line in lines if line.startswith("ray_sylk_gate_noes")]
        return any(float(line.rpartition(" ")[2]) == noes for line in shown)

    lines = await codebase.runtime.until(scrape, complete, seconds=40)
    for name in ("maybes", "false_positives", "unsure", "bytes", "pending_keys", "readers"):
        assert any(line.startswith(f"ray_sylk_gate_{name}") for line in lines)


async def test_it_is_there_from_the_start_where_the_settings_say_so(start):
    runtime = await start(density="packed", cells=1, warm_cells=0, system_agents=["knowledge"])

    async def health() -> Any:
        return {each.agent: each.condition for each in await runtime.ask(COORDINATOR, GetHealth())}

    known = await runtime.until(health, lambda seen: seen["shared/knowledge/main"] != "starting")
    assert known["shared/knowledge/main"] == "healthy"
    assert (runtime.settings.home / "knowledge" / "socket").exists()


async def test_without_knowledge_declared_jobs_go_on(codebase, root, repo):
    (codebase.home / "knowledge").write_text("in the way")
    with pytest.raises(SylkError, match="cannot be kept in") as refused:
        await codebase.ask("Index", root=root)
    assert refused.value.code == "codebase_directory_unusable"
    assert (await codebase.runtime.run(JOB, repo)).status == "succeeded"


async def test_without_room_for_its_cell_declared_jobs_go_on(codebase, root, repo):
    import ray

    assert (await codebase.runtime.run(JOB, repo, "before")).status == "succeeded"
    free = ray.available_resources()["CPU"]
    holder = ray.remote(type("Holder", (), {"ready": lambda self: True}))
    held = [holder.options(num_cpus=int(free)).remote(), holder.options(num_cpus=round(free % 1, 4)).remote()]
    try:
        await asyncio.gather(*(each.ready.remote() for each in held))
        with pytest.raises(SylkError, match="no room for cell") as refused:
            await codebase.ask("Index", root=root)
        assert refused.value.code == "placement_failed"
        assert (await codebase.runtime.run(JOB, repo, "meanwhile")).status == "succeeded"
    finally:
        for each in held:
            ray.kill(each)
    assert (await codebase.ask("Index", root=root))["files"] == len(FILES) - 2


@pytest.mark.timeout(180)
def test_the_end_of_a_runtime_leaves_no_process_and_no_socket(tmp_path, root):
    sylk = Sylk(tmp_path / "home")
    try:
        assert sylk("up", "--num-cpus", 2).code == 0
        gateway = GatewayClient(sylk.home)
        gateway.post("/codebase", {"type": "Index", "root": root})
        job = tmp_path / "job.yaml"
        job.write_text(JOB)
        repo = new_repository(tmp_path / "repo", {"one.txt": "1\n"})
        assert sylk("submit", job, "--repo", repo, "--wait").code == 0
        pids = [cell["pid"] for cell in gateway.get("/agents")["cells"]]
        assert any(cell["title"].startswith("Knowledge(") for cell in gateway.get("/agents")["cells"])
    finally:
        down = sylk("down")
        sylk.close()
    assert down.code == 0, down
    assert [pid for pid in pids if psutil.pid_exists(pid)] == []
    assert list(processes_with("sylk_ray.runtime.cluster.keeper", str(sylk.home))) == []
    assert not (sylk.home / "knowledge" / "socket").exists()
    found = sylk("search", "evict the oldest cookie", "--repo", root, "--no-refresh", "--json")
    sylk.close()
    assert found.document()["results"][0]["path"] == "jar/store.py"
