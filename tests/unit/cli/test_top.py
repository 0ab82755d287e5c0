from __future__ import annotations

import io
import json
import os
import pty
import select
import signal
import subprocess
import sys

import msgspec
from rich.console import Console

from sylk_ray.cli.top_view import picture
from sylk_ray.fairness import Capacity, FairShare, Group, Lane, Request
from sylk_ray.sessions import SessionRecord, SessionState

TIDY = SessionRecord("s-1", "tidy", "/r", "b", "0", state=SessionState.ACTIVE, group=Group(weight=3, max_pipelines=2))
OTHER = SessionRecord("s-2", "other", "/r", "b", "0", state=SessionState.PAUSED)
OVER = SessionRecord("s-3", "over", "/r", "b", "0", state=SessionState.COMPLETED)


def shares():
    """Two sessions that share three pipelines; the first has come to its own limit."""
    fair = FairShare(Capacity({"pipelines": 3}), now=0.0)
    fair.set_group("s-1", TIDY.group, 0.0)
    for number in range(3):
        fair.request(Request(f"s-1/pipeline/a{number}#1", "s-1", {"pipelines": 1}, at=1.0), "cell-1", 1.0)
    fair.request(Request("s-2/pipeline/b#1", "s-2", {"pipelines": 1}, Lane.HIGH, at=1.5), "cell-2", 2.0)
    fair.request(Request("s-2/pipeline/c#1", "s-2", {"pipelines": 1}, Lane.HIGH, at=2.0), "cell-2", 2.0)
    return fair.snapshot(12.0)


def shown(most_leases=None):
    console = Console(file=io.StringIO(), width=200)
    console.print(picture(shares(), [TIDY, OTHER, OVER], most_leases))
    return console.file.getvalue()


def test_each_session_shows_its_share_its_limits_and_what_it_waits_for():
    lines = shown().splitlines()
    (tidy,) = [line for line in lines if line.startswith("tidy")]
    (other,) = [line for line in lines if line.startswith("other")]
    assert "active" in tidy
    assert "of 75%" in tidy
    assert "pipelines 2/2" in tidy
    assert "normal 1" in tidy
    assert "11 s" in tidy
    assert "paused" in other
    assert "of 25%" in other
    assert "high 0.5 s/0.5 s" in other
    assert not [line for line in lines if line.startswith("over")]
    assert lines[0] == "held: pipelines 3/3"
    assert lines[1].startswith("waiting: high 1, normal 1; waited (p50/p99):")


def test_tokens_are_shown_where_any_were_used_and_who_waits_for_them():
    fair = FairShare(Capacity({"tokens:fast": 60}), now=0.0)
    fair.set_group("s-1", Group(token_budget=1_000), 0.0)
    for number in range(2):
        request = Request(f"s-1/model/{number}", "s-1", {"model:fast": 1}, tokens={"fast": 90})
        fair.request(request, "cell-1", 0.0)
    console = Console(file=io.StringIO(), width=200)
    console.print(picture(fair.snapshot(1.0), [TIDY]))
    (tidy,) = [line for line in console.file.getvalue().splitlines() if line.startswith("tidy")]
    assert "90/1000 tokens" in tidy
    assert "normal 1; waits for tokens, 30 s more" in tidy


def test_leases_are_shown_with_their_age_and_holder_the_oldest_first():
    lines = shown().splitlines()
    leases = [line.split() for line in lines if line.startswith("pipeline/")]
    assert [(key, session, holder) for key, session, holder, *_ in leases] == [
        ("pipeline/a0#1", "tidy", "cell-1"),
        ("pipeline/a1#1", "tidy", "cell-1"),
        ("pipeline/b#1", "other", "cell-2"),
    ]
    assert leases[0][3:5] == ["11", "s"]
    assert "... 2 more leases" in shown(most_leases=1)


def test_a_session_without_work_is_shown_too():
    idle = SessionRecord("s-9", "idle", "/r", "b", "0")
    console = Console(file=io.StringIO(), width=200)
    console.print(picture(shares(), [idle]))
    assert [line.split()[:4] for line in console.file.getvalue().splitlines() if line.startswith("idle")] == [
        ["idle", "created", "1", "-"]
    ]


def test_in_a_pipe_it_prints_one_plain_picture(sylk, gateway):
    gateway.replies["GET", "/shares"] = shares()
    gateway.replies["GET", "/sessions"] = [TIDY, OTHER]
    code, output, _ = sylk("top")
    assert code == 0
    assert "pipelines 2/2" in output
    assert "\x1b" not in output
    assert sylk("top", "--once")[1].splitlines()[:3] == output.splitlines()[:3]


def test_programs_get_one_document(sylk, gateway):
    gateway.replies["GET", "/shares"] = shares()
    gateway.replies["GET", "/sessions"] = [TIDY]
    told = json.loads(sylk("top", "--json")[1])
    assert told["shares"] == json.loads(msgspec.json.encode(shares()))
    assert told["sessions"][0]["name"] == "tidy"


def test_on_a_terminal_it_goes_on_until_ctrl_c(gateway, home):
    gateway.replies["GET", "/shares"] = shares()
    gateway.replies["GET", "/sessions"] = [TIDY]
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", "from sylk_ray.cli import main; main()", "top"],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
        env={**os.environ, "SYLK_HOME": str(home), "TERM": "xterm", "COLUMNS": "160", "LINES": "40"},
    )
    try:
        os.close(slave)
        seen = b""
        while len([path for _, path, _ in gateway.heard if path == "/shares"]) < 3 or b"pipelines 2/2" not in seen:
            assert select.select([master], [], [], 20)[0], seen
            seen += os.read(master, 65536)
        process.send_signal(signal.SIGINT)
        while select.select([master], [], [], 20)[0]:
            try:
                if not os.read(master, 65536):
                    break
            except OSError:
                break  # the other end of the terminal is closed
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait()
        os.close(master)
