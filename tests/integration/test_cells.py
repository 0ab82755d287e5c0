"""Cells as real Ray actors."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import os
import signal
import urllib.request

import pytest

from sylk_ray.messaging import Address, CellLost, HandlerFailed, NotAllowed
from tests.cluster import Runtime

from .probes import Counted, Hog, Raise, Relay, Send, SendLock, SendWeight, Wait, WhereAmI


async def apart(runtime: Runtime) -> tuple[Address, Address]:
    """Two agents of one session in two cells."""
    other = await runtime.open_session("filler")
    home = await runtime.open_session("s")
    assert other.router_cell != home.router_cell
    one = Address("s", "probe", "main")
    # With a slack of 8 the ninth group goes to the other cell.
    for number in range(40):
        two = Address("s", "probe", f"two-{number}")
        if await runtime.ask(two, WhereAmI()) != home.router_cell:
            return one, two
    raise AssertionError("all groups went to one cell")


@pytest.fixture
async def pair(shared) -> tuple[Address, Address]:
    return await apart(shared)


async def test_thousands_of_messages_between_cells_arrive_once_and_in_order(shared, pair):
    one, two = pair
    await shared.ask(one, Send(two, 20_000))
    assert await shared.ask(two, Counted()) == list(range(20_000))


async def test_a_message_of_50_megabytes_goes_between_cells(shared, pair):
    one, two = pair
    assert await shared.ask(one, SendWeight(two, 50)) == 50 << 20


async def test_a_message_without_a_wire_form_is_its_senders_error(shared, pair):
    one, two = pair
    assert await shared.ask(one, SendLock(two)) == "NotEncodable"


async def test_an_exception_in_another_cell_comes_with_its_traceback_and_the_cell_lives_on(shared, pair):
    one, two = pair
    with pytest.raises(HandlerFailed, match="boom") as failure:
        await shared.ask(one, Relay(two, "boom"))
    assert "probes.py" in failure.value.message
    assert await shared.ask(two, Counted()) == []


async def test_an_agent_cannot_speak_to_another_sessions_agent(shared, pair):
    one, _ = pair
    with pytest.raises(NotAllowed):
        await shared.ask(one, Relay(Address("filler", "probe", "main"), "hello"))


async def test_a_handler_that_never_awaits_is_named_while_its_cell_still_answers(shared, pair):
    one, _ = pair
    hog = asyncio.create_task(shared.ask(one, Hog(3.0)))
    census = await shared.until(shared.census, lambda census: any(cell.blocked_by for cell in census.cells), seconds=10)
    assert [cell.blocked_by for cell in census.cells if cell.blocked_by] == [str(one)]
    await hog
    assert await shared.ask(one, Counted()) == []


async def test_a_killed_cell_fails_what_waits_for_it(packed):
    one, two = await apart(packed)
    waiting = asyncio.create_task(packed.ask(two, Wait()))
    await packed.until(packed.census, lambda c: any(a.address == str(two) and a.state == "busy" for a in c.agents))
    census = await packed.census()
    (agent,) = [agent for agent in census.agents if agent.address == str(two)]
    (cell,) = [cell for cell in census.cells if cell.cell == agent.cell]
    os.kill(cell.pid, signal.SIGKILL)
    with pytest.raises(CellLost):
        await waiting

    async def relayed() -> None:
        # The other cell hears of it by itself: what it has sent before is told to be lost, and is asked again.
        while True:
            with contextlib.suppress(CellLost):
                await packed.ask(one, Relay(two, "hello"))

    with pytest.raises(HandlerFailed, match="hello"):
        await asyncio.wait_for(relayed(), 20)  # it lives elsewhere now


async def test_a_cell_says_what_it_holds(shared, pair):
    census = await shared.census()
    titles = [cell.title for cell in census.cells if "s" in cell.sessions]
    assert titles
    assert all(title.startswith("Cell(cell-") and "agents of" in title for title in titles)


async def test_metrics_by_role_and_session_are_on_the_prometheus_endpoint(packed):
    import ray

    one, two = await apart(packed)
    await packed.ask(one, Send(two, 100))
    with pytest.raises(HandlerFailed):
        await packed.ask(two, Raise("counted"))
    port = ray.nodes()[0]["MetricsExportPort"]

    async def scrape() -> str:
        response = await asyncio.to_thread(urllib.request.urlopen, f"http://127.0.0.1:{port}/metrics")
        return response.read().decode()

    def complete(text: str) -> bool:
        lines = [line for line in text.splitlines() if 'role="probe"' in line and 'session="s"' in line]
        names = ("sylk_messages", "sylk_message_failures", "sylk_handler_latency", "sylk_active_agents", "sylk_mailbox")
        return all(any(line.startswith(f"ray_{name}") for line in lines) for name in names)

    await packed.until(scrape, complete, seconds=40)


async def test_a_warm_cell_waits_and_is_replaced_when_it_is_adopted(start):
    runtime = await start(density="packed", cells=3, warm_cells=1)

    def one_warm(census) -> bool:
        return sum(cell.warm for cell in census.cells) == 1

    before = await runtime.until(runtime.census, one_warm)
    (warm,) = [cell.cell for cell in before.cells if cell.warm]
    binding = await runtime.open_session("s")
    assert binding.router_cell == warm
    after = await runtime.until(runtime.census, one_warm)
    assert [cell.cell for cell in after.cells if cell.warm] != [warm]


def test_a_cell_has_no_coroutine_method_for_ray_would_make_it_an_async_actor():
    from sylk_ray.runtime.cluster.cell import Cell

    assert [name for name, member in inspect.getmembers(Cell) if inspect.iscoroutinefunction(member)] == []
