"""A cell dies at any moment: its job ends, nothing is left, and the next job succeeds."""

from __future__ import annotations

import asyncio
import os
import random
import time
from dataclasses import dataclass

import psutil

from sylk_ray.sessions import JobState

from .conftest import NOTHING, Left, until_nothing_is_left

JOB = """
name: busy
policy: {on_failure: continue_on_failure}
tasks:
""" + "".join(
    f"""
  first{n}: {{engineer: [{{run: "sleep 0.2; echo {n} > first{n}"}}], tester: "sleep 0.2"}}
  then{n}: {{depends_on: [first{n}], engineer: [{{run: "sleep 0.2; echo {n} > then{n}"}}], inspector: {{forbid: [z]}}}}
"""
    for n in range(4)
)
NEXT = "name: next\ntasks:\n  a: {engineer: [{write: {path: x, content: x}}]}\n"


@dataclass(frozen=True)
class Budget:
    """How often, when at most, and what may come of it."""

    rounds: int = 3
    latest_s: float = 1.5
    end_s: float = 15.0
    left: Left = NOTHING


BUDGET = Budget()


async def test_a_cell_killed_at_any_moment_ends_its_job_and_leaves_nothing(start, repo):
    seed = int(os.environ.get("STRESS_SEED", random.randrange(10**6)))
    print(f"STRESS_SEED={seed}")
    chance = random.Random(seed)
    runtime = await start(density="packed", cells=2, group_slack=1)
    # Both cells have something from now on.
    await runtime.open_session("filler")
    for number in range(BUDGET.rounds):
        record = await runtime.submit(JOB, repo)
        await asyncio.sleep(chance.uniform(0, BUDGET.latest_s))
        cell = chance.choice(sorted(await runtime.cells(), key=lambda cell: cell.cell))
        psutil.Process(cell.pid).kill()
        killed = time.monotonic()

        record = await runtime.until_over(record.job_id)

        print(f"round {number}: {cell.title} killed, the job {record.status} {record.error}")
        assert time.monotonic() - killed < BUDGET.end_s
        assert record.status is JobState.SUCCEEDED or record.error.type == "cell_lost", record
        await until_nothing_is_left(runtime, repo, [record], BUDGET.left)
        assert (await runtime.run(NEXT, repo)).status is JobState.SUCCEEDED
