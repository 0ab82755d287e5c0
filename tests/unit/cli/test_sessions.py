"""``sylk session`` and ``sylk dead-letters``, against a gateway that says what the test wants."""

from __future__ import annotations

import getpass
import json

import pytest

from sylk_ray.fairness import Group
from sylk_ray.runtime.dead_letters import LetterView
from sylk_ray.sessions import JobState, SessionRecord, SessionState

from ..gateway.fake_gateway import a_record

LETTER = LetterView("m-1", "s-1/pipeline/a", "s-1/engineer/a", "Implement", "handler_failed", "Traceback\nOh: no", 1.0)


def a_session(state=SessionState.ACTIVE, **more):
    return SessionRecord("s-1", "tidy", "/repo", "sylk/tidy", "000", state=state, **more)


def refused(code, message, hint="", exit_code=1, status=409):
    return status, {"error": {"code": code, "message": message, "hint": hint, "exit_code": exit_code}}


def test_a_session_is_made_for_a_repository_with_limits(sylk, gateway, repo):
    gateway.replies["POST", "/sessions"] = (201, a_session(SessionState.CREATED, standing=True))
    limits = ("--weight", 2, "--max-pipelines", 4, "--token-budget", 1e6)
    code, output, _ = sylk("session", "create", "tidy", "--repo", repo, "--description", "d", *limits)
    assert code == 0
    assert "session tidy (s-1) is made, on branch sylk/tidy" in output
    assert gateway.heard_of("/sessions") == [
        {
            "name": "tidy",
            "repo": str(repo),
            "description": "d",
            "group": {"weight": 2.0, "max_pipelines": 4, "token_budget": 1e6},
        }
    ]
    assert json.loads(sylk("session", "create", "tidy", "--json")[1])["id"] == "s-1"


def test_a_session_that_will_not_do_ends_with_2(sylk, gateway):
    gateway.replies["POST", "/sessions"] = refused("input", "'A' cannot name a session", "lower case", 2, 422)
    code, output, errors = sylk("session", "create", "A")
    assert (code, output) == (2, "")
    assert errors == "error: 'A' cannot name a session\nhint: lower case\n"


def test_the_list_marks_the_foreground_and_tells_states_kinds_and_limits(sylk, gateway):
    paused = a_session(SessionState.PAUSED, reason="other was switched to", standing=True, group=Group(max_pipelines=4))
    other = SessionRecord("s-2", "other", "/repo", "sylk/other", "000", job="j-1")
    gateway.replies["GET", "/sessions"] = [paused, other]
    gateway.replies["GET", "/foreground"] = other
    lines = sylk("session", "list")[1].splitlines()
    assert lines[1].split()[0] == "tidy"
    assert "paused (other was switched to)" in lines[1]
    assert "standing" in lines[1]
    assert "max_pipelines=4" in lines[1]
    assert lines[2].split()[:2] == ["*", "other"]
    assert "one job" in lines[2]
    assert json.loads(sylk("session", "list", "--json")[1])["foreground"] == "s-2"
    user = getpass.getuser()
    assert {path for _, path, _ in gateway.heard if path.startswith("/foreground")} == {f"/foreground?user={user}"}


def test_one_session_is_shown_with_its_job(sylk, gateway):
    session = a_session(SessionState.SUSPENDED, job="j-1", standing=True, description="for tidying", reason="why not")
    gateway.replies["GET", "/sessions/tidy"] = gateway.replies["GET", "/foreground"] = session
    gateway.replies["GET", "/jobs/j-1"] = a_record(JobState.SUSPENDED, waiting="why not")
    output = sylk("session", "show", "tidy")[1]
    for told in (
        "session tidy (s-1), suspended (why not); it stays when its job is over; your foreground session",
        "for tidying",
        "limits: none",
        "job j-1 is suspended: why not; `sylk resume j-1` lets it go on",
    ):
        assert told in output.splitlines()
    assert json.loads(sylk("session", "show", "tidy", "--json")[1])["foreground"] is True


def test_the_foreground_session_is_told_and_changed(sylk, gateway):
    assert "no session is in the foreground" in sylk("session", "current")[1]
    assert json.loads(sylk("session", "current", "--json")[1]) == {"session": None}
    gateway.replies["GET", "/foreground"] = gateway.replies["POST", "/sessions/tidy/switch"] = a_session()
    assert sylk("session", "current")[1] == "tidy (s-1), active, branch sylk/tidy\n"
    assert sylk("session", "switch", "tidy")[1] == "session tidy is in the foreground, active\n"
    sylk("session", "switch", "tidy", "--pause", "--json")
    user = getpass.getuser()
    bodies = [{"user": user, "pause": False}, {"user": user, "pause": True}]
    assert gateway.heard_of("/sessions/tidy/switch") == bodies


def test_a_session_is_paused_and_suspended(sylk, gateway):
    path = "/sessions/tidy/pause"
    gateway.replies["POST", path] = a_session(SessionState.PAUSED)
    assert "session tidy is paused: nothing new starts, what runs may end" in sylk("session", "pause", "tidy")[1]
    gateway.replies["POST", path] = a_session(SessionState.SUSPENDED)
    _, output, errors = sylk("session", "pause", "tidy", "--suspend")
    assert "its agents are put away" in output
    assert "`sylk session resume tidy` lets it go on" in output
    assert "10 s" in errors
    sylk("session", "pause", "tidy", "--suspend", "--now", "--json")
    assert [(body["suspend"], body["grace_s"]) for body in gateway.heard_of(path)] == [
        (False, 10.0),
        (True, 10.0),
        (True, 0.0),
    ]


