"""Ray's control process (the GCS) dies during a job: the keeper starts it again, and nobody notices much."""

from __future__ import annotations

import time
from dataclasses import dataclass

import psutil

from .waiting_job import WaitingJob


@dataclass(frozen=True)
class Budget:
    """How often it dies, and until when a new job is done."""

    kills: int = 2
    work_s: float = 20.0


BUDGET = Budget()


def test_a_job_goes_on_while_the_gcs_is_started_again_and_a_new_one_is_done(own_ray, repo, tmp_path):
    job = WaitingJob(tmp_path / "granted", "meanwhile")
    told = own_ray.submit(job, repo)
    job.wait_for_runs()
    for number in range(BUDGET.kills):
        own_ray.process("gcs_server").kill()
        killed = time.monotonic()
        after = WaitingJob(tmp_path / "granted", f"after{number}")
        after.go_on()

        own_ray.until_succeeded(own_ray.submit(after, repo)["job_id"])

        worked = time.monotonic() - killed
        after.check_work(repo, f"sylk/{after.name}", waits=(1,))
        print(f"a new job was done {worked:.2f} s after the GCS was killed")
        assert worked < BUDGET.work_s

    job.go_on()

    own_ray.until_succeeded(told["job_id"])
    job.check_work(repo, told["branch"], waits=(1,))


def test_the_gcs_and_the_cell_with_the_job_at_once(own_ray, repo, tmp_path):
    job = WaitingJob(tmp_path / "granted", "both")
    told = own_ray.submit(job, repo)
    job.wait_for_runs()
    cells = own_ray.sylk.told("ps")["cells"]
    (cell,) = [each for each in cells if told["session_id"] in each["sessions"] and each["cell"].startswith("cell-")]
    own_ray.process("gcs_server").kill()
    psutil.Process(cell["pid"]).kill()
    killed = time.monotonic()

    job.wait_for_runs(2)
    print(f"at work again after {time.monotonic() - killed:.2f} s")

    job.go_on()
    own_ray.until_succeeded(told["job_id"])
    job.check_work(repo, told["branch"], waits=(2,))
