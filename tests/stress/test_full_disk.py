"""The state directory's disk is full: sessions stop and say so, and go on when there is room."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from sylk_ray.errors import SylkError
from sylk_ray.sessions import JobState
from tests.disks import small_disk, take_all_room
from tests.unit.sessions.conftest import git

from .following import Following
from .traces import NOTHING, Left, errors_of, until_nothing_is_left


@dataclass(frozen=True)
class Budget:
    """The disk, and what may be left on it."""

    disk_mb: int = 12
    left: Left = NOTHING


BUDGET = Budget()
FILLING = """
name: filling
tasks:
  fill: {engineer: [{run: "head -c 50000000 /dev/zero > large"}]}
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
    with small_disk(tmp_path / "home", BUDGET.disk_mb) as home:
        yield home


@pytest.fixture
async def runtime(small_home, start):
    return await start(density="packed", cells=1, gateway=True)


@pytest.fixture
def filler(runtime) -> Iterator[Callable[[], Path]]:
    """Take all the room there is, with a file that goes before the runtime ends."""
    yield lambda: take_all_room(runtime.settings.home)
    (runtime.settings.home / "filler").unlink(missing_ok=True)


@pytest.mark.parametrize(("job", "filled"), [(FILLING, "large"), (LOUD, "*.log")], ids=["by its work", "by its output"])
async def test_a_tool_that_fills_the_disk_stops_its_session_and_fails_when_there_is_room(runtime, repo, job, filled):
    record = await runtime.submit(job, repo)
    following = Following(runtime, record.job_id)
    stalled = await following.until_seen("session.stalled")
    # Who follows from here on is told as well.
    await Following(runtime, record.job_id).until_seen("session.stalled")
    for path in (runtime.settings.home / "sessions" / record.session_id).rglob(filled):
        path.unlink()
    record = await runtime.until_over(record.job_id)

    assert "room" in str(stalled.data) or "full" in str(stalled.data)
    assert record.status is JobState.FAILED
    assert "No space left on device" in errors_of(record)
    await following.end()
    await until_nothing_is_left(runtime, repo, [record], BUDGET.left)
    assert (await runtime.run(MODEST, repo)).status is JobState.SUCCEEDED


async def test_a_job_for_a_full_disk_is_refused_and_taken_when_there_is_room(runtime, repo, filler):
    filled = filler()
    before = git(repo, "for-each-ref")

    with pytest.raises(SylkError, match="No space left on device") as refused:
        await runtime.submit(MODEST, repo, "demo")

    assert str(runtime.settings.home) in refused.value.message
    assert "make room" in refused.value.hint
    assert git(repo, "for-each-ref") == before
    filled.unlink()
    assert (await runtime.run(MODEST, repo, "demo")).status is JobState.SUCCEEDED


async def test_a_job_whose_journal_hits_the_full_disk_stops_and_succeeds_when_there_is_room(
    runtime, repo, tmp_path, filler
):
    granted = tmp_path / "granted"
    granted.mkdir()
    job = f"""
name: meanwhile
sandbox: {{write: [{granted}]}}
tasks:
  wait_here:
    engineer:
      - run: "seq 3000; echo run >> {granted}/log; while [ ! -e {granted}/full ]; do sleep 0.02; done; true"
      - write: {{path: y, content: y}}
  after: {{depends_on: [wait_here], engineer: [{{write: {{path: z, content: z}}}}]}}
"""
    record = await runtime.submit(job, repo)
    following = Following(runtime, record.job_id)
    await following.until_seen("task.state")

    async def runs() -> bool:
        return (granted / "log").exists()

    await runtime.until(runs, bool)
    filled = filler()
    (granted / "full").touch()

    await following.until_seen("session.stalled")
    assert (await runtime.job(record.job_id)).status is JobState.RUNNING
    filled.unlink()
    record = await runtime.until_over(record.job_id)

    assert (record.status, record.error) == (JobState.SUCCEEDED, None)
    kinds = [event.kind for event in await following.end()]
    assert kinds.index("session.stalled") < kinds.index("session.unstalled") < kinds.index("job.finished")
    assert (granted / "log").read_text() == "run\n"
    await until_nothing_is_left(runtime, repo, [record], BUDGET.left)
