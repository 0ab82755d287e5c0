"""A handler that says no before it has touched anything."""

from __future__ import annotations

from typing import ClassVar

import msgspec
import pytest

from sylk_ray.config import Settings
from sylk_ray.errors import InputError
from sylk_ray.messaging import Address, Message, Request
from sylk_ray.runtime import Agent, Context, MemoryJournals, Refused, handler

from .world import World

DOOR, ME = Address("s", "door", "main"), Address("s", "router", "main")


class Enter(Request[int], frozen=True):
    word: str


class Guests(msgspec.Struct):
    count: int = 0


class Door(Agent[Guests]):
    role = "door"
    lives: ClassVar[int] = 0
    failures: ClassVar[list[Message]] = []

    async def on_activate(self, ctx: Context) -> None:
        Door.lives += 1

    @handler()
    async def enter(self, message: Enter, ctx: Context) -> int:
        if message.word == "wrong":
            raise Refused(InputError("that is not the word", hint="say another"))
        if message.word == "worse":
            raise InputError("that is worse")
        self.state.count += 1
        return self.state.count

    async def on_failure(self, message: Message, error: Exception, ctx: Context) -> None:
        self.failures.append(message)


@pytest.fixture
async def world(tmp_path):
    Door.lives, Door.failures = 0, []
    journals = MemoryJournals()
    world = World(lambda: journals, Settings(home=tmp_path), door=Door)
    await world.cell("a")
    yield world
    await world.end()


async def test_whoever_asked_gets_the_error_and_the_agent_goes_on_as_it_is(world):
    host = world.hosts["a"]
    assert await host.ask(ME, DOOR, Enter("open"), timeout=5) == 1
    for _ in range(3):
        with pytest.raises(InputError, match="not the word") as problem:
            await host.ask(ME, DOOR, Enter("wrong"), timeout=5)
        assert problem.value.hint == "say another"
    assert await host.ask(ME, DOOR, Enter("open"), timeout=5) == 2
    assert (Door.lives, Door.failures) == (1, [])


async def test_any_other_error_puts_it_back_and_tells_it(world):
    host = world.hosts["a"]
    with pytest.raises(InputError, match="worse"):
        await host.ask(ME, DOOR, Enter("worse"), timeout=5)
    assert (Door.lives, Door.failures) == (2, [Enter("worse")])
