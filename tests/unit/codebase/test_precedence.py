"""Who asks goes before who indexes, but not for ever."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

import pytest

from sylk_ray.codebase import precedence
from sylk_ray.codebase.errors import NotIndexed
from sylk_ray.codebase.precedence import Precedence
from sylk_ray.codebase.requests import Forget, Index, Known, Search, Vacuum, Verify
from sylk_ray.codebase.service import WRITING, CodeService
from sylk_ray.knowledge import KnowledgeBase


class Clock:
    """The times that it is asked for, one after the other."""

    def __init__(self, *times: float) -> None:
        self._times = list(times)

    def __call__(self) -> float:
        return self._times.pop(0)


def test_nobody_is_waited_for_where_nothing_is_asked():
    clock = Clock()
    order = Precedence(clock)
    order.give_way()
    with order.asking():
        pass
    order.give_way()


def test_what_is_asked_is_waited_for(monkeypatch):
    monkeypatch.setattr(precedence, "LONGEST_S", 600.0)
    order = Precedence()
    told: list[str] = []
    waiting = threading.Event()

    def index() -> None:
        waiting.set()
        order.give_way()
        told.append("indexed")

    with order.asking(), order.asking():
        thread = threading.Thread(target=index, daemon=True)
        thread.start()
        assert waiting.wait(60)
        told.append("answered")
    thread.join(60)
    assert told == ["answered", "indexed"]


def test_an_indexing_works_for_as_long_as_it_has_waited(monkeypatch):
    monkeypatch.setattr(precedence, "LONGEST_S", 0.0)
    # It waits from 10 to 13, not at 15, from 17 to 18, and not at 18.5.
    clock = Clock(10.0, 13.0, 15.0, 17.0, 18.0, 18.5)
    order = Precedence(clock)
    with order.asking():
        for _ in range(4):
            order.give_way()
    with pytest.raises(IndexError):
        clock()


def test_a_short_wait_of_one_thread_shortens_no_longer_one_of_another(monkeypatch):
    # One waits from 19 to 20; another one, from 0 to 20, has been noted by then.
    order = Precedence(Clock(19.0, 0.0, 20.0, 20.0))
    meanwhile = iter([order.give_way, lambda: None])
    monkeypatch.setattr(order._changed, "wait_for", lambda *_: next(meanwhile)())  # noqa: SLF001
    with order.asking():
        order.give_way()
    assert order._not_before == 40.0  # noqa: SLF001


@pytest.fixture
def service(tmp_path) -> Iterator[CodeService]:
    with KnowledgeBase(tmp_path / "known") as base:
        yield CodeService(base)


@pytest.fixture
def root(tmp_path) -> str:
    folder = tmp_path / "code"
    folder.mkdir()
    for number in range(3):
        (folder / f"m{number}.py").write_text(f"import m{number - 1}\n\n\ndef parse{number}(): ...\n")
    return str(folder)


def test_requests_go_before_an_indexing_but_for_those_that_write(service, root, monkeypatch):
    order: Precedence = service._precedence  # noqa: SLF001
    asked: dict[str, int] = {}

    def counted(request, progress):
        asked[type(request).__name__] = order._asking  # noqa: SLF001

    monkeypatch.setattr(service, "_answer", counted)
    for request in (
        Index(root=root),
        Forget(root=root),
        Verify(),
        Vacuum(),
        Known(root=root),
        Search(root=root, query="p"),
    ):
        service.handle(request)
    assert asked == {"Index": 0, "Forget": 0, "Verify": 0, "Vacuum": 0, "Known": 1, "Search": 1}
    assert {each.__name__ for each in WRITING} == {"Index", "Forget", "Verify", "Vacuum", "Remember"}


def test_one_that_fails_is_not_waited_for_any_more(service, root):
    with pytest.raises(NotIndexed):
        service.handle(Search(root=root, query="parse"))
    assert service._precedence._asking == 0  # noqa: SLF001


def test_an_indexing_for_a_request_gives_way_before_each_batch_and_each_file(service, root, monkeypatch):
    ways: list[str] = []
    order: Precedence = service._precedence  # noqa: SLF001
    monkeypatch.setattr(order, "give_way", lambda: ways.append(sys._getframe(1).f_code.co_name))  # noqa: SLF001
    service.handle(Index(root=root))
    assert ways == ["_take_in", "_link", "_link", "_link"]
