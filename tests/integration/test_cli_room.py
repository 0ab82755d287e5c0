"""The ``sylk`` command on a runtime with room for one session, which is ended and started again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.sessions.conftest import git, new_repository

from .command import Sylk, end_of, lines_until
from .job_files import quick_job, waiting_job


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "my próject", {"one.txt": "1\n"})


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Sylk]:
    """A runtime of the test's own, for one session at a time and without a dashboard."""
    sylk = Sylk(tmp_path / "small", SYLK_MAX_SESSIONS="1")
    try:
        assert sylk("up", "--num-cpus", 2, "--no-dashboard").code == 0
        yield sylk
    finally:
        down = sylk("down", "--now")
        sylk.close()
    assert down.code == 0, down


def test_a_job_that_has_no_room_waits_and_a_runtime_that_is_ended_leaves_it_to_be_resumed(small, tmp_path, repo):
    path, release = waiting_job(tmp_path)
    first = small.told("submit", path, "--repo", repo, "--session", "first", "--no-wait")["job_id"]
    queued = small.start("submit", quick_job(tmp_path, "second"), "--repo", repo, "--session", "second")
    lines_until(queued, "queued: 1st in line")
    refused = small("submit", quick_job(tmp_path, "third"), "--repo", repo, "--session", "third", "--no-queue")
    assert (refused.code, "max_sessions is 1" in refused.errors) == (1, True), refused
    assert "third" not in git(repo, "for-each-ref")
    told = {job["name"]: job["waiting"] for job in small.told("jobs")["jobs"] if job["status"] == "queued"}
    assert [(name, waiting[:11]) for name, waiting in told.items()] == [("quick", "1st in line")]
    following = small.start("logs", first, "--follow")
    lines_until(following, "the tester runs the tests")

    down = small("down", "--json")

    assert (down.code, down.document()["stopped"]) == (0, True), down
    assert first in down.document()["resumable"]
    for process in (following, queued):
        ended = end_of(process)
        assert ended.code == 1, ended
        assert "the runtime was ended before job" in ended.errors
        assert "sylk resume" in ended.errors
    assert small("up", "--num-cpus", 2, "--no-dashboard").code == 0
    jobs = {job["session"]: job for job in small.told("jobs")["jobs"]}
    assert [(name, job["status"]) for name, job in sorted(jobs.items())] == [
        ("first", "suspended"),
        ("second", "suspended"),
    ]
    assert small("resume", first).output.splitlines()[0] == f"job {first} is running"
    resumed = small("resume", jobs["second"]["job_id"])
    assert "is queued: 1st in line" in resumed.output
    release.touch()
    assert small.until_over(first) == "succeeded"
    assert small.until_over(jobs["second"]["job_id"]) == "succeeded"
    assert git(repo, "rev-list", "--count", "main..sylk/first") == "1"


def test_down_waits_for_running_and_queued_jobs_when_it_is_told_to(small, tmp_path, repo):
    path, release = waiting_job(tmp_path)
    small.told("submit", path, "--repo", repo, "--session", "first", "--no-wait")
    small.told("submit", quick_job(tmp_path, "second"), "--repo", repo, "--session", "second", "--no-wait")
    downing = small.start("down", "--wait", "--json")
    assert downing.stderr is not None
    assert "waiting for all jobs to end" in downing.stderr.readline()
    release.touch()
    down = end_of(downing)
    assert (down.code, down.document()) == (0, {"stopped": True, "resumable": []}), down
    for name in ("first", "second"):
        assert git(repo, "rev-list", "--count", f"main..sylk/{name}") == "1"
