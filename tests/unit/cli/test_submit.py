"""Submitting and following, against a gateway that says what the test wants."""

from __future__ import annotations

import json
import os
import signal

import pytest

from sylk_ray.cli import submit
from sylk_ray.cli.state import RuntimeState, write_state
from sylk_ray.errors import SylkError
from sylk_ray.gateway.door import door_path
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
    assert (sent["repo"], sent["session"], sent["start"], sent["queue"]) == (str(repo), "mine", True, True)
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
    assert f"-P -m sylk_ray.gateway.driver --home {home} --ray-job sylk-j-1 j-1" in sent["entrypoint"]
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


def waiting(status, why, before=""):
    return Event("job.waiting", "s-1", data={"job": "j-1", "status": status, "waiting": why, "before": before})


def test_a_queued_job_says_its_place_and_goes_on_by_itself(sylk, gateway, job_file):
    gateway.say(waiting("queued", "1st in line: 1 sessions are at work"), waiting("running", "", "queued"))
    gateway.say(STARTED, an_ending(JobState.SUCCEEDED))
    code, output, _ = sylk("submit", job_file)
    assert code == 0
    assert "queued: 1st in line: 1 sessions are at work; it starts by itself" in output
    assert "its turn has come" in output


def test_without_waiting_a_queued_job_says_its_place(sylk, gateway, job_file):
    gateway.replies["POST", "/jobs"] = (201, a_record(JobState.QUEUED, waiting="2nd in line"))
    code, output, _ = sylk("submit", job_file, "--no-wait")
    assert (code, output.splitlines()[0]) == (0, "job j-1 is queued: 2nd in line; it starts by itself")
    assert json.loads(sylk("submit", job_file, "--no-wait", "--json")[1])["waiting"] == "2nd in line"


def test_a_job_that_does_not_want_to_wait_ends_with_1_when_there_is_no_room(sylk, gateway, job_file):
    error = {"code": "too_many_sessions", "message": "1 sessions are at work", "hint": "leave out", "exit_code": 1}
    gateway.replies["POST", "/jobs"] = (409, {"error": error})
    code, output, errors = sylk("submit", job_file, "--no-queue")
    assert (code, output) == (1, "")
    assert errors == "error: 1 sessions are at work\nhint: leave out\n"
    assert gateway.heard_of("/jobs")[0]["queue"] is False


def test_through_ray_the_driver_knows_that_the_job_does_not_want_to_wait(sylk, gateway, job_file, home):
    with_a_dashboard(home, gateway)
    gateway.replies["GET", "/jobs/j-1"] = a_record()
    assert sylk("submit", job_file, "--no-queue")[0] == 0
    assert gateway.heard_of("/api/jobs/")[0]["entrypoint"].endswith(" j-1 --no-queue")


def test_a_job_that_is_paused_and_suspended_meanwhile_is_followed_on(sylk, gateway, job_file):
    gateway.say(STARTED, waiting("paused", "a person paused its session"), waiting("running", "", "paused"))
    gateway.say(waiting("suspended", "a person suspended its session"), waiting("running", "", "suspended"))
    gateway.say(an_ending(JobState.SUCCEEDED))
    code, output, _ = sylk("submit", job_file)
    assert code == 0
    told = [line[10:] for line in output.splitlines() if "lets it go on" in line or "goes on" in line]
    assert told == [
        "paused: a person paused its session; `sylk resume j-1` lets it go on",
        "it goes on",
        "suspended: a person suspended its session; `sylk resume j-1` lets it go on",
        "it goes on",
    ]


@pytest.mark.parametrize("command", [("submit",), ("logs", "j-1", "--follow")], ids=lambda command: command[0])
def test_when_the_runtime_is_ended_following_ends_with_1_and_says_what_to_do(start, gateway, job_file, home, command):
    gateway.replies["GET", "/jobs/j-1"] = a_record()
    gateway.say(STARTED)
    process = start(*command, *([job_file] if command == ("submit",) else []))
    assert gateway.streaming.wait(20)
    door_path(home).unlink()
    gateway.say(Event("stream.ended", "s-1"))
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 1
    assert "error: the runtime was ended before job j-1 was over" in errors
    assert "`sylk up` and `sylk resume j-1` let it go on" in errors
    assert gateway.heard_of("/jobs/j-1/cancel") == []


@pytest.mark.parametrize(
    ("wanted", "is_request"),
    [
        ("Add a --json flag to the report command, with tests", True),
        ("Fix package.json", True),
        ("Add a key to config.yaml", True),
        ("two\nlines", True),
        ("word " * 2000, True),
        ("job.yaml", False),
        ("nowhere/job.yaml", False),
        ("word", False),
    ],
)
def test_what_is_no_job_file_and_has_the_form_of_none_is_a_request(tmp_path, monkeypatch, wanted, is_request):
    monkeypatch.chdir(tmp_path)
    if not is_request:
        with pytest.raises(SylkError, match="job file"):
            submit._job_of(wanted, None, tmp_path)
        return
    job = submit._job_of(wanted, None, tmp_path)
    assert (job.request, job.tasks, job.repo, job.needs_plan) == (wanted.strip(), {}, str(tmp_path), True)


def test_a_file_with_blanks_in_its_name_is_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my job.yaml").write_text("name: a\ntasks: {t: {engineer: [run: make]}}\n")
    assert submit._job_of("my job.yaml", None, tmp_path).request is None
    (tmp_path / "jobs").mkdir()
    with pytest.raises(SylkError, match="cannot be read"):
        submit._job_of("jobs/my other.yaml", None, tmp_path)


def test_a_request_is_sent_as_a_job_without_tasks(sylk, gateway, repo):
    gateway.say(STARTED, an_ending(JobState.SUCCEEDED))
    assert sylk("submit", "Add a flag, please", "--repo", repo, "--yes")[0] == 0
    [sent] = gateway.heard_of("/jobs")
    assert (sent["job"]["request"], sent["job"]["tasks"]) == ("Add a flag, please", {})
    assert (sent["job"]["policy"]["approval"], sent["job"]["name"]) == ("auto", "add-a-flag-please")


def test_a_request_without_a_model_starts_no_runtime_to_be_refused(sylk, home, repo):
    door_path(home).unlink(missing_ok=True)
    (home / "runtime.json").unlink(missing_ok=True)
    code, _, errors = sylk("submit", "Add a flag, please", "--repo", repo)
    assert code == 2
    assert "needs a model, and none is configured" in errors
    assert "starting" not in errors
