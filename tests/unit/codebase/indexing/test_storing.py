"""Writes in a thread beside, and the collector that is held up."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial

import pytest

from sylk_ray.codebase.indexing.collecting import without_collector
from sylk_ray.codebase.indexing.storing import stored_beside


def _store(count: int, write: Callable[[int], None], find: Callable[[int], None] = lambda number: None) -> None:
    with stored_beside(nullcontext) as store:
        for number in range(count):
            store(partial(write, number))
            find(number)


def test_writes_are_done_in_order_in_another_thread_before_the_block_ends() -> None:
    done: list[tuple[int, int]] = []
    _store(20, lambda number: done.append((number, threading.get_ident())))
    assert [number for number, _ in done] == list(range(20))
    assert threading.get_ident() not in {thread for _, thread in done}


def test_nothing_is_done_after_a_write_that_failed() -> None:
    done: list[int] = []

    def write(number: int) -> None:
        if number == 3:
            raise ValueError("the disk is full")
        done.append(number)

    with pytest.raises(ValueError, match="full"):
        _store(20, write)
    assert done == [0, 1, 2]


def test_what_is_raised_while_finding_is_raised_and_what_waits_is_not_written() -> None:
    begun, raised = threading.Event(), threading.Event()
    done: list[int] = []

    def write(number: int) -> None:
        begun.set()
        assert raised.wait(10)
        done.append(number)

    def find(number: int) -> None:
        if number == 1:
            assert begun.wait(10)
            threading.Timer(0.05, raised.set).start()
            raise KeyError(number)

    with pytest.raises(KeyError):
        _store(2, write, find)
    assert done == [0]


def test_the_collector_is_held_up_until_the_last_one_has_ended() -> None:
    with without_collector():
        with without_collector():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with without_collector():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
