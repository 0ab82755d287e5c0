"""A cell dies while its agents wait, run a tool, or merge: they go on in another one."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from sylk_ray.sessions import JobState
from sylk_ray.sessions.messages import GUIDE, PauseSession, ResumeSession
from tests.unit.sessions.conftest import git, write

from .traces import NOTHING, Left, until_nothing_is_left
from .victims import process_of
from .waiting_job import WaitingJob


@dataclass(frozen=True)
class Budget:
    """From the kill until an agent is at work again, and what may be left."""

    recovery_s: float = 4.0
    left: Left = NOTHING


BUDGET = Budget()


async def test_killed_in_a_tool_run_the_run_is_done_again_and_no_other(packed, repo, tmp_path):
    job = WaitingJob(tmp_path / "granted")
    record = await packed.submit(job.text, repo)
    await job.until_runs(packed)
    (await process_of(packed, "engineer", record.session_id)).kill()
    killed = time.monotonic()

    await job.until_runs(packed, 2)
    recovered = time.monotonic() - killed

    job.go_on()
    await job.check(packed, repo, await packed.until_over(record.job_id), waits=(2,))
    print(f"at work again after {recovered:.2f} s")
    assert recovered < BUDGET.recovery_s


async def test_killed_while_its_job_is_paused_the_job_goes_on_when_it_is_resumed(packed, repo, tmp_path):
    job = WaitingJob(tmp_path / "granted")
    record = await packed.submit(job.text, repo)
    await job.until_runs(packed)
    await packed.ask(GUIDE, PauseSession(record.session_id))
    (await process_of(packed, "orchestrator", record.session_id)).kill()
    await job.until_runs(packed, 2)
    assert (await packed.job(record.job_id)).status is JobState.PAUSED

    await packed.ask(GUIDE, ResumeSession(record.session_id))

    job.go_on()
    await job.check(packed, repo, await packed.until_over(record.job_id), waits=(2,))


async def test_killed_while_it_has_nothing_to_do_nobody_notices(start, repo, tmp_path):
    runtime = await start(density="packed", cells=1)
    modest = "name: modest\ntasks:\n  a: {engineer: [{write: {path: x, content: x}}]}\n"
    assert (await runtime.run(modest, repo)).status is JobState.SUCCEEDED
    (cell,) = await runtime.until(runtime.cells, lambda cells: len(cells) == 1)
    psutil.Process(cell.pid).kill()
    killed = time.monotonic()

    record = await runtime.run(modest, repo)

    assert (record.status, record.error) == (JobState.SUCCEEDED, None)
    assert time.monotonic() - killed < BUDGET.recovery_s
    await until_nothing_is_left(runtime, repo, [record], BUDGET.left)


MERGING = """
name: merging
tasks:
  top: {engineer: [{run: "sed -i 1s/.*/top/ shared"}]}
  bottom: {engineer: [{run: "sed -i 9s/.*/bottom/ shared"}]}
"""


@pytest.fixture
def slow_merges(repo: Path, tmp_path: Path) -> Path:
    """The repository's own merge driver waits for a file; returns that file."""
    release, began = tmp_path / "release", tmp_path / "release.began"
    write(repo, {".gitattributes": "shared merge=slow\n", "shared": "".join(f"{n}\n" for n in range(9))})
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "slow merges")
    driver = f"touch {began}; while [ ! -e {release} ]; do sleep 0.02; done; git merge-file -q %A %O %B"
    git(repo, "config", "merge.slow.driver", driver)
    return release


async def test_killed_while_it_plans_a_merge_the_merge_is_made_once(packed, repo, slow_merges):
    record = await packed.submit(MERGING, repo)

    async def merging() -> bool:
        return slow_merges.with_name("release.began").exists()

    await packed.until(merging, bool)
    (await process_of(packed, "orchestrator", record.session_id)).kill()
    slow_merges.touch()

    record = await packed.until_over(record.job_id)

    await check_merged(packed, repo, record)


async def test_killed_while_it_carries_a_merge_out_the_merge_is_made_once(packed, repo, slow_merges):
    slow_merges.touch()
    record = await packed.submit(MERGING, repo, "demo")
    lock = repo / ".git" / "refs" / "heads" / "sylk" / "demo.lock"
    lock.parent.mkdir(exist_ok=True)
    lock.touch()

    async def moving() -> bool:
        return any(
            "update-ref" in words and "refs/heads/sylk/demo" in words
            for words in ((process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"]))
        )

    await packed.until(moving, bool)
    (await process_of(packed, "orchestrator", record.session_id)).kill()
    lock.unlink()

    record = await packed.until_over(record.job_id)

    await check_merged(packed, repo, record)


async def check_merged(runtime, repo: Path, record) -> None:
    assert (record.status, record.error) == (JobState.SUCCEEDED, None)
    assert sorted(git(repo, "log", "--format=%s", f"main..{record.branch}").splitlines()) == ["Bottom", "Top"]
    lines = git(repo, "show", f"{record.branch}:shared").splitlines()
    assert (lines[0], lines[8]) == ("top", "bottom")
    await until_nothing_is_left(runtime, repo, [record], BUDGET.left)
