"""A cell hangs for longer than the runtime waits, and then goes on: it has nothing to say any more."""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass

import psutil
import pytest

from sylk_ray.runtime.journal import read_events
from sylk_ray.sessions import session_directory

from .victims import process_of
from .waiting_job import WaitingJob


@dataclass(frozen=True)
class Budget:
    """How long a cell may be silent, and when its work is taken up elsewhere at the latest."""

    silence_s: float = 1.5
    recovery_s: float = 9.0


BUDGET = Budget()


async def test_a_cell_that_was_replaced_commits_nothing_and_starts_no_tool(start, repo, tmp_path):
    runtime = await start(density="packed", cells=2, cell_silence_s=BUDGET.silence_s)
    job = WaitingJob(tmp_path / "granted")
    record = await runtime.submit(job.text, repo)
    await job.until_runs(runtime)
    hung = await process_of(runtime, "engineer", record.session_id)
    hung.send_signal(signal.SIGSTOP)
    stopped = time.monotonic()

    await job.until_runs(runtime, 2)
    recovered = time.monotonic() - stopped
    with pytest.raises(psutil.NoSuchProcess):
        hung.send_signal(signal.SIGCONT)
    job.go_on()
    record = await runtime.until_over(record.job_id)

    await job.check(runtime, repo, record, waits=(2,))
    events = read_events(session_directory(runtime.settings.home, record.session_id) / "journal.db")
    kinds = [event.kind for event in events]
    assert (kinds.count("action.done"), kinds.count("task.merged"), kinds.count("job.finished")) == (3, 2, 1)
    print(f"at work again after {recovered:.2f} s")
    assert recovered < BUDGET.recovery_s
