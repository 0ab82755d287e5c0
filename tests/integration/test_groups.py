"""Resource groups as Ray's placement groups: what they reserve, what they refuse, and that none is left."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import psutil
import pytest

from sylk_ray.errors import SylkError
from sylk_ray.fairness import Group
from sylk_ray.runtime.directory import FLEET
from sylk_ray.runtime.fleet_messages import CloseSession, GetResources, OpenSession, ShutDown
from sylk_ray.runtime.placement import PlacementFailed
from sylk_ray.sessions import JobRecord, JobState
from tests.cluster import Runtime

MODEST = "name: modest\ntasks:\n  a: {engineer: [{write: {path: x, content: x}}]}\n"
LARGE = Group(cpu_slots=2, memory_mb=512)
MB = 1 << 20


def groups() -> dict[str, dict[str, Any]]:
    """The placement groups of sessions that are not removed, by session."""
    from ray.util.placement_group import placement_group_table

    found = {group["name"]: group for group in placement_group_table().values() if group["state"] != "REMOVED"}
    return {name.removeprefix("sylk-"): group for name, group in found.items() if name.startswith("sylk-")}


async def look_at_groups() -> dict[str, dict[str, Any]]:
    return groups()


async def opened(runtime, session: str, group: Group = LARGE):
    return await runtime.ask(FLEET, OpenSession(session, group=group), timeout=40)


async def closed(runtime, session: str) -> None:
    await runtime.ask(FLEET, CloseSession(session))


async def until_no_group(runtime) -> None:
    await runtime.until(look_at_groups, lambda left: left == {}, seconds=15)


async def kill_system(runtime) -> None:
    """And wait until it is another one."""
    info = await runtime.system.call("info")
    psutil.Process(info.pid).kill()

    async def reborn() -> int:
        from ray.exceptions import RayError

        try:
            return (await runtime.system.call("info", timeout=5)).pid
        except (RayError, TimeoutError):
            return info.pid

    await runtime.until(reborn, lambda pid: pid != info.pid)


@pytest.fixture(params=["session", "dedicated"], scope="module")
def wanted(request) -> dict[str, Any]:
    """The settings of a runtime of each density that has groups."""
    return {"density": request.param, "dedicated_agents": 20, "placement_timeout_s": 3}


@pytest.fixture
async def runtime(cluster, kept, wanted) -> AsyncIterator[Runtime]:
    """One that other tests use as well."""
    async with kept.lent(cluster, **wanted) as runtime:
        yield runtime
        assert groups() == {}


@pytest.fixture
async def mortal(start, wanted) -> AsyncIterator[Runtime]:
    """One of the test's own, to kill parts of."""
    yield await start(**wanted)
    assert groups() == {}


async def test_a_session_reserves_what_its_group_says_on_one_node_until_it_is_closed(runtime):
    binding = await opened(runtime, "s")
    (group,) = groups().values()
    cells = 0.01 if binding.density == "session" else 0.02
    assert (group["strategy"], group["state"]) == ("STRICT_PACK", "CREATED")
    assert group["bundles"] == {0: {"CPU": 2 + cells, "memory": 512 * MB}}

    await closed(runtime, "s")

    assert groups() == {}


async def test_without_limits_only_what_the_cells_need_is_reserved(runtime):
    binding = await opened(runtime, "s", Group(weight=3.0, max_pipelines=2))
    (group,) = groups().values()
    assert group["bundles"] == {0: {"CPU": 0.01 if binding.density == "session" else 0.02}}
    await closed(runtime, "s")


@pytest.mark.parametrize(
    ("group", "told"),
    [
        (Group(cpu_slots=64), ["it wants 64.0", "of 4 CPU in all"]),
        (Group(memory_mb=10_000_000), ["10000000 MB of memory", "MB of memory in all"]),
    ],
    ids=["cpu", "memory"],
)
async def test_what_no_node_could_ever_have_fails_at_once_and_says_what_is_missing(runtime, group, told):
    started = time.monotonic()
    with pytest.raises(PlacementFailed, match="can never have") as failure:
        await opened(runtime, "s", group)
    assert time.monotonic() - started < 1
    assert [part for part in told if part not in failure.value.message] == [], failure.value.message
    assert groups() == {}


