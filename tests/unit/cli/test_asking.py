"""What a person who watches a job on a terminal is asked, and what becomes of what they say."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator
from typing import Any

import pytest

from sylk_ray.cli import follow
from sylk_ray.cli.shell import Shell
from sylk_ray.errors import InputError
from sylk_ray.messaging import Event


class Client:
    """A gateway of one job."""

    def __init__(self, *events: Event, asking: tuple[str, ...] = ("a-1",)) -> None:
        self._events = events
        self.asking = list(asking)
        self.posted: list[tuple[str, dict[str, Any]]] = []
        self.refuses = False

    def events(self, job_id: str, after: int) -> Iterator[Event]:
        return (event for event in self._events if event.sequence > after)

    def get(self, path: str) -> Any:
        return {"asking": [{"id": each} for each in self.asking]}

    def post(self, path: str, body: dict[str, Any], **_: Any) -> Any:
        if self.refuses:
            raise InputError("nothing is asked under a-1")
        self.posted.append((path, body))
        return {}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    def readline(self, *_: Any) -> str:
        line = super().readline()
        if line == "^C\n":
            raise KeyboardInterrupt
        return line


RECORD = {
    "job_id": "j-1", "name": "j", "session_id": "s-1", "session": "j", "repo": "/r", "branch": "sylk/j",
    "status": "succeeded", "submitted_at": 0.0,
}  # fmt: skip


def asked(kind: str = "plan", at: float = 0.0) -> Event:
    return Event("person.asked", "s-1", "", {"id": "a-1", "asked": kind, "text": "1. do it"}, 1, at)


FINISHED = Event("job.finished", "s-1", "", {"status": "succeeded", "record": RECORD}, 2, 0.0)


@pytest.fixture
def watch(monkeypatch, tmp_path):
    def run(client: Client, typed: str) -> Any:
        monkeypatch.setattr("sys.stdin", Terminal(typed))
        return follow.follow(Shell(tmp_path), client, "j-1")  # type: ignore[arg-type]

    return run


@pytest.mark.parametrize(
    ("kind", "typed", "decision", "text"),
    [
        ("plan", "y\n", "approve", ""),
        ("plan", "YES\n", "approve", ""),
        ("plan", "n\n", "deny", ""),
        ("plan", "\n\nok\n", "approve", ""),
        ("plan", "without a new dependency\n", "deny", "without a new dependency"),
        ("question", "3.11\n", "answer", "3.11"),
        ("question", "\n 3.11 \n", "answer", "3.11"),
    ],
)
def test_what_is_typed_is_what_is_decided(watch, capsys, kind, typed, decision, text):
    client = Client(asked(kind), FINISHED)
    assert watch(client, typed).job_id == "j-1"
    [(path, body)] = client.posted
    assert (path, body["decision"], body["text"]) == ("/inbox/a-1", decision, text)
    assert body["who"]
    assert "1. do it" in capsys.readouterr().err


def test_what_was_decided_before_is_not_asked(watch):
    client = Client(asked(), FINISHED, asking=())
    watch(client, "y\n")
    assert client.posted == []


def test_what_the_runtime_has_not_heard_of_yet_is_asked(watch):
    client = Client(asked(at=time.time()), FINISHED, asking=())
    watch(client, "y\n")
    assert len(client.posted) == 1


def test_without_an_answer_it_stays_in_the_inbox(watch, capsys):
    client = Client(asked(), FINISHED)
    watch(client, "")
    assert client.posted == []
    assert "sylk inbox" in capsys.readouterr().err


def test_what_is_not_taken_is_told(watch, capsys):
    client = Client(asked(), FINISHED)
    client.refuses = True
    watch(client, "y\n")
    assert "that was not taken: nothing is asked under a-1" in capsys.readouterr().err


def test_ctrl_c_at_the_question_asks_whether_to_leave(watch):
    client = Client(asked(), FINISHED)
    with pytest.raises(follow.Detached):
        watch(client, "^C\nl\n")
    assert client.posted == []


def test_ctrl_c_at_the_question_can_cancel_the_job(watch):
    client = Client(asked(), FINISHED)
    watch(client, "^C\nc\n")
    assert [path for path, _ in client.posted] == ["/jobs/j-1/cancel"]
