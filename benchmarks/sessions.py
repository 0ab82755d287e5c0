"""Many sessions and many agents at once, and how long a session takes to come back after its cell was killed."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path
from typing import Any

import psutil

from benchmarks.agents import Lines, WriteMany
from benchmarks.cluster import System, new_repository, on_a_cluster, runtime
from benchmarks.table import Row
from sylk_ray.jobs import load_job
from sylk_ray.messaging import Address
from sylk_ray.pipelines.messages import StopWork
from sylk_ray.runtime.directory import FLEET, SYSTEM_CELL
from sylk_ray.runtime.fleet_messages import Census, OpenSession, TakeCensus
from sylk_ray.sessions.messages import GUIDE, CreateSession, GetJob, StartJob, SubmitJob, SwitchSession

TASKS = 4_000
"""Of all sessions together, and at most MOST of each one."""
MOST = 400
NOTHING = {"pipeline": "benchmarks.agents:NoPipeline"}
EVENTS = (100, 1_500, 20_000)


async def throughput(home: Path) -> list[Row]:
    """No-op pipelines, 4,000 over 10 sessions or over 100; from the first session's start to the last one's end."""
    repo = new_repository(home / "repo")
    rates: dict[int, float] = {}
    async with runtime(home / "throughput", extra_roles=NOTHING, max_sessions=200, warm_cells=0) as system:
        for sessions in (1, 1, 10, 100):  # the first warms up
            count = min(TASKS // sessions, MOST)
            tasks = "\n".join(f"  t{number}: {{engineer: [{{run: 'true'}}]}}" for number in range(count))
            job = load_job(f"name: many\npolicy: {{max_concurrency: 20}}\ntasks:\n{tasks}\n", source="bench")
            text = job.model_dump_json(by_alias=True)
            prepared = [
                await system.ask(GUIDE, SubmitJob(text, str(repo), f"n{sessions}-{number}-{len(rates)}", False))
                for number in range(sessions)
            ]
            started = time.perf_counter()
            await asyncio.gather(*(system.ask(GUIDE, StartJob(record.job_id)) for record in prepared))
            # One after the other, for asking about all of them again and again would be most of what is measured.
            for record in prepared:
                while not (job := await system.ask(GUIDE, GetJob(record.job_id))).status.over:
                    await asyncio.sleep(0.05)
                assert job.status.value == "succeeded", job
            rates[sessions] = sessions * count / (time.perf_counter() - started)
    return [
        *(
            Row(f"no-op pipelines a second, {n} session(s) of {min(TASKS // n, MOST)}", rates[n], "/s", None)
            for n in (1, 10, 100)
        ),
        Row("100 sessions' throughput, of that of 10", rates[100] / rates[10], "x", 0.9, more_is_better=True),
    ]


async def crowd(home: Path) -> list[Row]:
    """Ten sessions with fifty living Engineers each."""
    async with runtime(home / "crowd", warm_cells=2) as system:
        await system.ask(FLEET, OpenSession("warm-up"))
        before = await memory(system)
        sessions = [f"s{number}" for number in range(10)]
        engineers = [Address(session, "engineer", f"e{number}") for session in sessions for number in range(50)]
        started = time.perf_counter()
        await asyncio.gather(*(system.ask(FLEET, OpenSession(session)) for session in sessions))
        for begin in range(0, len(engineers), 50):
            await asyncio.gather(*(system.ask(each, StopWork(0)) for each in engineers[begin : begin + 50]))
        took = time.perf_counter() - started
        census: Census = await system.ask(FLEET, TakeCensus())
        assert sum(agent.role == "engineer" for agent in census.agents) == len(engineers)
        after = await memory(system)
    return [
        Row("10 sessions x 50 Engineers: all alive after", took, "s", None),
        Row("10 sessions x 50 Engineers: memory beyond an idle runtime", after - before, "MB", 1500),
    ]


async def memory(system: System) -> float:
    """Private memory of all cells, in MB."""
    census: Census = await system.ask(FLEET, TakeCensus())
    return sum(psutil.Process(cell.pid).memory_full_info().uss for cell in census.cells) / 1e6


async def recovery(home: Path) -> list[Row]:
    """From kill -9 of a session's cell to its agent's next answer, by the size of its journal."""
    rows: list[Row] = []
    roles = {"book": "benchmarks.agents:Book", "author": "benchmarks.agents:Author"}
    async with runtime(home / "recovery", extra_roles=roles, warm_cells=1) as system:
        await system.ask(FLEET, OpenSession("filler"))
        for events in EVENTS:
            session = f"r{events}"
            await system.ask(FLEET, OpenSession(session))
            book = Address(session, "book", "main")
            await system.ask(Address(session, "author", "main"), WriteMany(events))
            times = [await killed(system, session, book, events) for _ in range(3)]
            rows.append(
                Row(f"kill -9 to the next answer, journal of {events:,} events", sorted(times)[1] * 1e3, "ms", None)
            )
    return rows


async def killed(system: System, session: str, book: Address, lines: int) -> float:
    census: Census = await system.ask(FLEET, TakeCensus())
    (cell,) = [cell for cell in census.cells if session in cell.sessions and cell.cell != SYSTEM_CELL]
    os.kill(cell.pid, signal.SIGKILL)
    started = time.perf_counter()
    while True:
        try:
            answer: Any = await system.ask(book, Lines(), timeout=10)
        except Exception:
            await asyncio.sleep(0.005)
            continue
        assert answer == lines
        return time.perf_counter() - started


async def switching(home: Path) -> list[Row]:
    """Making another session the foreground one."""
    repo = new_repository(home / "repo2")
    async with runtime(home / "switching") as system:
        for name in ("one", "two"):
            await system.ask(GUIDE, CreateSession(name, str(repo)))
        times: list[float] = []
        for number in range(100):
            started = time.perf_counter()
            await system.ask(GUIDE, SwitchSession(("one", "two")[number % 2], "me"))
            times.append(time.perf_counter() - started)
    return [Row("session switch, median", sorted(times)[50] * 1e3, "ms", 20)]


async def _all(home: Path) -> list[Row]:
    return [*await throughput(home), *await crowd(home), *await recovery(home), *await switching(home)]


def measure() -> list[Row]:
    """All rows, on a cluster that is started and ended here."""
    return on_a_cluster(_all)
