"""Durable agents that cannot come to life: their kept mail waits, and is handled when they can."""

from __future__ import annotations

import asyncio
from typing import ClassVar

import msgspec
import pytest

from sylk_ray.config import Settings
from sylk_ray.messaging import Address, Message, Request
from sylk_ray.messaging.wire import Envelope
from sylk_ray.runtime import Agent, Context, MemoryJournals, Transaction, handler
from sylk_ray.runtime import running as running_module
from sylk_ray.runtime.outbox import mail_of

from .conftest import FakeRouter
from .world import World, until

SLEEPER, OTHER = Address("s", "sleeper", "one"), Address("s", "sleeper", "two")


class Remember(Message, frozen=True):
    text: str


class Trip(Message, frozen=True):
    """Fail unforeseen, the first time."""


class Recite(Request[list[str]], frozen=True):
    pass


class SleeperState(msgspec.Struct):
    lines: list[str] = []


class Sleeper(Agent[SleeperState]):
    role = "sleeper"
    bad_nights: ClassVar[int] = 0
    """How often it cannot come to life from now on."""
    tripped: ClassVar[int] = 0

    def __init__(self) -> None:
        self.awake = False

    async def on_activate(self, ctx: Context) -> None:
        if Sleeper.bad_nights:
            Sleeper.bad_nights -= 1
            raise OSError("not today")
        self.awake = True

    @handler()
    async def remember(self, message: Remember, ctx: Context) -> None:
        assert self.awake
        self.state.lines.append(message.text)

    @handler()
    async def trip(self, message: Trip, ctx: Context) -> None:
        assert self.awake
        Sleeper.tripped += 1
        if Sleeper.tripped == 1:
            Sleeper.bad_nights = 2
            raise ValueError("tripped")
        self.state.lines.append("got up")

    @handler(concurrent=True)
    async def recite(self, message: Recite, ctx: Context) -> list[str]:
        return self.state.lines


@pytest.fixture
async def world(tmp_path, monkeypatch):
    monkeypatch.setattr(running_module, "_FIRST_PAUSE_S", 0.01)
    FakeRouter.places, FakeRouter.events = {}, []
    Sleeper.bad_nights, Sleeper.tripped = 0, 0
    journals = MemoryJournals()
    made = World(lambda: journals, Settings(home=tmp_path), sleeper=Sleeper)
    await made.cell("a")
    yield made
    await made.end()


async def send_kept(world: World, *messages: Message) -> None:
    """As the journal keeps what another agent has told it."""
    host = world.hosts["a"]
    for message in messages:
        envelope = Envelope(host.next_id(), OTHER, SLEEPER, message)
        await host.journal_of("s").commit(Transaction(OTHER, host.next_id(), outgoing=(mail_of(envelope),)))
        await host._outbox.send(envelope)


async def until_nothing_waits(world: World) -> None:
    journal = world.hosts["a"].journal_of("s")
    await until(journal.pending, lambda mail: mail == [])


async def lines(world: World) -> list[str]:
    return await world.hosts["a"].ask(OTHER, SLEEPER, Recite(), timeout=5)


async def test_mail_waits_for_an_agent_that_could_not_be_activated_at_first(world):
    Sleeper.bad_nights = 3
    await send_kept(world, Remember("1"), Remember("2"))
    await until_nothing_waits(world)
    assert (await lines(world), Sleeper.bad_nights) == (["1", "2"], 0)


async def test_an_agent_that_cannot_be_restarted_handles_nothing_until_it_can(world):
    await send_kept(world, Trip(), Remember("after"))
    await until_nothing_waits(world)
    assert await lines(world) == ["got up", "after"]


async def test_whoever_asks_one_that_cannot_come_to_life_is_told(world):
    from sylk_ray.messaging import HandlerFailed

    Sleeper.bad_nights = 1
    with pytest.raises(HandlerFailed, match="could not be activated: not today"):
        await lines(world)
    assert await lines(world) == []


async def test_a_session_that_is_closed_while_it_is_opened_is_closed(world):
    """The journal is let go of, whichever of the two is done first."""
    from sylk_ray.runtime import SessionBinding

    host, gate = world.hosts["a"], asyncio.Event()
    journals = host._residence._journals
    opens, closed = journals.open, []

    async def slowly(session: str, writer: str, **how: object) -> object:
        await gate.wait()
        journal = await opens(session, writer, **how)
        close = journal.close

        async def closing() -> None:
            closed.append(session)
            await close()

        journal.close = closing
        return journal

    journals.open = slowly
    opening = asyncio.create_task(host.open_session(SessionBinding("late", "a")))
    await asyncio.sleep(0)
    closing = asyncio.create_task(host.close_session("late"))
    await asyncio.sleep(0)
    gate.set()
    await asyncio.gather(opening, closing)
    assert (closed, host.journal_of("late")) == (["late"], None)
    assert [binding.session for binding in host.bindings()] == ["s"]
