"""One owner and many that ask: real sockets, real processes."""

from __future__ import annotations

import os
import signal
import socket
import stat
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from sylk_ray.codebase.requests import (
    Explain,
    Files,
    FileText,
    GetFile,
    Index,
    Indexed,
    ListFiles,
    Progressed,
    Stats,
    Vacuum,
    Vacuumed,
)
from sylk_ray.codebase.serving import (
    AnswerTooLarge,
    Codebase,
    CodebaseClosed,
    CodebaseInUse,
    DirectoryUnusable,
    MalformedFrame,
    frames,
    open_codebase,
)
from sylk_ray.codebase.serving.addresses import LONGEST, SOCKET, connect
from sylk_ray.errors import SylkError
from sylk_ray.knowledge import KnowledgeBase
from sylk_ray.knowledge.store import UnknownNode

from . import owning
from .owning import GO, own

FRAME = struct.Struct(">I")


def opened(home: Path, *, serve: bool = False, patience_s: float = 20.0) -> Codebase:
    return open_codebase(home, serve=serve, own=own, patience_s=patience_s)


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[Codebase]:
    with opened(tmp_path / "home", serve=True) as codebase:
        yield codebase


@pytest.fixture
def client(tmp_path: Path, owner: Codebase) -> Iterator[Codebase]:
    with opened(tmp_path / "home") as codebase:
        assert not codebase.is_owner
        yield codebase


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    (folder / "a.py").write_text("def parse():\n    pass\n")
    return folder


