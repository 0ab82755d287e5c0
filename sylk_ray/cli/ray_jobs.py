"""Ray's Jobs API over HTTP: a job of ours appears on the Ray dashboard as a Ray job, with its log."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import httpx

from sylk_ray.cli.results import record_of
from sylk_ray.errors import SylkError
from sylk_ray.runtime.cluster.head import ray_token
from sylk_ray.sessions import JobRecord, JobState

if TYPE_CHECKING:
    from sylk_ray.gateway.client import GatewayClient

START_TIMEOUT_S = 60.0
_DEAD = frozenset({"FAILED", "STOPPED", "SUCCEEDED"})


class RayRefused(SylkError):
    """Ray did not take the job, or its driver ended before it started ours."""

    code = "ray_refused"


class RayJobs:
    """Ray's dashboard, with its token."""

    def __init__(self, dashboard_url: str, home: Path) -> None:
        token = ray_token(home).read_text().strip()
        self._home = home
        self._http = httpx.Client(
            base_url=dashboard_url, headers={"Authorization": f"Bearer {token}"}, timeout=30, trust_env=False
        )

    def submit(self, job: JobRecord, *, queue: bool = True) -> str:
        """Have Ray run the driver of a job; returns the Ray job's id. Raises RayRefused."""
        if any(each.isspace() for each in sys.executable):
            # Its supervisor would wait for ever for a process that a shell takes for two words.
            raise RayRefused(f"Ray runs no jobs with a Python whose path has a space in it ({sys.executable})")
        submission = f"sylk-{job.job_id}"
        module = "sylk_ray.gateway.driver"
        command = [sys.executable, "-P", "-m", module, "--home", str(self._home), "--ray-job", submission, job.job_id]
        if not queue:
            command.append("--no-queue")
        body = {
            "entrypoint": shlex.join(command),
            "submission_id": submission,
            "metadata": {"job": job.job_id, "name": job.name, "session": job.session, "branch": job.branch},
        }
        try:
            answer = self._http.post("/api/jobs/", json=body)
        except httpx.HTTPError as problem:
            raise RayRefused(f"Ray's dashboard does not answer: {problem}") from problem
        if answer.status_code != 200:
            last = (answer.text.strip().splitlines() or [""])[-1]
            raise RayRefused(f"Ray did not take the job: {answer.status_code} {last[:300]}")
        return submission

    def wait_until_started(self, client: GatewayClient, job: JobRecord, submission: str) -> JobRecord:
        """Wait for the driver to start the job; raises RayRefused when it has ended and did not."""
        deadline = time.monotonic() + START_TIMEOUT_S
        looks = 0
        while time.monotonic() < deadline:
            why = self._end_of(submission) if looks % 5 == 4 else ""
            record = record_of(client.get(f"/jobs/{job.job_id}"))
            if record.status is not JobState.PREPARED:
                return record
            if why:
                raise RayRefused(f"the job's driver ended before it started the job: {why}")
            looks += 1
            time.sleep(0.1)
        raise RayRefused(f"the job's driver did not start it within {START_TIMEOUT_S:g} s")

    def _end_of(self, submission: str) -> str:
        """Why a Ray job is over; empty while it is not, or nothing is known."""
        try:
            told = self._http.get(f"/api/jobs/{submission}").json()
        except (httpx.HTTPError, ValueError):
            return ""
        if told.get("status") not in _DEAD:
            return ""
        return (str(told.get("message") or "").strip().splitlines() or [told["status"]])[0]


def run_through_ray(
    dashboard_url: str,
    home: Path,
    client: GatewayClient,
    job: JobRecord,
    tell: Callable[[str], None],
    *,
    queue: bool = True,
) -> JobRecord:
    """Start a prepared job as a Ray job, or directly when Ray will not."""
    try:
        jobs = RayJobs(dashboard_url, home)
        return jobs.wait_until_started(client, job, jobs.submit(job, queue=queue))
    except RayRefused as refused:
        tell(f"{refused.message}; starting the job directly")
        return record_of(client.post(f"/jobs/{job.job_id}/start", {"queue": queue}))
