"""From `sylk submit` to the first task's start, through Ray's Jobs API and direct, with the runtime up."""

from __future__ import annotations

import statistics
import time

import msgspec

from benchmarks.started import Started, started
from benchmarks.table import Row
from sylk_ray.runtime.journal import read_events
from sylk_ray.sessions import JobRecord, SessionDirectory, session_directory

JOB = "name: quick\ntasks:\n  one: {engineer: [{write: {path: one, content: x}}]}\n"


def measure(times: int = 5) -> list[Row]:
    """All rows; a runtime of its own is started and ended here."""
    with started() as runtime:
        until_first_start(runtime)
        through_ray = [until_first_start(runtime) for _ in range(times)]
        direct = [until_first_start(runtime, "--direct") for _ in range(times)]
    until_taken = statistics.median(taken for _, taken in through_ray)
    return [
        Row("`sylk submit` until the first task starts", statistics.median(t for t, _ in through_ray), "s", 3),
        Row("... of which the CLI, until the gateway has the job", until_taken, "s", None),
        Row("`sylk submit --direct` until the first task starts", statistics.median(t for t, _ in direct), "s", None),
    ]


def until_first_start(runtime: Started, *how: str) -> tuple[float, float]:
    """Seconds from the command to the task's start, and to the gateway's having the job."""
    began = time.time()
    result = runtime.submit(JOB, *how)
    directory = SessionDirectory(session_directory(runtime.home, result["session_id"]))
    record = msgspec.json.decode(directory.record_of(result["job_id"]).read_bytes(), type=JobRecord)
    events = read_events(directory.journal)
    at = next(event.at for event in events if event.kind == "task.state" and event.data["state"] == "running")
    return at - began, record.submitted_at - began
