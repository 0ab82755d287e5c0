"""All of Ray dies at once, as when the machine is restarted: jobs are suspended, and go on when they are resumed."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

import psutil

from sylk_ray.tools import find_tool_processes
from tests.integration.command import until

from .waiting_job import WaitingJob


@dataclass(frozen=True)
class Budget:
    """What is left of it when it is dead."""

    tool_processes: int = 0


BUDGET = Budget()


def test_a_job_is_suspended_and_resumed_with_each_completed_tool_run_done_once(own_ray, repo, tmp_path):
    job = WaitingJob(tmp_path / "granted", "restarted")
    told = own_ray.submit(job, repo)
    job.wait_for_runs()
    before = own_ray.state
    for process in own_ray.family():
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    until(lambda: len(find_tool_processes(f"{told['session_id']}.")), lambda left: left == BUDGET.tool_processes)

    own_ray.up()

    assert own_ray.state["incarnation"] != before["incarnation"]
    assert own_ray.sylk.status_of(told["job_id"]) == "suspended"
    assert job.runs("wait") == 1
    own_ray.resume(told["job_id"])
    job.wait_for_runs(2)
    job.go_on()
    own_ray.until_succeeded(told["job_id"])
    job.check_work(repo, told["branch"], waits=(2,))
