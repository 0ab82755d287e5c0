"""Passing events that nobody could take are counted, and told of with the next."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from sylk_ray.messaging import Address, Event, Message
from sylk_ray.runtime import MemoryJournals, SystemClock
from sylk_ray.runtime.history import Published
from sylk_ray.runtime.publishing import Publishing
from sylk_ray.runtime.residence import Residence


class Router:
    """Takes what it is sent, or not."""

    def __init__(self) -> None:
        self.takes = True
        self.taken: list[Message] = []

    async def tell(self, target: Address, message: Message) -> bool:
        if self.takes:
            self.taken.append(message)
        return self.takes


@pytest.fixture
def router() -> Router:
    return Router()


async def test_what_did_not_arrive_is_counted_with_the_next_that_does(router):
    tasks: list[asyncio.Task[Any]] = []

    def spawn(work: Coroutine[Any, Any, Any]) -> None:
        tasks.append(asyncio.create_task(work))

    async def passed(task: str) -> None:
        publishing.progress(Event("task.progress", "s", task))
        await asyncio.gather(*tasks)

    clock = SystemClock()
    residence = Residence("a", MemoryJournals(), clock, lambda session, error: None)
    publishing = Publishing(residence, clock, tell=unused, tell_quietly=router.tell, spawn=spawn)
    await passed("a")
    router.takes = False
    await passed("b")
    await passed("c")
    router.takes = True
    await passed("d")
    await passed("e")
    assert [each.lost for each in router.taken if isinstance(each, Published)] == [0, 2, 0]


async def unused(*_: object) -> None:
    raise AssertionError("nothing is kept here")
