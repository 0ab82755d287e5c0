"""Submitting and following, against a gateway that says what the test wants."""

from __future__ import annotations

import json
import os
import signal

import pytest

from sylk_ray.cli.state import RuntimeState, write_state
from sylk_ray.messaging import Event
from sylk_ray.sessions import JobState
from sylk_ray.sessions.records import Grants

from ..gateway.fake_gateway import a_record, an_ending

STARTED = Event(
    "job.started", "s-1", data={"job": "j-1", "name": "tidy", "branch": "b", "layers": [["notes"]]}, sequence=1
)


@pytest.fixture(autouse=True)
def taken(gateway):
    gateway.replies["POST", "/jobs"] = (201, a_record(grants=Grants(network=True)))
    gateway.replies["POST", "/jobs/j-1/start"] = a_record()


def test_the_result_of_a_job_is_exactly_one_document(sylk, gateway, job_file, repo):
    gateway.say(STARTED, an_ending(JobState.SUCCEEDED))
    code, output, errors = sylk("submit", job_file, "--json", "--session", "mine", "--set", "greeting=hi")
    assert code == 0
    assert json.loads(output) == {
        "job_id": "j-1",
        "session_id": "s-1",
        "status": "succeeded",
        "branch": "sylk/tidy-1",
        "commit": None,
        "duration_s": 0.0,
        "tasks": {
            "notes": {
                "state": "succeeded",
                "attempts": 1,
                "loops": {"inspector": 0, "tester": 0},
                "duration_s": 0.0,
                "files_changed": ["a"],
                "commit": "abc",
                "error": None,
            }
        },
    }
    assert "may use the network" in errors
    assert "job succeeded" in errors
    (sent,) = gateway.heard_of("/jobs")
    assert (sent["repo"], sent["session"], sent["start"]) == (str(repo), "mine", True)
    assert sent["job"]["vars"] == {"greeting": "hi"}


@pytest.mark.parametrize("status", [JobState.FAILED, JobState.CANCELLED])
def test_a_job_that_did_not_succeed_ends_with_1(sylk, gateway, job_file, status):
    gateway.say(STARTED, an_ending(status))
    code, output, _ = sylk("submit", job_file)
    assert code == 1
    assert f"job {status}" in output
    assert "branch sylk/tidy-1" in output


def test_without_waiting_the_job_is_only_named(sylk, job_file):
    code, output, _ = sylk("submit", job_file, "--no-wait", "--json")
    assert code == 0
    assert json.loads(output) == {
        "job_id": "j-1",
        "session_id": "s-1",
        "branch": "sylk/tidy-1",
        "status": "running",
    }


def test_when_ray_does_not_answer_the_job_is_started_directly(sylk, gateway, job_file, home):
    (home / "ray-token").write_text("t")
    state = RuntimeState("127.0.0.1:1", "http://127.0.0.1:1", gateway.url, os.getpid(), 1.0, "packed", "0.1.0")
    write_state(home, state)
    gateway.say(STARTED, an_ending(JobState.SUCCEEDED))
    code, _, errors = sylk("submit", job_file)
    assert code == 0
    assert "starting the job directly" in errors
    assert gateway.heard_of("/jobs")[0]["start"] is False
    assert len(gateway.heard_of("/jobs/j-1/start")) == 1


def with_a_dashboard(home, gateway):
    """A runtime whose Ray dashboard is the same fake server."""
    (home / "ray-token").write_text(gateway.token)
    write_state(home, RuntimeState("127.0.0.1:1", gateway.url, gateway.url, os.getpid(), 1.0, "packed", "0.1.0"))
    gateway.replies["POST", "/jobs"] = (201, a_record(JobState.PREPARED))
    gateway.replies["POST", "/api/jobs/"] = {"submission_id": "sylk-j-1"}
    gateway.say(STARTED, an_ending(JobState.SUCCEEDED))


def test_through_ray_the_driver_starts_the_job(sylk, gateway, job_file, home):
    with_a_dashboard(home, gateway)
    looks = iter([a_record(JobState.PREPARED), a_record(), a_record()])
    gateway.replies["GET", "/jobs/j-1"] = lambda _: next(looks)
    assert sylk("submit", job_file)[0] == 0
    (sent,) = gateway.heard_of("/api/jobs/")
    assert sent["submission_id"] == "sylk-j-1"
    assert f"-m sylk_ray.gateway.driver --home {home} --ray-job sylk-j-1 j-1" in sent["entrypoint"]
    assert gateway.heard_of("/jobs/j-1/start") == []


def test_when_the_driver_dies_before_it_starts_the_job_it_is_started_directly(sylk, gateway, job_file, home):
    with_a_dashboard(home, gateway)
    gateway.replies["GET", "/jobs/j-1"] = a_record(JobState.PREPARED)
    gateway.replies["GET", "/api/jobs/sylk-j-1"] = {"status": "FAILED", "message": "no such python"}
    code, _, errors = sylk("submit", job_file)
    assert code == 0
    assert "no such python; starting the job directly" in errors
    assert len(gateway.heard_of("/jobs/j-1/start")) == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_in_a_pipe_cancels_the_job_and_waits_for_its_end(start, gateway, job_file, number):
    def cancelled(body):
        gateway.say(an_ending(JobState.CANCELLED))
        return a_record()

    gateway.replies["POST", "/jobs/j-1/cancel"] = cancelled
    gateway.say(STARTED)
    process = start("submit", job_file, "--json")
    assert gateway.streaming.wait(20)
    for line in process.stderr:
        if "started on branch" in line:
            break
    process.send_signal(number)
    output, _ = process.communicate(timeout=20)
    assert process.returncode == 1
    assert json.loads(output)["status"] == "cancelled"
    assert gateway.heard_of("/jobs/j-1/cancel") == [{"reason": "a person pressed Ctrl-C"}]
    assert gateway.cursors == ["0", "1"]