def test_now_goes_with_suspend_only(sylk, gateway):
    assert sylk("session", "pause", "tidy", "--now")[0] == 2
    assert gateway.heard == []


def test_an_illegal_transition_ends_with_1_and_says_what_is(sylk, gateway):
    message = "session tidy is completed and cannot become paused"
    gateway.replies["POST", "/sessions/tidy/pause"] = refused("illegal_session_state", message)
    code, _, errors = sylk("session", "pause", "tidy")
    assert (code, errors) == (1, f"error: {message}\n")
    assert json.loads(sylk("session", "pause", "tidy", "--json")[1])["error"]["code"] == "illegal_session_state"


def test_a_resumed_session_tells_how_its_job_stands(sylk, gateway):
    gateway.replies["POST", "/sessions/tidy/resume"] = a_session(job="j-1")
    gateway.replies["GET", "/jobs/j-1"] = a_record(JobState.QUEUED, waiting="1st in line")
    assert sylk("session", "resume", "tidy")[1].splitlines() == [
        "session tidy is active",
        "job j-1 is queued: 1st in line; it starts by itself",
    ]
    assert json.loads(sylk("session", "resume", "tidy", "--json")[1])["state"] == "active"


def test_weight_and_limits_are_changed_and_lifted(sylk, gateway):
    path = "/sessions/tidy/group"
    gateway.replies["PATCH", path] = a_session(group=Group(weight=2, max_engineers=3))
    changes = ("weight=2", "max-engineers=3", "cpu_slots=1.5", "max_pipelines=none")
    code, output, _ = sylk("session", "set", "tidy", *changes)
    assert (code, output) == (0, "session tidy: weight=2 max_engineers=3\n")
    assert gateway.heard_of(path) == [{"weight": 2, "max_engineers": 3, "cpu_slots": 1.5, "max_pipelines": None}]


@pytest.mark.parametrize("change", ["weight", "=2", "weight="])
def test_a_word_that_is_no_change_ends_with_2(sylk, gateway, change):
    code, _, errors = sylk("session", "set", "tidy", change)
    assert code == 2
    assert "is not KEY=VALUE" in errors
    assert gateway.heard == []


def test_a_wrong_key_ends_with_2_and_the_one_that_was_meant(sylk, gateway):
    answer = refused("invalid_group", 'a group has no field "wait"', 'did you mean "weight"?', 2, 422)
    gateway.replies["PATCH", "/sessions/tidy/group"] = answer
    code, _, errors = sylk("session", "set", "tidy", "wait=2")
    assert (code, errors) == (2, 'error: a group has no field "wait"\nhint: did you mean "weight"?\n')


# -- dead letters ------------------------------------------------------------------------------------------------

PATH = "/sessions/tidy/dead-letters"


def test_dead_letters_are_listed(sylk, gateway):
    gateway.replies["GET", PATH] = [LETTER]
    line = sylk("dead-letters", "list", "tidy")[1].splitlines()[1]
    assert line.split()[:5] == ["m-1", "Implement", "s-1/pipeline/a", "s-1/engineer/a", "handler_failed"]
    assert line.endswith("Oh: no")
    assert json.loads(sylk("dead-letters", "list", "tidy", "--json")[1])["dead_letters"][0]["id"] == "m-1"
    gateway.replies["GET", PATH] = []
    assert sylk("dead-letters", "list", "tidy")[1] == "session tidy has no dead letters\n"


def test_a_dead_letter_is_shown_whole_and_commands_no_terminal(sylk, gateway):
    told = {"id": "m-1", "kind": "Implement", "source": "a", "target": "b", "error": "e", "at": 1.0}
    told |= {"reason": "Traceback\nOh: \x1b[2J", "message": {"text": "häll\x1b[2Jo"}}
    gateway.replies["GET", f"{PATH}/m-1"] = told
    code, output, _ = sylk("dead-letters", "show", "tidy", "m-1")
    assert code == 0
    assert "m-1: Implement from a to b" in output
    assert '"text": "häll' in output
    assert "\x1b" not in output
    assert json.loads(sylk("dead-letters", "show", "tidy", "m-1", "--json")[1]) == told


def test_a_dead_letter_is_sent_again_and_dropped(sylk, gateway):
    gateway.replies["POST", f"{PATH}/m-1/retry"] = gateway.replies["DELETE", f"{PATH}/m-1"] = LETTER
    assert "m-1 is on its way to s-1/engineer/a" in sylk("dead-letters", "retry", "tidy", "m-1")[1]
    assert sylk("dead-letters", "drop", "tidy", "m-1")[1] == "m-1 is dropped\n"
    assert json.loads(sylk("dead-letters", "drop", "tidy", "m-1", "--json")[1])["id"] == "m-1"


def test_letters_of_a_session_that_is_not_open_say_how_to_open_it(sylk, gateway):
    hint = "`sylk session resume tidy` first"
    gateway.replies["POST", f"{PATH}/m-1/retry"] = refused("session_not_open", "session tidy is suspended", hint)
    code, _, errors = sylk("dead-letters", "retry", "tidy", "m-1")
    assert (code, errors) == (1, f"error: session tidy is suspended\nhint: {hint}\n")
