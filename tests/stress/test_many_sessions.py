"""Many sessions at once: all succeed, and nothing of them stays."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

import pytest

from sylk_ray.sessions import JobState
from tests.unit.sessions.conftest import git

from .traces import NOTHING, Left, open_files, until_nothing_is_left

JOB = "name: many\ntasks:\n" + "".join(
    f"  t{n}: {{engineer: [{{write: {{path: 'made{n}', content: '{n}'}}}}], tester: 'test -s made{n}'}}\n"
    for n in range(4)
)


@dataclass(frozen=True)
class Budget:
    """What so many sessions may take and leave."""

    sessions: int
    warm_up: int
    seconds: float
    open_files_a_cell: int
    """How many more each cell that stays may have open after than before."""
    left: Left = NOTHING


PACKED = Budget(sessions=20, warm_up=4, seconds=60, open_files_a_cell=10)
A_CELL_EACH = Budget(sessions=6, warm_up=0, seconds=60, open_files_a_cell=10)


@pytest.mark.parametrize(("density", "budget"), [("packed", PACKED), ("session", A_CELL_EACH)])
async def test_many_sessions_at_once_all_succeed_and_leave_nothing(start, repo, density, budget):
    runtime = await start(density=density, cells=2)
    warm_up = await asyncio.gather(*(runtime.run(JOB, repo) for _ in range(budget.warm_up)))
    await until_nothing_is_left(runtime, repo, warm_up, budget.left)
    before = await open_files(runtime)

    started = time.monotonic()
    records = await asyncio.gather(*(runtime.run(JOB, repo) for _ in range(budget.sessions)))
    took = time.monotonic() - started

    assert [(record.status, record.error) for record in records] == [(JobState.SUCCEEDED, None)] * budget.sessions
    for record in records:
        assert git(repo, "rev-list", "--count", f"main..{record.branch}") == "4"
    assert took < budget.seconds
    await until_nothing_is_left(runtime, repo, records, budget.left)
    after = await open_files(runtime)
    grown = {pid: after[pid] - count for pid, count in before.items()}
    assert all(growth <= budget.open_files_a_cell for growth in grown.values()), (before, after)
