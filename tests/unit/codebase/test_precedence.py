"""Who asks goes before who indexes, but not for ever."""

from __future__ import annotations

import threading

import pytest

from sylk_ray.codebase import precedence
from sylk_ray.codebase.precedence import Precedence
from sylk_ray.codebase.requests import Index, Known, Search
from sylk_ray.codebase.service import CodeService
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
    monkeypatch.setattr(precedence, "LONGEST_S", 60.0)
    order = Precedence()
    told: list[str] = []
    waiting = threading.Event()

    def index() -> None:
        waiting.set()
        order.give_way()
        told.append("indexed")

    with order.asking(), order.asking():
        thread = threading.Thread(target=index)
        thread.start()
        assert waiting.wait(60)
        told.append("answered")
    thread.join(60)
    assert told == ["answered", "indexed"]


def test_an_indexing_works_for_as_long_as_it_has_waited(monkeypatch):
    monkeypatch.setattr(precedence, "LONGEST_S", 0.0)
    # It waits from 10 to 13; is not waited for at 15, and again at 17.
    clock = Clock(10.0, 13.0, 15.0, 17.0, 18.0)
    order = Precedence(clock)
    with order.asking():
        order.give_way()
        order.give_way()
        order.give_way()
    with pytest.raises(IndexError):
        clock()


def test_requests_are_asked_before_others_and_indexings_are_not(tmp_path, monkeypatch):
    asked: list[int] = []
    with KnowledgeBase(tmp_path / "known") as base:
        service = CodeService(base)
        order: Precedence = service._precedence  # noqa: SLF001
        answer = service._answer  # noqa: SLF001

        def counted(request, progress):
            asked.append(order._asking)  # noqa: SLF001
            return answer(request, progress)

        monkeypatch.setattr(service, "_answer", counted)
        (tmp_path / "code").mkdir()
        (tmp_path / "code" / "a.py").write_text("def parse(): ...\n")
        root = str(tmp_path / "code")
        service.handle(Index(root=root))
        service.handle(Known(root=root))
        service.handle(Search(root=root, query="parse"))
    assert asked == [0, 1, 1]
