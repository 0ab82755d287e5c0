"""``sylk say``, ``sylk chat`` and what they complete."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from typing import Any

import pytest

from sylk_ray.cli.completion import completions
from sylk_ray.sessions import SessionRecord

SESSION = SessionRecord("s-1", "tidy", "/repo", "sylk/tidy", "000", job="j-1")


def said(**more: Any) -> dict[str, Any]:
    answer = {"agent": "tester", "text": "all passed", "seconds": 0.1}
    return {"kind": "directed", "reasons": ["it names whom it is for"], "answers": [answer], **more}


@pytest.fixture
def session(gateway):
    gateway.replies["GET", "/sessions/tidy"] = SESSION
    gateway.replies["POST", "/sessions/s-1/say"] = said()


def test_it_prints_where_it_went_why_and_the_answer(sylk, gateway, session):
    code, output, _ = sylk("say", "--session", "tidy", "@to:tester", "how did it go?")
    assert code == 0
    assert output == "-> tester: it names whom it is for\nall passed\n"
    assert gateway.heard_of("/sessions/s-1/say") == [{"text": "@to:tester how did it go?", "timeout_s": 60.0}]


def test_what_was_understood_of_free_words_is_shown(sylk, gateway, session):
    gateway.replies["POST", "/sessions/s-1/say"] = said(
        kind="free", intent="locate", subject="auth", confidence=0.95, cached=True
    )
    output = sylk("say", "-s", "tidy", "where", "is", "auth")[1]
    assert output.splitlines()[0] == ("-> tester [locate auth]: it names whom it is for, 95% sure, known from before")


def test_options_of_a_command_belong_to_what_is_said(sylk, gateway, session):
    sylk("say", "-s", "tidy", "/status", "--detailed")
    assert gateway.heard_of("/sessions/s-1/say")[0]["text"] == "/status --detailed"


def test_without_a_session_it_goes_to_the_foreground_session_or_to_the_runtime(sylk, gateway, session):
    gateway.replies["POST", "/say"] = said()
    sylk("say", "hello")
    assert len(gateway.heard_of("/say")) == 1
    gateway.replies["GET", "/foreground"] = SESSION
    sylk("say", "hello")
    assert len(gateway.heard_of("/sessions/s-1/say")) == 1


def test_someone_who_could_not_answer_makes_it_end_with_1(sylk, gateway, session):
    error = {"type": "needs_model", "message": "not without a model", "hint": "set one"}
    gateway.replies["POST", "/sessions/s-1/say"] = said(answers=[{"agent": "tester", "error": error}])
    code, output, _ = sylk("say", "-s", "tidy", "@to:tester hi")
    assert code == 1
    assert output.splitlines()[1:] == ["error: not without a model", "hint: set one"]


def test_what_is_not_understood_makes_it_end_with_2(sylk, gateway, session):
    wrong = {"code": "not_understood", "message": "there is no command /tsk", "hint": "task?", "exit_code": 2}
    gateway.replies["POST", "/sessions/s-1/say"] = (422, {"error": wrong})
    code, output, errors = sylk("say", "-s", "tidy", "/tsk")
    assert (code, output) == (2, "")
    assert errors == "error: there is no command /tsk\nhint: task?\n"
    assert json.loads(sylk("say", "-s", "tidy", "/tsk", "--json")[1])["error"]["code"] == "not_understood"


def test_nobody_to_speak_to_makes_it_end_with_3(sylk):
    assert sylk("say", "hello")[0] == 3


def test_json_is_what_the_runtime_said(sylk, gateway, session):
    assert json.loads(sylk("say", "-s", "tidy", "--json", "hello")[1]) == said()


def test_control_characters_of_an_answer_do_not_reach_the_terminal(sylk, gateway, session):
    gateway.replies["POST", "/sessions/s-1/say"] = said(answers=[{"agent": "tester", "text": "\x1b[2Jgone"}])
    assert "\x1b" not in sylk("say", "-s", "tidy", "hello")[1]


def chatted(home, lines: str, *arguments: str) -> tuple[int, str]:
    """Piped into ``sylk chat``."""
    done = subprocess.run(
        [sys.executable, "-c", "from sylk_ray.cli import main; main()", "chat", "--session", "tidy", *arguments],
        input=lines,
        capture_output=True,
        text=True,
        timeout=30,
        env={**os.environ, "SYLK_HOME": str(home)},
        check=False,
    )
    return done.returncode, done.stdout


def test_piped_lines_are_said_one_after_the_other(home, gateway, session):
    code, output = chatted(home, "@to:tester a\n\n@to:tester b\n")
    assert code == 0
    assert output.count("all passed") == 2
    assert [body["text"] for body in gateway.heard_of("/sessions/s-1/say")] == ["@to:tester a", "@to:tester b"]


def test_a_chat_goes_on_after_something_was_refused_and_ends_with_1(home, gateway, session):
    wrong = {"code": "not_understood", "message": "what?", "hint": "", "exit_code": 2}
    gateway.replies["POST", "/sessions/s-1/say"] = (422, {"error": wrong})
    code, output = chatted(home, "/tsk\n/tsk\n", "--json")
    assert code == 1
    assert [each["error"]["code"] for each in json.loads(output)] == ["not_understood", "not_understood"]


def test_a_conversation_in_a_terminal_has_a_prompt_and_a_private_history(home, gateway, session):
    gateway.replies["GET", "/sessions/s-1/agents"] = {"tester": "tests"}
    gateway.replies["GET", "/jobs/j-1"] = {"tasks": {"notes": {}}}
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", "from sylk_ray.cli import main; main()", "chat", "--session", "tidy"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "SYLK_HOME": str(home), "TERM": "dumb"},
        start_new_session=True,
    )
    os.close(theirs)
    shown = ""

    def until(text: str) -> None:
        nonlocal shown
        while text not in shown:
            shown += os.read(ours, 4096).decode()

    try:
        until("tidy> ")
        os.write(ours, b"@to:te\t hello\n")
        until("all passed")
        os.write(ours, b"/quit\n")
        assert process.wait(timeout=20) == 0
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    assert gateway.heard_of("/sessions/s-1/say")[0]["text"].split() == ["@to:tester", "hello"]
    history = home / "chat_history"
    assert history.stat().st_mode & 0o777 == 0o600
    assert "@to:tester" in history.read_text()


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("@", ["@broadcast:", "@from:", "@guide:", "@to:"]),
        ("@to:te", ["@to:tester"]),
        ("@broadcast:tester,", ["@broadcast:tester,guide"]),
        ("/ta", ["/task"]),
        ("/task no", ["notes"]),
        ("/task notes ign", ["ignore_inspector", "ignore_tester"]),
        ("/task notes query x", []),
        ("words ", []),
        ("", []),
    ],
)
def test_what_could_come_next_is_completed(line, found):
    assert completions(line, ["guide", "tester"], ["notes", "more"]) == found


def test_commands_that_nobody_can_carry_out_yet_are_not_offered():
    offered = completions("/", [], [])
    assert "/test" in offered
    assert "/research" not in offered
