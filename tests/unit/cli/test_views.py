from __future__ import annotations

import io

import msgspec
import pytest
from rich.console import Console

from sylk_ray.cli.humanise import age, duration, size
from sylk_ray.cli.job_view import JobView, failures_told, final_table, live_table
from sylk_ray.messaging import Event
from sylk_ray.sessions import JobState, TaskRecord
from sylk_ray.sessions.records import ErrorRecord, Loops

from ..gateway.fake_gateway import a_record


def shown(table):
    console = Console(file=io.StringIO(), width=120)
    console.print(table)
    return console.file.getvalue()


def a_view(*events):
    view = JobView()
    layers = [["a"], ["b"]]
    view.apply(Event("job.started", "s", data={"name": "tidy", "branch": "sylk/t", "layers": layers}, at=1.0))
    for kind, task, data, at in events:
        view.apply(Event(kind, "s", task, data, at=at))
    return view


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        *((0, "0.0 s"), (0.44, "0.4 s"), (9.96, "10.0 s"), (10, "10 s"), (59.4, "59 s"), (59.6, "1 min")),
        *((65, "1 min 5 s"), (3600, "1 h"), (3720, "1 h 2 min"), (86400, "1 d"), (100_000, "1 d 3 h")),
        (10**7, "115 d 17 h"),
    ],
)
def test_durations_read_well(seconds, told):
    assert duration(seconds) == told


@pytest.mark.parametrize(
    ("at", "told"), [(0, "-"), (100, "just now"), (95, "5 s ago"), (10, "1 min 30 s ago"), (200, "just now")]
)
def test_ages_read_well(at, told):
    assert age(at, now=100.0) == told


def test_sizes_read_well():
    assert [size(n) for n in (5, 5_000, 3_200_000_000, 7 * 10**13)] == ["5 B", "5.0 kB", "3.2 GB", "70.0 TB"]


def test_a_row_follows_its_task():
    view = a_view(
        ("task.state", "a", {"state": "running"}, 2.0),
        ("pipeline.phase", "a", {"phase": "testing", "loops": {"inspector": 1, "tester": 2}}, 3.0),
        ("task.progress", "a", {"line": "collecting ..."}, 4.0),
    )
    row = view.tasks["a"]
    assert (row.state, row.phase, row.line, row.seconds(12.0)) == ("running", "testing", "collecting ...", 10.0)
    assert view.tasks["b"].seconds(12.0) is None
    text = shown(live_table(view, "*"))
    assert "* testing" in text
    assert "1/2" in text
    assert "collecting ..." in text


def test_a_task_that_ended_keeps_its_time_and_says_why():
    view = a_view(
        ("task.state", "a", {"state": "running"}, 2.0),
        ("task.state", "a", {"state": "failed", "error": {"message": "it broke\nbadly"}}, 5.0),
        ("task.state", "b", {"state": "skipped", "reason": "a failed"}, 5.0),
    )
    assert view.tasks["a"].seconds(100.0) == 3.0
    text = shown(live_table(view, "*"))
    assert "it broke" in text
    assert "badly" not in text


def test_the_live_view_says_why_a_job_does_not_run_now():
    def told(status, why=""):
        view.apply(Event("job.waiting", "s", data={"job": "j-1", "status": status, "waiting": why}))
        return shown(live_table(view, "*"))

    view = JobView()
    text = told("queued", "1st in line: [many] at work")
    assert "preparing" in text
    assert "queued: 1st in line: [many] at work; it starts by itself" in text
    view.apply(Event("job.started", "s", data={"name": "tidy", "branch": "sylk/t", "layers": [["a"]]}))
    assert "queued" not in shown(live_table(view, "*"))
    assert "suspended: why; `sylk resume j-1` lets it go on" in told("suspended", "why")
    assert "suspended" not in told("running")


def test_checks_are_a_row_of_their_own():
    view = a_view(("checks.state", "session-checks", {"state": "running", "phase": "inspecting"}, 2.0))
    assert view.tasks["session-checks"].phase == "inspecting"


def test_what_tools_print_is_no_markup_and_no_command():
    view = a_view(
        ("task.state", "a", {"state": "running"}, 2.0),
        ("task.progress", "a", {"line": "[red]x[/red] [/] \x1b[2J"}, 3.0),
    )
    text = shown(live_table(view, "*"))
    assert "[red]x[/red] [/]" in text
    assert "\x1b[2J" not in text


def test_the_final_table_names_every_task():
    text = shown(final_table(a_record(JobState.SUCCEEDED)))
    assert "notes" in text
    assert "abc" in text


def a_failed_record(**loops):
    tasks = {
        "first": TaskRecord("first", "failed", error=ErrorRecord("e", "\n".join(f"line {n}" for n in range(20)), "do")),
        "second": TaskRecord("second", "succeeded", loops=Loops(**loops)),
    }
    checks = TaskRecord("session-checks", "failed", error=ErrorRecord("e", "bad \x1b[2J"))
    return msgspec.structs.replace(a_record(JobState.FAILED), tasks=tasks, checks=checks)


def test_failed_tasks_are_told_in_full_below_the_table():
    lines = failures_told(a_failed_record())
    assert lines[:3] == ["", "first failed:", "  line 0"]
    assert lines[13:16] == ["  line 11", "  ... 8 more lines", "  hint: do"]
    assert lines[16:] == ["", "session-checks failed:", "  bad  [2J"]
    assert failures_told(a_record(JobState.SUCCEEDED)) == []


def test_the_final_table_shows_merge_loops_when_there_are_any():
    assert "1/0/2" in shown(final_table(a_failed_record(inspector=1, merge=2)))
    assert "I/T/M" not in shown(final_table(a_failed_record(inspector=1)))
