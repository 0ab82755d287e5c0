"""An agent that says what is not for its role to say hears so itself, before anything is recorded."""

from __future__ import annotations

from typing import ClassVar

import msgspec
import pytest

from sylk_ray.config import Settings
from sylk_ray.messaging import SHARED, Address, Message, NotAllowed, Request, said_by
from sylk_ray.runtime import Agent, Context, handler
from sylk_ray.runtime.journal import MemoryJournals

from .conftest import FakeRouter
from .world import World

CLERK, OTHER = Address("s", "clerk", "x"), Address("s", "clerk", "y")
OPERATOR = Address(SHARED, "operator", "a")


class Bidding(Message, frozen=True):
    flow = said_by("boss", to="clerk")


class BossQuestion(Request[str], frozen=True):
    flow = said_by("boss", to="clerk")


class Memo(Message, frozen=True):
    flow = said_by("clerk", to="clerk")


class Try(Request[str], frozen=True):
    """Say it one way or another; answers what came of that."""

    way: str


class TryAndFail(Message, frozen=True):
    pass


class MemoCount(Request[int], frozen=True):
    pass


class ClerkState(msgspec.Struct):
    memos: int = 0


class Clerk(Agent[ClerkState]):
    role = "clerk"
    failed: ClassVar[list[Exception]] = []

    @handler()
    async def attempt(self, message: Try, ctx: Context) -> str:
        try:
            match message.way:
                case "tell":
                    await ctx.tell(OTHER, Bidding())
                case "tell_direct":
                    await ctx.tell_direct(ctx.address.beside("clerk"), Bidding())
                case "tell_all":
                    await ctx.tell_all(OTHER, [Memo(), Bidding()])
                case "ask":
                    return await ctx.ask(OTHER, BossQuestion(), timeout=5)
                case "notify":
                    ctx.notify(OTHER, Bidding())
                case _:
                    await ctx.tell(OTHER, Memo())
        except NotAllowed as error:
            return error.message
        return "said"

    @handler()
    async def fail(self, message: TryAndFail, ctx: Context) -> None:
        await ctx.tell(OTHER, Memo())
        await ctx.tell(OTHER, Bidding())

    @handler()
    async def memo(self, message: Memo, ctx: Context) -> None:
        self.state.memos += 1

    @handler()
    async def order(self, message: Bidding, ctx: Context) -> None:
        self.state.memos += 100

    @handler()
    async def question(self, message: BossQuestion, ctx: Context) -> str:
        return "yes"

    @handler()
    async def lines(self, message: MemoCount, ctx: Context) -> int:
        return self.state.memos

    async def on_failure(self, message: Message, error: Exception, ctx: Context) -> None:
        self.failed.append(error)


@pytest.fixture
async def host(tmp_path):
    FakeRouter.places, FakeRouter.events, Clerk.failed = {}, [], []
    journals = MemoryJournals()
    world = World(lambda: journals, Settings(home=tmp_path), clerk=Clerk)
    yield await world.cell("a")
    await world.end()


@pytest.mark.parametrize("way", ["tell", "tell_direct", "tell_all", "ask", "notify"])
async def test_whichever_way_it_is_said_the_sender_hears_that_it_may_not(host, way):
    told = await host.ask(CLERK, CLERK, Try(way), timeout=5)
    kind = "BossQuestion" if way == "ask" else "Bidding"
    assert "s/clerk/x may not say " + kind in told
    assert "boss to clerk" in told
    assert await host.journal_of("s").pending() == []


async def test_what_a_role_may_say_it_says_also_to_its_own(host):
    assert await host.ask(CLERK, CLERK, Try("memo"), timeout=5) == "said"
    assert await host.ask(CLERK, OTHER, MemoCount(), timeout=5) == 1


async def test_a_handler_that_says_what_it_may_not_has_done_nothing(host):
    await host.tell(CLERK, CLERK, TryAndFail(), timeout=5)
    assert await host.ask(CLERK, CLERK, MemoCount(), timeout=5) == 0
    assert await host.ask(CLERK, OTHER, MemoCount(), timeout=5) == 0
    assert [type(error) for error in Clerk.failed] == [NotAllowed]


async def test_an_operator_may_say_anything(host):
    assert await host.ask(OPERATOR, CLERK, BossQuestion(), timeout=5) == "yes"


async def test_of_many_messages_none_is_sent_when_one_may_not_be(host):
    with pytest.raises(NotAllowed):
        await host.tell_all(CLERK, OTHER, [Memo(), Bidding()], timeout=5)
    assert await host.ask(CLERK, OTHER, MemoCount(), timeout=5) == 0
