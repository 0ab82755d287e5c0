"""Saying something to a session while its job runs: through the gateway, the router, and to whom it is for."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import httpx

from benchmarks.started import started
from benchmarks.table import Row
from sylk_ray.gateway.door import find_door, read_token

JOB = "name: waiting\ntasks:\n  one: {engineer: [{run: 'sleep 900'}]}\n"
KNOWN = "how is the job going?"
TIMES = 400


def measure() -> list[Row]:
    """All rows; a runtime of its own is started and ended here."""
    with started() as runtime, runtime.at_work(JOB):
        door = find_door(runtime.home)
        assert door is not None
        headers = {"Authorization": f"Bearer {read_token(runtime.home)}"}
        with httpx.Client(base_url=door.url, headers=headers, timeout=60) as http:
            session = _until_at_work(http)
            said = f"/sessions/{session}/say"

            def say(text: str) -> dict[str, Any]:
                return http.post(said, json={"text": text}).raise_for_status().json()

            health = _each_ms(lambda: http.get("/health"))
            routed = [say(KNOWN) for _ in range(20)][-1:]
            known = _each_ms(lambda: routed.append(say(KNOWN)))
            guide = _each_ms(lambda: say("/agents"))
    routing = sorted(each["routed_s"] * 1e3 for each in routed if each.get("cached"))
    return [
        Row("routing what was said before, in the router, median", statistics.median(routing), "ms", 1),
        Row("... p99", routing[len(routing) * 99 // 100], "ms", None),
        Row(
            "the same with the answer of another agent, through the gateway, median", known[len(known) // 2], "ms", None
        ),
        Row("... p99", known[len(known) * 99 // 100], "ms", 10),
        Row("a command of the Guide through the gateway, median", guide[len(guide) // 2], "ms", None),
        Row("... p99", guide[len(guide) * 99 // 100], "ms", 10),
        Row("GET /health (no agent), median", health[len(health) // 2], "ms", None),
        Row("... p99", health[len(health) * 99 // 100], "ms", None),
    ]


def _until_at_work(http: httpx.Client) -> str:
    while True:
        jobs = http.get("/jobs").json()
        if jobs and any(task["phase"] == "running" for task in jobs[0]["tasks"].values()):
            return jobs[0]["session_id"]
        time.sleep(0.1)


def _each_ms(do: Callable[[], object]) -> list[float]:
    taken: list[float] = []
    for _ in range(TIMES):
        began = time.perf_counter()
        do()
        taken.append((time.perf_counter() - began) * 1e3)
    return sorted(taken)
