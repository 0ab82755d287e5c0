"""The system's cell dies, with the guide, the fleet, the fair share and the coordinator in it."""

from __future__ import annotations

import time
from dataclasses import dataclass

import psutil

from sylk_ray.sessions import JobState

from .traces import NOTHING, Left, until_nothing_is_left
from .victims import process_of
from .waiting_job import WaitingJob

MODEST = "name: modest\ntasks:\n  a: {engineer: [{write: {path: x, content: x}}]}\n"


@dataclass(frozen=True)
class Budget:
    """How often, what it may take until the guide answers and until a new job is done, and what it may cost."""

    kills: int = 3
    answer_s: float = 6.0
    work_s: float = 12.0
    memory_growth_mb: int = 20
    open_files_growth: int = 10
    left: Left = NOTHING


BUDGET = Budget()


async def test_a_running_job_goes_on_and_a_new_one_is_taken(packed, repo, tmp_path):
    job = WaitingJob(tmp_path / "granted")
    record = await packed.submit(job.text, repo)
    await job.until_runs(packed)
    others: list[psutil.Process] = [await process_of(packed, "engineer", record.session_id)]
    before = [(each.memory_info().rss, each.num_fds()) for each in others]
    done = []
    for _ in range(BUDGET.kills):
        (await process_of(packed, "system", "")).kill()
        killed = time.monotonic()
        assert (await packed.job(record.job_id)).status is JobState.RUNNING
        answered = time.monotonic() - killed
        done.append(await packed.run(MODEST, repo))
        worked = time.monotonic() - killed
        print(f"the guide answered after {answered:.2f} s, and a new job was done after {worked:.2f} s")
        assert answered < BUDGET.answer_s
        assert worked < BUDGET.work_s

    job.go_on()
    record = await packed.until_over(record.job_id)

    await job.check(packed, repo, record, waits=(1,))
    assert [each.status for each in done] == [JobState.SUCCEEDED] * BUDGET.kills
    await until_nothing_is_left(packed, repo, [record, *done], BUDGET.left)
    for each, (rss, files) in zip(others, before, strict=True):
        assert each.memory_info().rss - rss < BUDGET.memory_growth_mb << 20
        assert each.num_fds() - files < BUDGET.open_files_growth
