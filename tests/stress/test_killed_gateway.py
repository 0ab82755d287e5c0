"""The gateway's cell dies while someone follows a job: they see it to its end, with each event once."""

from __future__ import annotations

from dataclasses import dataclass

from .following import Following
from .victims import process_of
from .waiting_job import WaitingJob


@dataclass(frozen=True)
class Budget:
    """How often it dies."""

    kills: int = 2


BUDGET = Budget()


async def test_who_follows_a_job_sees_each_event_once_and_its_end(start, repo, tmp_path):
    runtime = await start(density="packed", cells=1, gateway=True)
    job = WaitingJob(tmp_path / "granted")
    record = await runtime.submit(job.text, repo)
    following = Following(runtime, record.job_id)
    await job.until_runs(runtime)
    for _ in range(BUDGET.kills):
        victim = await process_of(runtime, "gateway", "")
        victim.kill()

        async def successor() -> int:
            from ray.exceptions import RayError

            try:
                return await runtime.pid_of("gateway")
            except (RayError, TimeoutError):
                return victim.pid  # noqa: B023

        await runtime.until(successor, lambda pid: pid != victim.pid)  # noqa: B023

    job.go_on()
    seen = await following.end()

    kept = [event.sequence for event in seen if event.sequence]
    assert kept == list(range(1, len(kept) + 1))
    assert seen[-1].kind == "job.finished"
    await job.check(runtime, repo, await runtime.until_over(record.job_id), waits=(1,))
