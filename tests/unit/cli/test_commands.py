"""The command as a person or a program runs it: output, errors and exit codes."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from sylk_ray.cli.state import RuntimeState, write_state
from sylk_ray.gateway.answers import Status
from sylk_ray.runtime.health import AgentHealth
from sylk_ray.sessions import JobState, SessionRecord

from ..gateway.fake_gateway import a_record, an_ending


def stale_state(home):
    write_state(home, RuntimeState("127.0.0.1:1", "", "http://127.0.0.1:1", 2**22 + 1, 1.0, "packed", "0.1.0"))


def test_without_a_runtime_status_ends_with_3_and_says_how_to_start(sylk):
    code, output, errors = sylk("status")
    assert (code, output) == (3, "")
    assert "sylk up" in errors


def test_a_stale_state_file_is_mentioned(sylk, home):
    stale_state(home)
    code, _, errors = sylk("status")
    assert code == 3
    assert "runtime.json is of an earlier one" in errors


@pytest.mark.parametrize(
    "command",
    [
        *(("jobs",), ("ps",), ("top",), ("logs", "j-1"), ("cancel", "j-1"), ("resume", "j-1"), ("watch", "#")),
        *(("session", "list"), ("session", "current"), ("session", "create", "x")),
        *(("session", each, "x") for each in ("show", "switch", "pause", "resume", "close")),
        ("session", "set", "x", "weight=1"),
        ("dead-letters", "list", "x"),
        *(("dead-letters", each, "x", "m-1") for each in ("show", "retry", "drop")),
    ],
    ids=" ".join,
)
def test_what_needs_a_runtime_ends_with_3_without_one(sylk, command):
    code, output, _ = sylk(*command, "--json")
    assert code == 3
    assert json.loads(output)["error"]["code"] == "runtime_not_reachable"


@pytest.mark.parametrize("command", [("status",), ("session", "list"), ("jobs",)])
def test_home_and_json_may_stand_before_the_command(sylk, tmp_path, command):
    other = tmp_path / "other"
    code, output, _ = sylk("--home", other, "--json", *command)
    assert code == 3
    assert str(other) in json.loads(output)["error"]["message"]
    assert sylk("--home", tmp_path / "wrong", *command, "--home", other, "--json")[1] == output


@pytest.mark.parametrize(
    "command",
    [
        ("--nope",),
        ("nope",),
        ("jobs", "--nope"),
        ("submit",),
        ("logs",),
        ("watch",),
        ("up", "--density", "odd"),
        ("up", "--num-cpus", "x"),
        ("session", "set", "x"),
        ("session", "create", "x", "--weight", "heavy"),
        ("dead-letters", "show", "x"),
        ("top", "--twice"),
    ],
)
def test_a_wrong_command_line_ends_with_2_and_points_to_help(sylk, command):
    code, output, errors = sylk(*command)
    assert (code, output) == (2, "")
    assert errors.startswith("error: ")
    assert "--help" in errors


def test_a_wrong_command_line_is_a_document_for_programs(sylk):
    code, output, _ = sylk("jobs", "--nope", "--json")
    assert code == 2
    assert json.loads(output)["error"]["exit_code"] == 2


@pytest.mark.parametrize(
    "command",
    [
        *("up", "down", "status", "submit", "jobs", "logs", "watch", "cancel", "resume", "ps", "top", "validate"),
        "doctor",
        *(f"session {each}" for each in ("create", "current", "switch", "pause", "resume", "set", "close")),
        *(f"dead-letters {each}" for each in ("list", "show", "retry", "drop")),
    ],
)
def test_every_command_explains_itself_with_an_example(sylk, command):
    code, output, _ = sylk(*command.split(), "--help")
    assert code == 0
    assert f"  sylk {command}" in output
    assert "--json" in output
    assert "--home" in output


def test_a_valid_job_is_shown_in_layers(sylk, job_file):
    code, output, _ = sylk("validate", job_file, "--set", "greeting=hi")
    assert code == 0
    assert "layer 1: notes" in output
    assert "layer 2: more" in output
    document = json.loads(sylk("validate", job_file, "--json")[1])
    assert document["layers"] == [["notes"], ["more"]]


@pytest.mark.parametrize("command", ["validate", "submit"])
def test_every_problem_of_a_job_is_named_with_its_place(sylk, tmp_path, command):
    path = tmp_path / "wrong.yaml"
    path.write_text("name: Tidy\ntasks:\n  a: {engineer: [{rnu: x}]}\n")
    code, output, errors = sylk(command, path)
    assert (code, output) == (2, "")
    assert [line.split(": ")[0] for line in errors.splitlines()[:2]] == [f"{path}:1:7", f"{path}:3:24"]
    document = json.loads(sylk(command, path, "--json")[1])
    assert [problem["line"] for problem in document["error"]["problems"]] == [1, 3]


@pytest.mark.parametrize("given", ["greeting", "=x", "nope=1"])
def test_a_variable_that_will_not_do_ends_with_2(sylk, job_file, given):
    assert sylk("validate", job_file, "--set", given)[0] == 2


def test_a_repository_that_is_none_is_refused_before_anything_starts(sylk, job_file, tmp_path, home):
    code, _, errors = sylk("submit", job_file, "--repo", tmp_path / "nowhere")
    assert code == 2
    assert "there is no folder" in errors
    assert not list(home.iterdir())


def test_down_without_a_runtime_is_no_error(sylk):
    assert sylk("down")[0] == 0
    assert json.loads(sylk("down", "--json")[1]) == {"stopped": False, "resumable": []}


def test_down_says_which_jobs_can_be_resumed(sylk, gateway):
    gateway.replies["POST", "/shutdown"] = {"resumable": ["j-1", "j-2"]}
    code, output, _ = sylk("down", "--now")
    assert code == 0
    assert "suspended: j-1, j-2; after `sylk up`, `sylk resume JOB` lets one go on" in output
    assert gateway.heard_of("/shutdown") == [{"now": True, "wait": False}]


def test_down_waits_for_all_jobs_or_for_nothing_but_not_for_both(sylk, gateway):
    gateway.replies["POST", "/shutdown"] = {"resumable": []}
    assert sylk("down", "--now", "--wait")[0] == 2
    assert "waiting for all jobs to end" in sylk("down", "--wait")[2]
    assert gateway.heard_of("/shutdown") == [{"now": False, "wait": True}]


def test_up_finds_what_runs(sylk, gateway):
    code, output, _ = sylk("up", "--json")
    assert code == 0
    assert (json.loads(output)["started"], json.loads(output)["gateway_url"]) == (False, gateway.url)
    assert "already runs" in sylk("up")[1]


def test_status_shows_what_the_gateway_tells(sylk, gateway):
    gateway.replies["GET", "/status"] = {
        "version": "0.1.0",
        "density": "packed",
        "home": "/h",
        "uptime_s": 75.0,
        "cells": 3,
        "warm_cells": 1,
        "agents": 9,
        "sessions": 2,
        "running_jobs": 1,
        "silent": [],
    }
    code, output, _ = sylk("status")
    assert code == 0
    assert "runs for 1 min 15 s" in output
    assert json.loads(sylk("status", "--json")[1])["running"] is True


def test_status_names_what_is_not_well(sylk, gateway):
    well = AgentHealth("shared/fleet/main", True, "healthy", 1.0)
    ill = AgentHealth("shared/guide/main", True, "failing", 1.0, "no disk")
    gateway.replies["GET", "/status"] = Status("0.1.0", "packed", "/h", 75.0, 3, 1, 9, 2, 1, [], [well, ill])
    output = sylk("status")[1]
    assert "shared/guide/main is failing for" in output
    assert "(nothing goes without it): no disk" in output
    assert "shared/fleet/main" not in output


def test_jobs_that_wait_say_why_and_what_to_type(sylk, gateway):
    gateway.replies["GET", "/jobs"] = [
        a_record(JobState.QUEUED, waiting="2nd in line: 1 sessions are at work"),
        a_record(JobState.PAUSED, waiting="a person paused its session"),
        a_record(JobState.SUSPENDED, waiting="the runtime ended"),
        a_record(),
    ]
    assert sylk("jobs")[1].splitlines()[-4:] == [
        "",
        "job j-1 is queued: 2nd in line: 1 sessions are at work; it starts by itself",
        "job j-1 is paused: a person paused its session; `sylk resume j-1` lets it go on",
        "job j-1 is suspended: the runtime ended; `sylk resume j-1` lets it go on",
    ]


def test_a_job_is_resumed(sylk, gateway):
    gateway.replies["POST", "/jobs/j-1/resume"] = a_record()
    code, output, _ = sylk("resume", "j-1")
    assert (code, output.splitlines()[0]) == (0, "job j-1 is running")
    assert json.loads(sylk("resume", "j-1", "--json")[1])["status"] == "running"
    gateway.replies["POST", "/jobs/j-1/resume"] = a_record(JobState.QUEUED, waiting="1st in line")
    assert "queued: 1st in line; it starts by itself" in sylk("resume", "j-1")[1]
    assert json.loads(sylk("resume", "j-1", "--json")[1])["waiting"] == "1st in line"


def test_a_job_that_is_resumed_can_be_followed(sylk, gateway):
    gateway.replies["POST", "/jobs/j-1/resume"] = a_record()
    gateway.say(an_ending(JobState.FAILED))
    code, output, _ = sylk("resume", "j-1", "--wait", "--json")
    assert (code, json.loads(output)["status"]) == (1, "failed")


def test_a_job_that_is_over_cannot_be_resumed(sylk, gateway):
    error = {"code": "illegal_session_state", "message": "job j-1 is succeeded", "hint": "", "exit_code": 1}
    gateway.replies["POST", "/jobs/j-1/resume"] = (409, {"error": error})
    code, output, errors = sylk("resume", "j-1")
    assert (code, output, errors) == (1, "", "error: job j-1 is succeeded\n")


def test_jobs_sessions_and_logs_are_shown(sylk, gateway):
    session = SessionRecord("s-1", "tidy-1", "/repo", "sylk/tidy-1", "000", job="j-1")
    gateway.replies["GET", "/jobs"] = [a_record(JobState.SUCCEEDED)]
    gateway.replies["GET", "/jobs/j-1"] = a_record(JobState.SUCCEEDED)
    gateway.replies["GET", "/jobs/j-1/log"] = "==> a <==\nhello\n"
    gateway.replies["GET", "/sessions"] = [session]
    gateway.replies["GET", "/sessions/tidy-1"] = session
    gateway.replies["DELETE", "/sessions/tidy-1"] = session
    gateway.say(an_ending(JobState.SUCCEEDED))
    assert "sylk/tidy-1" in sylk("jobs")[1]
    assert json.loads(sylk("jobs", "--json")[1])["jobs"][0]["job_id"] == "j-1"
    assert "job succeeded" in sylk("logs", "j-1")[1]
    assert "hello" in sylk("logs", "j-1", "--task", "notes")[1]
    assert sylk("logs", "j-1", "--task", "nope")[0] == 2
    assert "tidy-1" in sylk("session", "list")[1]
    assert "job j-1: succeeded" in sylk("session", "show", "tidy-1")[1]
    assert "stays" in sylk("session", "close", "tidy-1")[1]
    assert sylk("session", "show", "nope")[0] == 2


def test_output_in_a_pipe_has_no_colours_and_is_not_cut(sylk, gateway):
    gateway.replies["GET", "/jobs"] = [a_record(JobState.SUCCEEDED)]
    output = sylk("jobs")[1]
    assert "\x1b" not in output
    assert "..." not in output


def test_a_fault_of_ours_is_one_line_and_a_log(sylk, gateway, home):
    gateway.replies["GET", "/jobs"] = [{"strange": 1}]
    code, _, errors = sylk("jobs")
    assert code == 1
    assert "Traceback" not in errors
    log = home / "logs" / "cli.log"
    assert str(log) in errors
    assert "Traceback" in log.read_text()


def test_the_version_is_told(sylk):
    assert sylk("--version")[1].startswith("sylk 0.")
    assert set(json.loads(sylk("version", "--json")[1])) == {"sylk", "python", "ray"}


def test_quick_commands_import_nothing_slow(home):
    program = (
        "import sys; from sylk_ray.cli.app import run; code = run(['status', '--json']); "
        "slow = ('ray', 'pydantic_settings', 'fastapi', 'httpx', 'sylk_ray.runtime'); "
        "print(code, [m for m in slow if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env={"SYLK_HOME": str(home)}
    )
    assert done.stderr.strip() == "3 []"
