"""Under the density `dedicated` each agent is a process: any of them dies in mid job, and the job goes on."""

from __future__ import annotations

import time
from dataclasses import dataclass

from .victims import process_of
from .waiting_job import WaitingJob


@dataclass(frozen=True)
class Budget:
    """From the kill until the role lives in another process."""

    recovery_s: float = 10.0


BUDGET = Budget()


ROLES = ("router", "orchestrator", "pipeline", "engineer")


async def test_one_agents_process_after_the_other_is_killed_and_another_takes_its_place(start, repo, tmp_path):
    runtime = await start(density="dedicated", dedicated_agents=16)
    job = WaitingJob(tmp_path / "granted")
    record = await runtime.submit(job.text, repo)
    await job.until_runs(runtime)
    for role in ROLES:
        runs = job.runs("wait")
        victim = await process_of(runtime, role, record.session_id)
        victim.kill()
        killed = time.monotonic()

        if role == "engineer":
            await job.until_runs(runtime, runs + 1)
        else:
            await runtime.until(
                lambda role=role: process_of(runtime, role, record.session_id),
                lambda found, pid=victim.pid: found.pid != pid,
                seconds=20,
            )

        recovered = time.monotonic() - killed
        print(f"{role}: at work again after {recovered:.2f} s")
        assert recovered < BUDGET.recovery_s

    job.go_on()

    record = await runtime.until_over(record.job_id)
    # A pipeline that lost its place asks anew, and the run may be cut off for it.
    await job.check(runtime, repo, record, waits=(2, 3, 4))
