"""Jobs that Ray is to run, where it cannot."""

from __future__ import annotations

import sys
from typing import Any

from sylk_ray.cli.ray_jobs import run_through_ray
from sylk_ray.sessions import JobRecord, JobState

RECORD: dict[str, Any] = {
    "job_id": "j-1",
    "name": "tidy",
    "session_id": "s-1",
    "session": "tidy",
    "repo": "/repo",
    "branch": "sylk/tidy",
    "base": "abc",
    "submitted_at": 0.0,
}


class Started:
    """A gateway that starts what it is told to."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(path)
        return {**RECORD, "status": "running"}


def test_a_python_in_a_folder_with_a_space_is_not_waited_for(tmp_path, monkeypatch):
    (tmp_path / "ray-token").write_text("token")
    monkeypatch.setattr(sys, "executable", "/new comer/.venv/bin/python")
    client, told = Started(), list[str]()
    job = JobRecord(**RECORD, status=JobState.PREPARED)
    done = run_through_ray("http://127.0.0.1:9", tmp_path, client, job, told.append)
    assert (done.status, client.asked) == (JobState.RUNNING, ["/jobs/j-1/start"])
    (line,) = told
    assert line.startswith("Ray runs no jobs with a Python whose path has a space in it (/new comer/")
    assert line.endswith("; starting the job directly")