async def test_what_there_is_no_room_for_now_fails_after_the_deadline_and_fits_when_there_is(runtime):
    await opened(runtime, "first", Group(cpu_slots=3))
    started = time.monotonic()
    with pytest.raises(PlacementFailed, match=r"within 3 s: it wants 2\.0\d CPU on one node; the node has 0\.\d+ CPU"):
        await opened(runtime, "second", Group(cpu_slots=2))
    assert 3 <= time.monotonic() - started < 5
    assert set(groups()) == {"first"}

    waiting = asyncio.create_task(opened(runtime, "second", Group(cpu_slots=2)))
    await runtime.until(look_at_groups, lambda there: "second" in there)
    await closed(runtime, "first")
    await waiting

    assert groups()["second"]["state"] == "CREATED"
    await closed(runtime, "second")


async def test_a_session_that_is_closed_while_it_waits_for_room_leaves_no_group(runtime):
    await opened(runtime, "first", Group(cpu_slots=3))
    waiting = asyncio.create_task(opened(runtime, "second", Group(cpu_slots=2)))
    await runtime.until(look_at_groups, lambda there: "second" in there)
    closing = asyncio.create_task(closed(runtime, "second"))
    with pytest.raises(PlacementFailed):
        await waiting
    await closing
    assert set(groups()) == {"first"}
    await closed(runtime, "first")


async def test_the_end_of_the_runtime_does_not_wait_for_room(start):
    runtime = await start(density="session", placement_timeout_s=30)
    await opened(runtime, "first", Group(cpu_slots=3))
    waiting = asyncio.create_task(opened(runtime, "second", Group(cpu_slots=2)))
    await runtime.until(look_at_groups, lambda there: "second" in there)
    started = time.monotonic()

    await runtime.ask(FLEET, ShutDown(0.5))

    with pytest.raises(SylkError, match="being ended"):
        await waiting
    assert time.monotonic() - started < 10
    assert groups() == {}


async def test_a_cell_that_dies_inside_is_replaced_in_the_same_reservation(mortal):
    before = await opened(mortal, "s")
    reserved = groups()["s"]["placement_group_id"]
    (cell,) = [cell for cell in await mortal.cells() if cell.cell == before.router_cell]
    psutil.Process(cell.pid).kill()

    after = await mortal.until(lambda: opened(mortal, "s"), lambda now: now.router_cell != before.router_cell)

    assert after.fenced == (before.router_cell,)
    assert groups()["s"]["placement_group_id"] == reserved
    await closed(mortal, "s")


async def test_a_fleet_that_dies_takes_over_the_reservations_with_cells_and_gives_back_the_empty_ones(mortal):
    binding = await opened(mortal, "held", Group(cpu_slots=3))
    reserved = groups()["held"]["placement_group_id"]
    waiting = asyncio.create_task(opened(mortal, "waiting", Group(cpu_slots=2)))
    await mortal.until(look_at_groups, lambda there: "waiting" in there)

    await kill_system(mortal)

    await asyncio.gather(waiting, return_exceptions=True)
    await mortal.until(look_at_groups, lambda there: set(there) == {"held"})
    assert (await opened(mortal, "held")).router_cell == binding.router_cell
    assert groups()["held"]["placement_group_id"] == reserved
    await closed(mortal, "held")


async def test_a_session_that_is_given_up_gives_all_back(start, repo):
    runtime = await start(density="session", session_restarts=2)
    job = "name: j\ntasks:\n  a: {engineer: [{run: 'sleep 978'}]}\n"
    record = await runtime.submit(job, repo)
    killed: dict[int, str] = {}
    began = time.monotonic()

    async def kill_what_is_new() -> JobRecord:
        """As early as it is there: while the session is opened on it, as well as later."""
        for cell in await runtime.cells():
            if cell.pid not in killed:
                killed[cell.pid] = f"{cell.cell}, {cell.title}, after {time.monotonic() - began:.1f} s"
                psutil.Process(cell.pid).kill()
        return await runtime.job(record.job_id)

    record = await runtime.until(kill_what_is_new, lambda now: now.status.over)

    assert (record.status, record.error.type) == (JobState.FAILED, "cell_lost")
    assert len(killed) == 3, killed
    await until_no_group(runtime)


async def test_a_system_that_dies_at_the_end_of_a_job_leaves_no_reservation(start, repo):
    runtime = await start(density="session")
    record = await runtime.submit(MODEST, repo)
    await runtime.until_over(record.job_id)
    await kill_system(runtime)
    await until_no_group(runtime)
    assert (await runtime.ask(FLEET, GetResources())).sessions == []


async def test_a_process_that_has_room_may_be_slow_to_start(start):
    runtime = await start(density="packed", warm_cells=0, placement_timeout_s=0.02)
    assert (await opened(runtime, "s", Group())).router_cell
    await closed(runtime, "s")
