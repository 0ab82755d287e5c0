"""What needs no cluster: a message within a cell, and what an agent costs."""

from __future__ import annotations

import asyncio
import gc
import statistics
import tempfile
import time
import tracemalloc
from pathlib import Path

from benchmarks.agents import Echo, Note, Small
from benchmarks.table import Row
from sylk_ray.config import Settings
from sylk_ray.messaging import Address
from sylk_ray.runtime import Host, LocalTransport, MemoryJournals, Roles, SessionBinding, SystemClock


async def new_host() -> Host:
    """A host of one session, with nothing around it."""
    host = Host(
        "a",
        roles=Roles({"small": Small}),
        transport=LocalTransport(),
        journals=MemoryJournals(),
        clock=SystemClock(),
        settings=Settings(home=Path(tempfile.gettempdir()) / "sylk-bench"),
    )
    await host.open_session(SessionBinding("s", "a"))
    return host


async def message_within_a_cell() -> list[Row]:
    """One message at a time between two agents of one cell, the way every message of a session goes."""
    host = await new_host()
    me, other = Address("s", "small", "me"), Address("s", "small", "other")
    host.directory.learn(other, "a")
    await host.ask(me, other, Echo(0), timeout=5)
    tells: list[float] = []
    asks: list[float] = []
    for number in range(20_000):
        started = time.perf_counter()
        await host.tell(me, other, Note(number), timeout=5)
        tells.append(time.perf_counter() - started)
        if number % 100 == 0:
            await asyncio.sleep(0)
    for number in range(20_000):
        started = time.perf_counter()
        await host.ask(me, other, Echo(number), timeout=5)
        asks.append(time.perf_counter() - started)
    await host.stop(0)
    return [
        Row("message within a cell until it is in its mailbox, median", statistics.median(tells) * 1e6, "us", None),
        Row("message within a cell, asked, handled and answered, median", statistics.median(asks) * 1e6, "us", 20),
    ]


async def activation(count: int) -> list[Row]:
    """From nothing to an agent that has handled its first message, many at once; and what it keeps in memory."""
    host = await new_host()
    me = Address("s", "small", "me")
    targets = [Address("s", "small", f"agent-{number}") for number in range(count)]
    for target in targets:
        host.directory.learn(target, "a")
    gc.collect()
    started = time.perf_counter()
    for target in targets:
        await host.tell(me, target, Note(0), timeout=5)
    await asyncio.sleep(0)
    while any(agent.handled == 0 for agent in host.agents()):
        await asyncio.sleep(0)
    seconds = time.perf_counter() - started
    await host.stop(0)

    host = await new_host()
    for target in targets:
        host.directory.learn(target, "a")
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for target in targets:
        await host.tell(me, target, Note(0), timeout=5)
    await asyncio.sleep(0.05)
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    await host.stop(0)
    return [
        Row(f"activation of {count:,} agents, each", seconds / count * 1e6, "us", 100),
        Row(f"memory of {count:,} agents, each", (after - before) / count / 1000, "kB", 16),
    ]


async def measure() -> list[Row]:
    """All rows."""
    return [*await message_within_a_cell(), *await activation(1_000), *await activation(10_000)]
