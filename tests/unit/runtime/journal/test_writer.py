"""The thread that groups what is asked of it, with a store that only takes notes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest

from sylk_ray.runtime.journal.writer import MOST_TOGETHER, Alone, GroupWriter, Operation, Outcome


class Notes:
    """A store that waits at its gate, and notes how many operations came together."""

    def __init__(self) -> None:
        self.groups: list[int] = []
        self.gate = threading.Event()
        self.gate.set()
        self.entered = threading.Event()
        self.problem: Exception | None = None

    def run(self, operations: Sequence[Operation[None] | Alone]) -> list[Outcome]:
        self.entered.set()
        assert self.gate.wait(10)
        self.groups.append(len(operations))
        if self.problem is not None:
            raise self.problem
        return [Outcome(each.act() if isinstance(each, Alone) else each.act(None)) for each in operations]


def answer(value: object) -> Operation[None]:
    return Operation(lambda _: value)


@pytest.fixture
async def writer():
    writer = GroupWriter()
    yield writer
    await writer.stop()


async def held(writer: GroupWriter, store: Notes) -> asyncio.Future[object]:
    """The thread is busy until the store's gate opens."""
    store.gate.clear()
    first = writer.ask(store, answer("first"))
    await asyncio.to_thread(store.entered.wait, 10)
    return first


async def test_what_is_asked_while_it_is_busy_is_done_together_and_in_order(writer):
    store = Notes()
    first = await held(writer, store)
    asked = [writer.ask(store, answer(number)) for number in range(100)]
    store.gate.set()
    assert await asyncio.gather(first, *asked) == ["first", *range(100)]
    assert store.groups == [1, 100]


async def test_what_is_done_together_is_bounded(writer):
    store = Notes()
    await held(writer, store)
    asked = [writer.ask(store, answer(number)) for number in range(MOST_TOGETHER + 10)]
    store.gate.set()
    await asyncio.gather(*asked)
    assert store.groups == [1, MOST_TOGETHER, 10]


async def test_a_group_is_told_of_its_results_at_once(writer, monkeypatch):
    store = Notes()
    await held(writer, store)
    asked = [writer.ask(store, answer(number)) for number in range(100)]
    loop, calls = asyncio.get_running_loop(), []
    call_soon_threadsafe = loop.call_soon_threadsafe
    monkeypatch.setattr(
        loop, "call_soon_threadsafe", lambda *args, **kw: (calls.append(args), call_soon_threadsafe(*args, **kw))[1]
    )
    store.gate.set()
    await asyncio.gather(*asked)
    assert len(calls) == 2


async def test_a_store_that_breaks_is_told_to_those_who_asked_it_and_to_nobody_else(writer):
    broken, sound = Notes(), Notes()
    first = await held(writer, sound)
    broken.problem = ZeroDivisionError("broken")
    asked = [writer.ask(store, answer("done")) for store in (broken, sound, broken)]
    sound.gate.set()
    await first
    outcomes = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(each) for each in outcomes] == [ZeroDivisionError, str, ZeroDivisionError]
    assert await writer.ask(sound, answer("goes on")) == "goes on"


async def test_a_cancelled_caller_is_passed_over(writer):
    store = Notes()
    first = await held(writer, store)
    asked = [writer.ask(store, answer(number)) for number in range(3)]
    asked[1].cancel()
    store.gate.set()
    assert await asyncio.gather(first, asked[0], asked[2]) == ["first", 0, 2]
    assert store.groups == [1, 3]


async def test_what_was_queued_is_done_before_it_stops_and_it_starts_again(writer):
    store = Notes()
    asked = [writer.ask(store, answer(number)) for number in range(MOST_TOGETHER * 2)]
    await writer.stop()
    assert all(each.done() for each in asked) or await asyncio.wait_for(asyncio.gather(*asked), 1)
    assert await writer.ask(store, answer("again")) == "again"


def test_a_loop_that_was_closed_meanwhile_stops_nothing():
    writer, store = GroupWriter(), Notes()
    store.gate.clear()

    async def ask_and_go() -> None:
        writer.ask(store, answer(1))

    async def ask_and_stop() -> object:
        asked = writer.ask(store, answer(2))
        store.gate.set()
        got = await asked
        await writer.stop()
        return got

    asyncio.run(ask_and_go())
    assert asyncio.run(ask_and_stop()) == 2
