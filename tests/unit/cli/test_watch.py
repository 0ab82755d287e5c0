"""``sylk watch`` as a person or a program runs it."""

from __future__ import annotations

import json
import signal

import pytest

from sylk_ray.cli.watch import line_of
from sylk_ray.messaging import Event


def events(count: int) -> list[Event]:
    return [
        Event("pipeline.phase", "s-1", "notes", {"phase": "testing"}, number, 1.0, by="orchestrator")
        for number in range(1, count + 1)
    ]


def test_events_are_lines_with_time_session_topic_kind_and_data(sylk, gateway):
    gateway.say(*events(2))
    code, output, errors = sylk("watch", "session.#", "--after", "0", "--no-follow")
    assert (code, errors) == (0, "")
    first, _ = output.splitlines()
    for each in ("s-1", "session.s-1.orchestrator.pipeline", "pipeline.phase", "notes", "testing"):
        assert each in first


def test_what_was_broken_off_does_not_end_well(sylk, gateway):
    gateway.say(*events(2))
    gateway.ends_with = "closing"
    code, output, errors = sylk("watch", "session.#", "--after", "0", "--no-follow")
    assert (code, len(output.splitlines())) == (1, 2)
    assert "closing" in errors


def test_for_programs_each_line_is_a_document_with_a_cursor(sylk, gateway):
    gateway.say(*events(2))
    code, output, _ = sylk("watch", "session.#", "--after", "0", "--no-follow", "--json")
    told = [json.loads(line) for line in output.splitlines()]
    assert (code, [each["cursor"] for each in told]) == (0, ["1", "2"])
    assert told[0]["topic"] == "session.s-1.orchestrator.pipeline"
    assert (told[0]["session"], told[0]["sequence"], told[0]["kind"]) == ("s-1", 1, "pipeline.phase")


def test_what_is_wanted_is_asked_of_the_gateway(sylk, gateway):
    wanted = ("--session", "tidy", "--kind", "job.started", "--kind", "job.finished", "--priority", "high")
    assert sylk("watch", "session.*.status", *wanted, "--no-follow")[0] == 0
    ((_, path, _),) = [each for each in gateway.heard if each[1].startswith("/topics")]
    for each in ("pattern=session", "sessions=tidy", "kinds=job.started&kinds=job.finished", "priority=high"):
        assert each in path


def test_a_stream_that_breaks_off_is_taken_up_with_its_cursor(start, gateway):
    gateway.topics_at_once = 2
    gateway.say(*events(7))
    watching = start("watch", "#", "--after", "0", "--json")
    lines = [json.loads(watching.stdout.readline())["sequence"] for _ in range(7)]
    assert lines == list(range(1, 8))
    assert gateway.cursors == ["0", "2", "4", "6"]


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_well_when_the_person_has_seen_enough(start, gateway, by):
    gateway.say(*events(1))
    watching = start("watch", "#", "--after", "0")
    watching.stdout.readline()
    assert gateway.streaming.wait(20)
    watching.send_signal(by)
    _, errors = watching.communicate(timeout=20)
    assert (watching.returncode, errors) == (0, "")


def test_a_wrong_pattern_ends_with_2_and_says_how_patterns_are(sylk, gateway):
    code, output, errors = sylk("watch", "session..x")
    assert (code, output) == (2, "")
    assert "is not a pattern" in errors
    assert "hint:" in errors


def test_what_the_gateway_refuses_is_told_with_its_exit_code(sylk, gateway):
    detail = {"code": "invalid_cursor", "message": "'x' is not a cursor", "hint": "none", "exit_code": 2}
    gateway.replies["GET", "/topics"] = (422, {"error": detail})
    code, output, _ = sylk("watch", "#", "--after", "x", "--json")
    assert code == 2
    assert json.loads(output)["error"]["code"] == "invalid_cursor"


def test_a_line_is_plain_and_short():
    line = line_of(Event("task.progress", "s-1", "a", {"line": "\x1b[31m" + "x" * 500}, by="engineer"))
    assert "\x1b" not in line
    assert len(line) < 250
    assert line.endswith("...")
