"""Kept mail that nobody can ever take: its sender is told, once, whatever dies meanwhile."""

from __future__ import annotations

import asyncio
from typing import ClassVar

import msgspec
import pytest

from sylk_ray.config import Settings
from sylk_ray.messaging import Address, Message, Request
from sylk_ray.runtime import Agent, Context, MemoryJournals, handler
from sylk_ray.runtime import outbox as outbox_module
from sylk_ray.runtime.journal import SqliteJournals, Transaction

from .conftest import FakeRouter
from .world import World, never, until


class SendBoth(Message, frozen=True):
    """Tell the clerk what it does not understand, and then what it does."""


class Unheard(Message, frozen=True):
    """Nobody handles this."""


class DeskNote(Message, frozen=True):
    text: str


class DeskNotes(Request[list[str]], frozen=True):
    pass


class DeskState(msgspec.Struct):
    notes: list[str] = []


class Desk(Agent[DeskState]):
    role = "desk"
    gate: ClassVar[asyncio.Event]
    called: ClassVar[list[str]] = []
    trouble: ClassVar[str] = ""

    @handler()
    async def send(self, message: SendBoth, ctx: Context) -> None:
        await ctx.tell(CLERK, Unheard())
        await ctx.tell(CLERK, DeskNote("sent"))

    @handler()
    async def note(self, message: DeskNote, ctx: Context) -> None:
        self.state.notes.append(message.text)

    @handler()
    async def notes(self, message: DeskNotes, ctx: Context) -> list[str]:
        return self.state.notes

    async def on_failure(self, message: Message, error: Exception, ctx: Context) -> None:
        self.called.append(f"{message.kind} of {ctx.sender}: {type(error).__name__}")
        self.state.notes.append(f"{message.kind} failed")
        await ctx.publish("desk.failed")
        await ctx.tell(CLERK, Unheard() if self.trouble == "tells it again" else DeskNote("failed"))
        await self.gate.wait()
        if self.trouble == "raises":
            raise ValueError("and this as well")


WRITER, CLERK, ME = Address("s", "desk", "writer"), Address("s", "desk", "clerk"), Address("s", "me", "me")


@pytest.fixture(params=["memory", "sqlite"])
async def world(request, tmp_path):
    FakeRouter.places, FakeRouter.events = {}, []
    Desk.gate, Desk.called, Desk.trouble = asyncio.Event(), [], ""
    Desk.gate.set()
    shared = MemoryJournals()
    journals = (lambda: shared) if request.param == "memory" else (lambda: SqliteJournals(tmp_path.joinpath))
    made = World(journals, Settings(home=tmp_path), desk=Desk)
    await made.cell("a")
    yield made
    await made.end()


async def notes(host, desk: Address) -> list[str]:
    return await host.ask(ME, desk, DeskNotes(), timeout=5)


async def letters(host) -> list[tuple[str, Address]]:
    return [(letter.error, letter.mail.source) for letter in await host.journal_of("s").dead_letters()]


async def settled(host) -> None:
    await until(host.journal_of("s").pending, lambda pending: not pending)


async def test_the_sender_is_told_of_mail_that_nobody_can_take(world):
    a = world.hosts["a"]
    await a.tell(ME, WRITER, SendBoth(), timeout=5)
    assert await until(lambda: notes(a, CLERK), lambda seen: len(seen) == 2) == ["sent", "failed"]
    assert await notes(a, WRITER) == ["Unheard failed"]
    assert Desk.called == [f"Unheard of {WRITER}: NoHandler"]
    assert await letters(a) == [("no_handler", WRITER)]
    assert [event.kind for event in await a.journal_of("s").events(0)] == ["desk.failed"]
    await settled(a)


async def test_the_sender_is_told_of_mail_that_was_sent_for_too_long(world, monkeypatch):
    monkeypatch.setattr(outbox_module, "GIVE_UP_S", 0.0)
    a = world.hosts["a"]
    FakeRouter.places[CLERK] = "nowhere"
    await a.tell(ME, WRITER, SendBoth(), timeout=5)
    assert await until(lambda: notes(a, WRITER), lambda seen: len(seen) == 2) == ["Unheard failed", "DeskNote failed"]
    await settled(a)
    # What told of the failures could not be delivered either; nobody is told of that.
    assert len(await letters(a)) == 4
    assert len(Desk.called) == 2


@pytest.mark.parametrize("commits", [False, True])
async def test_a_crash_between_neither_loses_it_nor_tells_it_twice(world, commits):
    a = world.hosts["a"]
    Desk.gate.clear()
    await a.tell(ME, WRITER, SendBoth(), timeout=5)
    await until(_called, bool)
    if commits:
        _keep_all(a)
        Desk.gate.set()
        await until(lambda: letters(a), bool)
    await world.crash("a")
    Desk.gate.set()
    b = await world.cell("b", router="b", fenced=("a",))
    await b.recover_session("s")
    await until(lambda: notes(b, CLERK), lambda seen: len(seen) == 2)
    await settled(b)
    assert await notes(b, CLERK) == ["sent", "failed"]
    assert await notes(b, WRITER) == ["Unheard failed"]
    assert await letters(b) == [("no_handler", WRITER)]
    assert [event.kind for event in await b.journal_of("s").events(0)] == ["desk.failed"]
    assert len(Desk.called) == (1 if commits else 2)


@pytest.mark.parametrize(("trouble", "buried"), [("raises", 1), ("tells it again", 2)])
async def test_an_on_failure_that_fails_itself_does_not_go_on_for_ever(world, trouble, buried):
    a = world.hosts["a"]
    Desk.trouble = trouble
    await a.tell(ME, WRITER, SendBoth(), timeout=5)
    await until(lambda: letters(a), lambda found: len(found) == buried)
    await settled(a)
    await asyncio.sleep(0.02)
    assert len(await letters(a)) == buried
    assert len(Desk.called) == 1
    assert await notes(a, WRITER) == ([] if trouble == "raises" else ["Unheard failed"])
    assert await notes(a, CLERK) == ["sent"]


async def test_mail_that_was_handled_while_the_sender_gave_up_is_not_told_of(world, monkeypatch):
    a = world.hosts["a"]
    Desk.gate.clear()
    await a.tell(ME, WRITER, SendBoth(), timeout=5)
    await until(_called, bool)
    (mail,) = [mail for mail in await a.journal_of("s").pending() if b"Unheard" in mail.packet]
    await a.journal_of("s").commit(Transaction(CLERK, mail.id))
    Desk.gate.set()
    assert await until(lambda: notes(a, CLERK), bool) == ["sent"]
    await settled(a)
    assert (await notes(a, WRITER), await letters(a)) == ([], [])


async def test_a_dead_letter_that_is_retried_in_vain_is_one_again(world):
    a = world.hosts["a"]
    await a.tell(ME, WRITER, SendBoth(), timeout=5)
    await until(lambda: letters(a), bool)
    await settled(a)
    (letter,) = await a.journal_of("s").dead_letters()
    mail = await a.journal_of("s").revive(letter.mail.id)
    a.resend(mail)
    await until(lambda: letters(a), bool)
    assert len(Desk.called) == 1


async def _called() -> list[str]:
    return list(Desk.called)


def _keep_all(host) -> None:
    """From now on nothing leaves."""
    host._outbox.send = never
