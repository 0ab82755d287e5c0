"""What is published in sessions on real cells, as those hear it who watch over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import defaultdict
from pathlib import Path

import pytest

from sylk_ray.gateway.client import GatewayClient
from sylk_ray.gateway.door import find_door
from sylk_ray.home import session_directory
from sylk_ray.messaging.topics import matches
from sylk_ray.runtime.journal import read_events
from sylk_ray.sessions import SessionDirectory

from .command import Sylk, lines_until

BUSY = "name: busy\ntasks:\n" + "".join(
    f"  t{number}: {{engineer: [{{run: 'echo {number} > {number}; sleep 0.3'}}], tester: 'test -e {number}'}}\n"
    for number in range(8)
)
RECONNECTIONS = 100


class Restless:
    """A client that leaves after a few frames and comes back with its cursor, and at last stays until two jobs are
    over."""

    def __init__(self, home: Path) -> None:
        self.client = GatewayClient(home)
        self.seen: dict[str, list[int]] = defaultdict(list)
        self.connections = 0
        self.began = threading.Event()
        self.problems: list[Exception] = []
        self._over = 0

    def run(self) -> None:
        try:
            cursor = ""
            while self._over < 2 or self.connections < RECONNECTIONS:
                cursor = self._connection(cursor, 4 if self.connections < RECONNECTIONS else 10_000)
        except Exception as problem:
            self.problems.append(problem)
            self.began.set()

    def _connection(self, cursor: str, frames: int) -> str:
        self.connections += 1
        with contextlib.closing(self.client._stream("/topics?pattern=session.%23", cursor)) as stream:
            for event, position in stream:
                cursor = position
                self.began.set()
                if event is not None and event.sequence:
                    self.seen[event.session].append(event.sequence)
                    self._over += event.kind == "job.finished"
                frames -= 1
                if not frames or (self._over == 2 and self.connections < RECONNECTIONS):
                    break
        return cursor


@pytest.mark.timeout(180)
async def test_a_client_that_reconnects_100_times_loses_nothing_and_hears_nothing_twice(start, repo):
    runtime = await start(gateway=True, density="packed", cells=2)
    home = runtime.settings.home

    async def door():
        return find_door(home)

    await runtime.until(door, bool)
    sylk = Sylk(home)
    watching = sylk.start("watch", "session.*.status", "--after", 0)
    restless = Restless(home)
    reading = threading.Thread(target=restless.run, daemon=True)
    reading.start()
    try:
        assert await asyncio.to_thread(restless.began.wait, 30)
        jobs = [await runtime.submit(BUSY, repo, f"busy-{number}") for number in (1, 2)]
        for job in jobs:
            assert (await runtime.until_over(job.job_id)).status == "succeeded"
        await asyncio.to_thread(reading.join, 60)
        assert (reading.is_alive(), restless.problems) == (False, [])
        assert restless.connections >= RECONNECTIONS
        for job in jobs:
            kept = read_events(SessionDirectory(session_directory(home, job.session_id)).journal)
            assert len(kept) > 50
            assert all(matches("session.#", event.topic) for event in kept)
            assert restless.seen[job.session_id] == [event.sequence for event in kept]
        told = [line for _ in jobs for line in await asyncio.to_thread(lines_until, watching, "job.finished")]
        for job in jobs:
            of_job = [line for line in told if job.session_id in line]
            assert ["job.started" in of_job[0], "job.finished" in of_job[-1]] == [True, True]
    finally:
        sylk.close()
