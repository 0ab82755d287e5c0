"""What a handler's task says while the handler is being committed is no part of it, and is not lost."""

from __future__ import annotations

import asyncio
from typing import ClassVar

import msgspec

from sylk_ray.config import Settings
from sylk_ray.messaging import Address, Message
from sylk_ray.runtime import Agent, Context, MemoryJournals, handler

from .conftest import FakeRouter
from .world import World, until

TALKER = Address("s", "talker", "one")


class Talk(Message, frozen=True):
    pass


class TalkerState(msgspec.Struct):
    talked: int = 0


class Talker(Agent[TalkerState]):
    role = "talker"
    committing: ClassVar[asyncio.Event]
    late: ClassVar[asyncio.Task[None]]

    @handler()
    async def talk(self, message: Talk, ctx: Context) -> None:
        self.state.talked += 1
        await ctx.publish("in.time")
        Talker.late = asyncio.create_task(self.say_late(ctx))

    async def say_late(self, ctx: Context) -> None:
        await self.committing.wait()
        await ctx.publish("late")


async def test_what_is_published_while_the_commit_is_written_is_in_the_history(tmp_path):
    FakeRouter.places, FakeRouter.events = {}, []
    Talker.committing = asyncio.Event()
    journals = MemoryJournals()
    world = World(lambda: journals, Settings(home=tmp_path), talker=Talker)
    host = await world.cell("a")
    journal = host.journal_of("s")
    commit = journal.commit

    async def slowly(transaction):
        Talker.committing.set()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return await commit(transaction)

    journal.commit = slowly
    await host.tell(TALKER, TALKER, Talk(), timeout=5)
    events = await until(lambda: journal.events(0), lambda seen: len(seen) >= 2)
    await Talker.late
    assert sorted(event.kind for event in events) == ["in.time", "late"]
    await world.end()