@contextmanager
def process(home: Path, how: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", owning.__name__, str(home), how]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as made:
        try:
            yield made
        finally:
            made.kill()


def said(by: subprocess.Popen[str]) -> str:
    assert by.stdout is not None
    return by.stdout.readline().strip()


def tell(to: subprocess.Popen[str], line: object) -> None:
    assert to.stdin is not None
    to.stdin.write(f"{line}\n")
    to.stdin.flush()


def until(holds: Callable[[], bool]) -> None:
    limit = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < limit
        threading.Event().wait(0.01)


def raw(owner: Codebase) -> socket.socket:
    made = connect(owner.directory)
    assert made is not None
    made.settimeout(20)
    return made


def test_the_first_one_owns_and_the_others_ask_it(owner: Codebase, client: Codebase, root: Path) -> None:
    assert owner.is_owner
    done = client.ask(Index(root=str(root)))
    assert isinstance(done, Indexed)
    assert done.files == 1
    assert client.ask(ListFiles(pattern="*", root=str(root))) == Files(paths=["a.py"])
    assert owner.ask(ListFiles(pattern="*", root=str(root))) == Files(paths=["a.py"])


def test_errors_come_through_as_what_they_were(client: Codebase) -> None:
    with pytest.raises(UnknownNode) as raised:
        client.ask(Explain(path="x", root="/r"))
    assert (raised.value.message, raised.value.hint) == ("there is no x", "look elsewhere")


def test_an_error_that_only_the_owner_knows_keeps_its_code(tmp_path: Path) -> None:
    with process(tmp_path, "serve") as owner:
        assert said(owner) == "True"
        with opened(tmp_path) as client, pytest.raises(SylkError, match="never heard of") as raised:
            client.ask(Explain(path="strange", root="/r"))
    assert (raised.value.code, raised.value.exit_code) == ("strange", 2)


def test_a_mistake_in_the_owner_is_told_and_the_next_is_answered(client: Codebase) -> None:
    with pytest.raises(SylkError, match="ZeroDivisionError: a mistake"):
        client.ask(Stats())
    assert client.ask(ListFiles(pattern="*", root="/r")) == Files(paths=[])


def test_progress_is_told_and_a_long_request_holds_up_no_other(owner: Codebase, client: Codebase) -> None:
    told: list[Progressed] = []
    with ThreadPoolExecutor(9) as pool:
        slow = pool.submit(client.ask, Vacuum(), told.append)
        quick = [pool.submit(client.ask, ListFiles(pattern="*", root="/r")) for _ in range(40)]
        assert [each.result(20) for each in quick] == [Files(paths=[])] * 40
        assert not slow.done()
        (owner.directory / GO).touch()
        assert slow.result(20) == Vacuumed(before=2, after=1)
    assert told == [Progressed(stage="waiting", done=0, total=1)]


def test_what_progress_raises_is_not_taken_for_a_lost_owner(client: Codebase, owner: Codebase) -> None:
    def broken(_: Progressed) -> None:
        raise BrokenPipeError("nobody reads")

    with pytest.raises(BrokenPipeError):
        client.ask(Vacuum(), broken)
    assert not client.is_owner
    (owner.directory / GO).touch()


def test_a_client_that_goes_away_does_not_stop_a_write(owner: Codebase, root: Path) -> None:
    with raw(owner) as connection:
        frames.send(connection, frames.encode(Index(root=str(root))))
    until(lambda: owner.ask(ListFiles(pattern="*", root=str(root))) == Files(paths=["a.py"]))


def test_what_is_no_request_is_answered_and_the_connection_lives_on(owner: Codebase) -> None:
    with raw(owner) as connection:
        for content in (b"", b"\xc1", b"{}", msgspec.msgpack.encode({"type": "Elsewhere"})):
            frames.send(connection, content)
            reply = frames.reply_of(frames.receive(connection, 1 << 20) or b"")
            assert isinstance(reply, frames.Failed)
            assert reply.code == MalformedFrame.code
        frames.send(connection, frames.encode(ListFiles(pattern="*", root="/r")))
        assert frames.reply_of(frames.receive(connection, 1 << 20) or b"") == Files(paths=[])


def test_a_frame_that_is_too_long_is_refused_before_it_is_read(owner: Codebase) -> None:
    with raw(owner) as connection:
        connection.sendall(FRAME.pack(frames.LONGEST_REQUEST + 1))
        reply = frames.reply_of(frames.receive(connection, 1 << 20) or b"")
        assert isinstance(reply, frames.Failed)
        assert reply.code == MalformedFrame.code
        assert frames.receive(connection, 1) is None


def test_a_frame_that_is_cut_off_harms_nobody(owner: Codebase, client: Codebase) -> None:
    for part in (b"\0", FRAME.pack(100), FRAME.pack(100) + b"half"):
        with raw(owner) as connection:
            connection.sendall(part)
    assert client.ask(ListFiles(pattern="*", root="/r")) == Files(paths=[])


def test_an_answer_that_is_too_long_is_an_error(client: Codebase, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(client.ask(GetFile(path="3000000", root="/r")), FileText)
    monkeypatch.setattr(frames, "LONGEST_ANSWER", 1000)
    with pytest.raises(AnswerTooLarge):
        client.ask(GetFile(path="2000", root="/r"))


def test_nobody_else_gets_at_the_socket(owner: Codebase) -> None:
    assert stat.S_IMODE((owner.directory / SOCKET).stat().st_mode) == 0o600
    assert stat.S_IMODE(owner.directory.stat().st_mode) == 0o700


def test_a_home_may_be_longer_than_a_sockets_address(tmp_path: Path, root: Path) -> None:
    home = tmp_path / ("x" * 100) / ("ö" * 50)
    with opened(home, serve=True) as owner, opened(home) as client:
        assert len(os.fsencode(owner.directory / SOCKET)) > LONGEST
        assert owner.is_owner
        assert not client.is_owner
        assert isinstance(client.ask(Index(root=str(root))), Indexed)


def test_a_home_that_cannot_be_reached_is_told(tmp_path: Path) -> None:
    with pytest.raises(DirectoryUnusable, match="File name too long"):
        opened(tmp_path / ("a" * 300))


def test_closing_answers_what_was_asked_and_leaves_room_for_the_next(tmp_path: Path) -> None:
    owner, client = opened(tmp_path, serve=True), opened(tmp_path)
    told = threading.Event()
    with ThreadPoolExecutor(2) as pool:
        asked = pool.submit(client.ask, Vacuum(), lambda _: told.set())
        assert told.wait(20)
        closing = pool.submit(owner.close)
        until(lambda: not (owner.directory / SOCKET).exists())
        assert not closing.done()
        (owner.directory / GO).touch()
        assert asked.result(20) == Vacuumed(before=2, after=1)
        closing.result(20)
    assert client.ask(ListFiles(pattern="*", root="/r")) == Files(paths=[])
    assert client.is_owner
    client.close()
    owner.close()


def test_what_cannot_be_closed_hides_nothing_that_went_wrong_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(base: KnowledgeBase) -> None:
        monkeypatch.undo()
        base.close()
        raise SylkError("it is locked")

    monkeypatch.setattr(KnowledgeBase, "close", broken)
    with pytest.raises(KeyboardInterrupt), opened(tmp_path):
        raise KeyboardInterrupt
    assert "it is locked" in caplog.text
    monkeypatch.setattr(KnowledgeBase, "close", broken)
    with pytest.raises(SylkError, match="it is locked"), opened(tmp_path):
        pass


def test_a_transaction_that_an_interruption_left_open_ends_before_all_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def interrupted(base: KnowledgeBase | None) -> None:
        assert base is not None
        held = base.batch()
        held.__enter__()
        raise KeyboardInterrupt

    ignored: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)
    with pytest.raises(KeyboardInterrupt), opened(tmp_path) as codebase:
        interrupted(codebase.base)
    assert ignored == []
    assert caplog.text == ""


def test_what_was_closed_is_not_asked_any_more(owner: Codebase, client: Codebase) -> None:
    client.close()
    with pytest.raises(CodebaseClosed):
        client.ask(ListFiles(pattern="*", root="/r"))
    owner.close()
    owner.close()
    with pytest.raises(CodebaseClosed):
        owner.ask(ListFiles(pattern="*", root="/r"))


def test_an_owner_that_does_not_answer_is_waited_for_and_then_named(tmp_path: Path) -> None:
    with process(tmp_path, "short") as short:
        assert said(short) == "True"
        with pytest.raises(CodebaseInUse, match=f"process {short.pid} ") as raised:
            opened(tmp_path, patience_s=0.2)
        assert raised.value.hint
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(opened, tmp_path)
            assert short.stdin is not None
            short.stdin.close()
            with waiting.result(20) as codebase:
                assert codebase.is_owner


def test_an_owner_that_was_stopped_is_named_and_asked_again_when_it_goes_on(tmp_path: Path, root: Path) -> None:
    home = tmp_path / "home"
    with process(home, "serve") as owner:
        assert said(owner) == "True"
        with opened(home) as codebase:
            os.kill(owner.pid, signal.SIGSTOP)
            try:
                with pytest.raises(CodebaseInUse, match=f"process {owner.pid}, .* is stopped") as raised:
                    codebase.ask(Index(root=str(root)))
                assert f"kill -CONT {owner.pid}" in raised.value.hint
            finally:
                os.kill(owner.pid, signal.SIGCONT)
            assert isinstance(codebase.ask(Index(root=str(root))), Indexed)


def test_the_socket_of_an_owner_that_was_killed_is_in_nobodys_way(tmp_path: Path, root: Path) -> None:
    with process(tmp_path, "serve") as first:
        assert said(first) == "True"
        tell(first, root)
        assert said(first) == "1 True"
        first.send_signal(signal.SIGKILL)
        first.wait()
    assert (tmp_path / "knowledge" / SOCKET).exists()
    with opened(tmp_path, serve=True) as second, opened(tmp_path) as client:
        assert second.is_owner
        assert client.ask(ListFiles(pattern="*", root=str(root))) == Files(paths=["a.py"])


def test_when_the_owner_is_killed_at_work_who_asked_takes_its_place_and_has_its_answer(tmp_path: Path) -> None:
    with process(tmp_path, "serve") as first:
        assert said(first) == "True"
        told = threading.Event()
        with opened(tmp_path) as client, ThreadPoolExecutor(1) as pool:
            asked = pool.submit(client.ask, Vacuum(), lambda _: told.set())
            assert told.wait(20)
            first.send_signal(signal.SIGKILL)
            first.wait()
            (tmp_path / "knowledge" / GO).touch()
            assert asked.result(20) == Vacuumed(before=2, after=1)
            assert client.is_owner


def test_of_several_processes_that_come_at_once_one_owns_and_all_are_answered(tmp_path: Path, root: Path) -> None:
    with process(tmp_path, "serve") as one, process(tmp_path, "serve") as two, process(tmp_path, "serve") as three:
        every = [one, two, three]
        assert sorted(said(each) for each in every) == ["False", "False", "True"]
        for each in every:
            tell(each, root)
        assert sorted(said(each) for each in every) == ["1 False", "1 False", "1 True"]


def test_who_asks_does_not_load_what_only_an_owner_needs() -> None:
    program = (
        "import sys, sylk_ray.codebase.serving\n"
        "print([each for each in ('numpy', 'sqlite3', 'qdrant_edge', 'rustworkx', 'ray') if each in sys.modules])"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[4])}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == "[]"
