"""Tools without measure: each ends its own task with the right error, and the others do not notice."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import psutil

from sylk_ray.sessions import JobState
from tests.unit.sessions.conftest import git

from .traces import NOTHING, Left, until_nothing_is_left

JOB = """
name: measureless
policy: {on_failure: continue_on_failure, max_concurrency: 6}
limits: {memory_mb: 768, disk_mb: 64, output_mb: 4}
tasks:
  loud:
    engineer: [{run: "yes 'a line of a tool that never stops' | head -c 1000000000; echo; echo last"}]
  child:
    depends_on: [loud]
    engineer: [{write: {path: heard, content: "{{ tasks.loud.output | length }} {{ tasks.loud.output[-5:] }}"}}]
  forking:
    engineer: [{run: {command: "for n in $(seq 200); do sleep 983 & done; setsid sleep 983 & wait", timeout_s: 5}}]
  filling:
    engineer: [{run: "for n in $(seq 50); do head -c 8000000 /dev/zero > fill$n; done; sleep 982"}]
  one_large_file:
    engineer: [{run: "head -c 200000000 /dev/zero > large"}]
  greedy:
    engineer: [{run: ["python3", "-c", "import time; x = bytearray(b'x') * (2 << 30); time.sleep(981)"]}]
  modest:
    engineer: [{run: "for n in $(seq 20); do echo $n >> counted; sleep 0.1; done"}]
    tester: "test $(wc -l < counted) = 20"
"""


@dataclass(frozen=True)
class Budget:
    """What such tools may cost the runtime."""

    artifact_bytes: int = 4 << 20
    kept_output_characters: int = 20_000
    cell_growth_bytes: int = 150 << 20
    silent_cells: int = 0
    left: Left = NOTHING


BUDGET = Budget()
ERRORS = {
    "forking": "the time limit of 5 s",
    "filling": "the disk limit of 64 MB",
    "one_large_file": "the disk limit of 64 MB",
    "greedy": "the memory limit of 768 MB",
}


async def test_loud_and_large_tools_end_their_own_tasks_only(packed, repo):
    await packed.run("name: warm\ntasks:\n  a: {engineer: [{run: 'echo x > x'}]}\n", repo)
    before = {cell.pid: psutil.Process(cell.pid).memory_info().rss for cell in await packed.cells()}
    running = asyncio.create_task(packed.run(JOB, repo, "measureless"))
    silent = 0
    while not running.done():
        silent = max(silent, len((await packed.census()).silent))
        await asyncio.sleep(0.2)
    record = await running

    assert record.status is JobState.FAILED
    assert {name: task.error.type for name, task in record.tasks.items() if task.error} == dict.fromkeys(
        ERRORS, "action_failed"
    )
    for name, said in ERRORS.items():
        assert said in record.tasks[name].error.message
    assert {record.tasks[name].state for name in ("loud", "child", "modest")} == {"succeeded"}
    kept, last = git(repo, "show", "sylk/measureless:heard").split()
    assert int(kept) <= BUDGET.kept_output_characters
    assert last == "last"
    assert git(repo, "show", "sylk/measureless:counted").endswith("20")
    artifacts = packed.settings.home / "sessions" / record.session_id / "artifacts"
    assert max(path.stat().st_size for path in artifacts.rglob("*.log")) <= BUDGET.artifact_bytes
    assert silent <= BUDGET.silent_cells
    for pid, rss in before.items():
        assert psutil.Process(pid).memory_info().rss - rss <= BUDGET.cell_growth_bytes
    await until_nothing_is_left(packed, repo, [record], BUDGET.left)
