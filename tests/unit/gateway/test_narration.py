from __future__ import annotations

import pytest

from sylk_ray.gateway.narration import grants_told, narrate
from sylk_ray.messaging import Event


def told(kind, task="", **data):
    return [line[10:] for line in narrate(Event(kind, "s", task, data, 1, 1.0))]


@pytest.mark.parametrize(
    ("event", "lines"),
    [
        (("task.state", "a", {"state": "succeeded", "attempt": 1}), ["a: succeeded"]),
        (("task.state", "a", {"state": "running", "attempt": 2}), ["a: running (attempt 2)"]),
        (
            ("task.state", "a", {"state": "failed", "error": {"message": "no\nmore", "hint": "try"}}),
            ["a: failed: no", "more", "hint: try"],
        ),
        (("task.state", "a", {"state": "queued"}), []),
        (("task.progress", "a", {"line": "x"}), []),
        (("some.other", "a", {}), []),
        (("pipeline.phase", "a", {"phase": "testing"}), ["a: the tester runs the tests"]),
        (("pipeline.phase", "a", {"phase": "completed"}), []),
        (
            ("pipeline.phase", "a", {"phase": "running", "loops": {"inspector": 1, "tester": 2}}),
            ["a: the engineer is at work (sent back by the inspector 1x, by the tester 2x)"],
        ),
        (
            ("pipeline.feedback", "a", {"by": "tester", "loop": 1, "text": "x failed"}),
            ["a: sent back by the tester, loop 1:", "x failed"],
        ),
        (("merge.conflict", "a", {"text": "f.py"}), ["a: its work conflicts with what was merged meanwhile:", "f.py"]),
        (("action.done", "a", {"action": "run", "summary": "ran it"}), ["a: run: ran it"]),
        (
            ("inspector.issues", "a", {"errors": 1, "issues": ["f.py:1: bad"]}),
            ["a: 1 issue(s) found, 1 of them errors", "f.py:1: bad"],
        ),
        (
            ("inspector.issues", "a", {"errors": 0, "issues": [], "overridden": ["i-1: bad (why)"]}),
            ["a: accepted: i-1: bad (why)"],
        ),
        (("inspector.issues", "a", {"errors": 0, "issues": []}), []),
        (
            ("tester.report", "a", {"passed": False, "tests_run": 3, "failures": ["t: x"]}),
            ["a: tests failed, 3 run", "t: x"],
        ),
        (
            ("tester.report", "a", {"passed": True, "tests_run": 3, "covered": "they ran 2 of 3"}),
            ["a: tests passed, 3 run; they ran 2 of 3"],
        ),
        (("task.merged", "a", {"commit": "abcdef0123456", "files": ["x"]}), ["a: merged as abcdef0123 (1 file(s))"]),
        (("checks.state", "session-checks", {"state": "running", "phase": ""}), ["session-checks: running"]),
        (
            ("job.waiting", "", {"job": "j-1", "status": "queued", "waiting": "1st in line"}),
            ["queued: 1st in line; it starts by itself"],
        ),
        (
            ("job.waiting", "", {"job": "j-1", "status": "suspended", "waiting": "the runtime ended"}),
            ["suspended: the runtime ended; `sylk resume j-1` lets it go on"],
        ),
        (
            ("job.waiting", "", {"job": "j-1", "status": "paused", "waiting": ""}),
            ["paused: `sylk resume j-1` lets it go on"],
        ),
        (("job.waiting", "", {"status": "running", "before": "queued"}), ["its turn has come"]),
        (("job.waiting", "", {"status": "running", "before": "paused"}), ["it goes on"]),
        (("job.cancelling", "", {"reason": "why not"}), ["the job is being cancelled: why not"]),
    ],
)
def test_each_kind_of_event_has_its_words(event, lines):
    kind, task, data = event
    assert told(kind, task, **data) == lines


def test_a_started_job_names_its_layers_and_what_was_granted():
    lines = told(
        "job.started",
        job="j-1",
        name="tidy",
        branch="sylk/t",
        layers=[["a", "b"], ["c"]],
        grants={"read": ["/y", "~/z"], "write": ["/x"], "network": True, "env": ["HOME"]},
        warnings=["2 uncommitted change(s)"],
    )
    assert lines == [
        "job tidy (j-1) started on branch sylk/t: a, b -> c",
        "granted: its tools may read /y, ~/z",
        "granted: its tools may write to /x",
        "granted: its tools may use the network",
        "granted: its tools may see HOME of the environment",
        "note: 2 uncommitted change(s)",
    ]
    assert grants_told({}) == []


def test_what_a_tool_prints_cannot_command_the_terminal():
    assert "\x1b" not in "".join(told("action.done", "a", action="run", summary="\x1b[2Jgone"))


def test_a_long_text_is_cut():
    assert (
        told("pipeline.feedback", "a", by="x", loop=1, text="\n".join("abcdefghijklmnopqrst"))[-1] == "... 8 more lines"
    )


def test_checks_are_told_once_a_phase_and_once_at_the_end():
    phases = [
        *(("running", ""), ("running", "running"), ("running", "inspecting"), ("running", "testing")),
        *(("running", "completed"), ("succeeded", "completed")),
    ]
    lines = [line for state, phase in phases for line in told("checks.state", "checks", state=state, phase=phase)]
    assert lines == [
        "checks: running",
        "checks: the inspector looks at it",
        "checks: the tester runs the tests",
        "checks: succeeded",
    ]
    failed = told("checks.state", "checks", state="failed", phase="failed", error={"message": "no\nmore"})
    assert failed == ["checks: failed", "no", "more"]


def test_the_end_of_a_job_tells_what_a_person_has_accepted():
    overridden = [{"issue": "i-1", "told": "bad", "reason": "why"}, {"issue": "i-2", "told": "odd", "reason": ""}]
    record = {"branch": "b", "duration_s": 1, "tasks": {"a": {"name": "a", "overridden": overridden}}, "checks": None}
    told_of = told("job.finished", status="succeeded", record=record)
    assert told_of[1:] == ["a: a person accepts i-1: bad (why)", "a: a person accepts i-2: odd"]
