"""Cells beside raw Ray actors, on one cluster in one run."""

from __future__ import annotations

import asyncio
import statistics
import time
from pathlib import Path
from typing import Any

from benchmarks.agents import Notes, Paced, Stream, Where
from benchmarks.cluster import new_repository, on_a_cluster, run_job, runtime
from benchmarks.table import Row
from sylk_ray.config import Settings
from sylk_ray.messaging import Address
from sylk_ray.runtime.directory import FLEET
from sylk_ray.runtime.fleet_messages import OpenSession

RAW_CALLS = 4_000
NOTES = 100_000


class RawActor:
    """What one would write with Ray alone: a method call a message."""

    def __init__(self) -> None:
        self.count = 0

    def note(self, number: int) -> int:
        self.count += 1
        return number


def raw_rate() -> float:
    """Calls a second from one caller that sends all and then waits for all."""
    import ray

    actor = ray.remote(RawActor).options(num_cpus=0.01).remote()
    ray.get(actor.note.remote(0))
    started = time.perf_counter()
    ray.get([actor.note.remote(number) for number in range(RAW_CALLS)])
    rate = RAW_CALLS / (time.perf_counter() - started)
    ray.kill(actor)
    return rate


def raw_rate_in_turn() -> float:
    """Calls a second from one caller that waits for each answer before the next call."""
    import ray

    actor = ray.remote(RawActor).options(num_cpus=0.01).remote()
    ray.get(actor.note.remote(0))
    started = time.perf_counter()
    for number in range(RAW_CALLS // 4):
        ray.get(actor.note.remote(number))
    rate = RAW_CALLS / 4 / (time.perf_counter() - started)
    ray.kill(actor)
    return rate


async def raw_paced(per_second: int, seconds: float) -> list[float]:
    """Round trips of raw calls at a steady rate, sorted."""
    import ray

    actor = ray.remote(RawActor).options(num_cpus=0.01).remote()
    await actor.note.remote(0)

    async def one(number: int) -> float:
        started = time.perf_counter()
        await actor.note.remote(number)
        return time.perf_counter() - started

    begin = time.perf_counter()
    calls: list[asyncio.Task[float]] = []
    for number in range(int(per_second * seconds)):
        late = begin + number / per_second - time.perf_counter()
        if late > 0:
            await asyncio.sleep(late)
        calls.append(asyncio.create_task(one(number)))
    times = sorted(await asyncio.gather(*calls))
    ray.kill(actor)
    return times


async def raw_creation(count: int = 5) -> float:
    """Seconds from asking for an actor to its first answer, median."""
    import ray

    taken: list[float] = []
    for _ in range(count):
        started = time.perf_counter()
        actor = ray.remote(RawActor).options(num_cpus=0.01).remote()
        await actor.note.remote(0)
        taken.append(time.perf_counter() - started)
        ray.kill(actor)
    return statistics.median(taken)


async def messages(home: Path) -> list[Row]:
    """Rate and latency between two cells, in turns with raw Ray."""
    rows: list[Row] = []
    async with runtime(home / "messages", cells=2, mailbox_bound=20_000, warm_cells=0) as system:
        await system.ask(FLEET, OpenSession("filler"))
        await system.ask(FLEET, OpenSession("s"))
        one = Address("s", "small", "main")
        home_cell = await system.ask(one, Where())
        two = one
        for number in range(40):
            two = Address("s", "small", f"two-{number}")
            if await system.ask(two, Where()) != home_cell:
                break
        in_turn = await asyncio.to_thread(raw_rate_in_turn)
        raw: list[float] = []
        ours: list[float] = []
        for _ in range(3):
            raw.append(await asyncio.to_thread(raw_rate))
            seconds = await system.ask(one, Stream(two, NOTES))
            count, ordered = await system.ask(two, Notes())
            assert (count, ordered) == (NOTES, True), "messages were lost or out of order"
            ours.append(NOTES / seconds)
        rate, raw_calls = statistics.median(ours), statistics.median(raw)
        rows += [
            Row("raw Ray: calls a second, one caller, one after the other", in_turn, "/s", None),
            Row("raw Ray: calls a second, one caller, all sent at once", raw_calls, "/s", None),
            Row("messages a second between cells, one sender, order checked", rate, "/s", None),
            Row("ratio to raw calls one after the other", rate / in_turn, "x", None),
            Row("ratio to raw calls all sent at once", rate / raw_calls, "x", 40, more_is_better=True),
        ]
        raw_times = await raw_paced(1000, 5)
        told = await system.ask(one, Paced(two, 1000, 5, False))
        asked = await system.ask(one, Paced(two, 1000, 5, True))
        rows += [
            Row("raw Ray: call and answer at 1,000/s, p50", _quantile(raw_times, 0.5) * 1e3, "ms", None),
            Row("raw Ray: call and answer at 1,000/s, p99", _quantile(raw_times, 0.99) * 1e3, "ms", None),
            Row("message between cells at 1,000/s until acknowledged, p50", _quantile(told, 0.5) * 1e3, "ms", None),
            Row("message between cells at 1,000/s until acknowledged, p99", _quantile(told, 0.99) * 1e3, "ms", 10),
            Row("question and answer between cells at 1,000/s, p50", _quantile(asked, 0.5) * 1e3, "ms", None),
            Row("question and answer between cells at 1,000/s, p99", _quantile(asked, 0.99) * 1e3, "ms", None),
        ]
    return rows


async def cells(home: Path) -> list[Row]:
    """A warm cell against a new actor."""
    from sylk_ray.runtime.cluster.factory import CellFactory
    from sylk_ray.runtime.cluster.warm_pool import WarmPool

    pool = WarmPool(CellFactory(Settings(home=home / "cells")), 4)
    pool.fill()
    while len(pool.idle) < 4:
        await asyncio.sleep(0.1)
    taken: list[float] = []
    adopted: list[Any] = []
    for _ in range(4):
        started = time.perf_counter()
        adopted.append(await pool.adopt())
        taken.append(time.perf_counter() - started)
        # Without the refill in the background, which would be measured too.
        if pool.refilling is not None:
            pool.refilling.cancel()
    for cell in adopted:
        await cell.kill()
    await pool.close()
    return [
        Row("raw Ray: a new actor until its first answer", await raw_creation() * 1e3, "ms", None),
        Row("adopting a warm cell", statistics.median(taken) * 1e3, "ms", 5),
    ]


async def graphs(home: Path) -> list[Row]:
    """What a task costs when there is nothing to do, and with git, worktrees and three agents."""
    repo = new_repository(home / "repo")
    rows: list[Row] = []
    chains = "\n".join(
        f"  t{number}: {{engineer: [{{write: {{path: 'f{number}', content: x}}}}]"
        + (f", depends_on: [t{number - 10}]" if number >= 10 else "")
        + "}"
        for number in range(100)
    )
    job = f"name: hundred\npolicy: {{max_concurrency: 10}}\ntasks:\n{chains}\n"
    nothing = {"pipeline": "benchmarks.agents:NoPipeline"}
    for what, extra, bar in (
        ("no-op task", nothing, 5.0),
        ("task that writes a file: worktree, commit, merge", {}, None),
    ):
        async with runtime(home / ("noop" if extra else "full"), extra_roles=extra, warm_cells=0) as system:
            for _ in range(2):
                record = await run_job(system, job, repo)
                assert record.status == "succeeded", record
            rows.append(Row(f"a graph of 100, per {what}", record.duration_s / 100 * 1e3, "ms", bar))
    return rows


def _quantile(ordered: list[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


async def _all(home: Path) -> list[Row]:
    return [*await messages(home), *await cells(home), *await graphs(home)]


def measure() -> list[Row]:
    """All rows, on a cluster that is started and ended here."""
    return on_a_cluster(_all)
