"""The state directory's disk is full: the job says so, the runtime goes on, and works again when there is room."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from sylk_ray.errors import SylkError
from sylk_ray.sessions import JobState
from tests.unit.sessions.conftest import git

from .conftest import NOTHING, Left, errors_of, until_nothing_is_left


@dataclass(frozen=True)
class Budget:
    """The disk, and what may be left on it."""

    disk_mb: int = 12
    left: Left = NOTHING


BUDGET = Budget()
FILLING = """
name: filling
tasks:
  fill: {engineer: [{run: "head -c 50000000 /dev/zero > large"}], retries: 1}
"""
LOUD = """
name: loud
tasks:
  shout: {engineer: [{run: "yes | head -c 50000000; cat one > two"}]}
limits: {output_mb: 40}
"""
MODEST = "name: modest\ntasks:\n  a: {engineer: [{write: {path: x, content: x}}]}\n"


@pytest.fixture
def small_home(tmp_path: Path) -> Iterator[Path]:
    """The runtime's state directory on a disk of its own; unmounted after the runtime has ended."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={BUDGET.disk_mb}m,mode=700", "sylk-test", str(home)]
    try:
        done = subprocess.run(mount, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount here")
    if done.returncode != 0:
        pytest.skip(f"mounting is not permitted here: {done.stderr.strip()}")
    yield home
    subprocess.run(["umount", "--lazy", str(home)], check=True)


@pytest.fixture
async def runtime(small_home, start):
    return await start(density="packed", cells=1)


def fill(home: Path) -> Path:
    """Take all the room there is."""
    path = home / "filler"
    with path.open("wb", buffering=0) as file:
        for size in (1 << 16, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue
    return path


@pytest.mark.parametrize("job", [FILLING, LOUD], ids=["by its work", "by its output"])
async def test_a_tool_that_fills_the_disk_fails_its_job_and_the_next_one_succeeds(runtime, repo, job):
    record = await runtime.run(job, repo)

    assert record.status is JobState.FAILED
    assert "No space left on device" in errors_of(record)
    await until_nothing_is_left(runtime, repo, [record], BUDGET.left)
    for log in (runtime.settings.home / "sessions" / record.session_id / "artifacts").rglob("*.log"):
        log.unlink()
    assert (await runtime.run(MODEST, repo)).status is JobState.SUCCEEDED


async def test_a_job_for_a_full_disk_is_refused_and_taken_when_there_is_room(runtime, repo):
    filler = fill(runtime.settings.home)
    before = git(repo, "for-each-ref")

    with pytest.raises(SylkError, match="No space left on device") as refused:
        await runtime.submit(MODEST, repo, "demo")

    assert str(runtime.settings.home) in refused.value.message
    assert "make room" in refused.value.hint
    assert git(repo, "for-each-ref") == before
    filler.unlink()
    assert (await runtime.run(MODEST, repo, "demo")).status is JobState.SUCCEEDED


async def test_a_job_whose_disk_becomes_full_while_it_runs_ends_and_says_so(runtime, repo):
    home = runtime.settings.home
    job = f"""
name: meanwhile
tasks:
  wait_here: {{engineer: [{{run: "while [ ! -s {home}/filler ]; do sleep 0.02; done; cat {home}/filler > x"}}]}}
  after: {{depends_on: [wait_here], engineer: [{{write: {{path: y, content: y}}}}]}}
"""
    record = await runtime.submit(job, repo)
    await runtime.until(lambda: runtime.at_work("engineer"), bool)

    filler = fill(home)
    record = await runtime.until_over(record.job_id)

    assert record.status is JobState.FAILED
    assert "No space left on device" in errors_of(record)
    filler.unlink()
    await until_nothing_is_left(runtime, repo, [record], BUDGET.left)
    assert (await runtime.run(MODEST, repo)).status is JobState.SUCCEEDED
