"""Two of a runtime's processes die in the same moment."""

from __future__ import annotations

import time
from dataclasses import dataclass

import pytest

from .victims import process_of
from .waiting_job import WaitingJob


@dataclass(frozen=True)
class Budget:
    """From the kill until the tool run that was cut off is started again."""

    recovery_s: float = 12.0


BUDGET = Budget()


@pytest.mark.parametrize("density", ["packed", "session"])
async def test_the_system_and_the_cell_with_the_job(start, repo, tmp_path, density):
    await both(await start(density=density, cells=1), repo, tmp_path, "system", "engineer")


async def test_the_gateway_and_the_cell_with_the_job(start, repo, tmp_path):
    await both(await start(density="packed", cells=1, gateway=True), repo, tmp_path, "gateway", "engineer")


async def both(runtime, repo, tmp_path, *names: str) -> None:
    job = WaitingJob(tmp_path / "granted")
    record = await runtime.submit(job.text, repo)
    await job.until_runs(runtime)
    for victim in [await process_of(runtime, name, record.session_id) for name in names]:
        victim.kill()
    killed = time.monotonic()

    await job.until_runs(runtime, 2)
    recovered = time.monotonic() - killed

    job.go_on()
    await job.check(runtime, repo, await runtime.until_over(record.job_id), waits=(2,))
    print(f"{' and '.join(names)}: at work again after {recovered:.2f} s")
    assert recovered < BUDGET.recovery_s
