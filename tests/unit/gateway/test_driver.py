"""The driver as Ray runs it: a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from sylk_ray.messaging import Event
from sylk_ray.sessions import JobState

from .fake_gateway import FakeGateway, a_record, an_ending

STARTED = Event(
    "job.started", "s-1", data={"job": "j-1", "name": "tidy", "branch": "b", "layers": [["notes"]]}, sequence=1
)


@pytest.fixture
def gateway(tmp_path):
    made = FakeGateway(tmp_path)
    made.replies["POST", "/jobs/j-1/start"] = a_record()
    made.replies["POST", "/jobs/j-1/cancel"] = a_record()
    yield made
    made.close()


@pytest.fixture
def driver(tmp_path):
    started = []

    def start(*more, **environment):
        command = [sys.executable, "-m", "sylk_ray.gateway.driver", "--home", str(tmp_path), *more, "j-1"]
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
            start_new_session=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.mark.parametrize(("status", "code"), [(JobState.SUCCEEDED, 0), (JobState.FAILED, 1), (JobState.CANCELLED, 1)])
def test_it_starts_the_job_tells_of_it_and_ends_as_the_job_did(gateway, driver, status, code):
    gateway.say(STARTED, an_ending(status))
    output, errors = driver("--ray-job", "sylk-j-1").communicate(timeout=20)
    assert f"job {status} after" in output
    assert "job tidy (j-1) started on branch b: notes" in output
    assert errors == ""
    assert gateway.heard_of("/jobs/j-1/start") == [{"ray_job": "sylk-j-1", "queue": True}]


def test_its_exit_code_is_the_jobs(gateway, driver):
    gateway.say(an_ending(JobState.FAILED))
    process = driver()
    process.communicate(timeout=20)
    assert process.returncode == 1


def test_the_ray_job_is_known_from_the_environment(gateway, driver):
    gateway.say(an_ending(JobState.SUCCEEDED))
    driver(RAY_JOB_ID="r-7").communicate(timeout=20)
    assert gateway.heard_of("/jobs/j-1/start") == [{"ray_job": "r-7", "queue": True}]


def test_it_starts_a_job_that_does_not_want_to_stand_in_line(gateway, driver):
    gateway.say(an_ending(JobState.SUCCEEDED))
    driver("--no-queue").communicate(timeout=20)
    assert gateway.heard_of("/jobs/j-1/start")[0]["queue"] is False


def test_asked_to_stop_it_cancels_the_job(gateway, driver):
    gateway.say(STARTED)
    process = driver()
    assert gateway.streaming.wait(20)
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=20)
    assert process.returncode == 1
    assert "cancelling the job" in output
    assert gateway.heard_of("/jobs/j-1/cancel") == [{"reason": "its Ray job was stopped"}]


def test_killed_it_leaves_the_job_alone(gateway, driver):
    gateway.say(STARTED)
    process = driver()
    assert gateway.streaming.wait(20)
    process.kill()
    process.communicate(timeout=20)
    assert gateway.heard_of("/jobs/j-1/cancel") == []


def test_without_a_gateway_it_says_so(driver):
    process = driver()
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 3
    assert "no runtime runs" in errors


def test_it_imports_nothing_slow():
    slow = "('ray', 'pydantic', 'fastapi')"
    program = f"import sys, sylk_ray.gateway.driver; print([m for m in {slow} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
