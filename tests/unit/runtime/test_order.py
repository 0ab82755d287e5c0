"""Order per pair of agents, whatever dies between a commit and its sending."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sylk_ray.config import Settings
from sylk_ray.errors import SylkError
from sylk_ray.messaging import Address, Message, Request
from sylk_ray.messaging.wire import Envelope
from sylk_ray.runtime import Agent, Context, Host, MemoryJournals, handler
from sylk_ray.runtime.journal import SqliteJournals

from .conftest import FakeRouter
from .world import World, never, until


class SayTwice(Message, frozen=True):
    """Tell both listeners the next number, twice."""


class HeardNumber(Message, frozen=True):
    speaker: str
    number: int


class AllHeard(Request[list[tuple[str, int]]], frozen=True):
    pass


class TalkState(msgspec.Struct):
    heard: list[tuple[str, int]] = []
    said: int = 0


class Talker(Agent[TalkState]):
    role = "talker"

    @handler()
    async def say(self, message: SayTwice, ctx: Context) -> None:
        for _ in range(2):
            self.state.said += 1
            for listener in LISTENERS:
                await ctx.tell(listener, HeardNumber(ctx.address.name, self.state.said))

    @handler()
    async def heard(self, message: HeardNumber, ctx: Context) -> None:
        self.state.heard.append((message.speaker, message.number))

    @handler()
    async def everything(self, message: AllHeard, ctx: Context) -> list[tuple[str, int]]:
        return self.state.heard


SPEAKERS = [Address("s", "talker", name) for name in ("x", "y")]
LISTENERS = [Address("s", "talker", name) for name in ("p", "q")]
ME = Address("s", "me", "me")
CELLS = ("one", "two")


class Lives:
    """Two cells that die again and again, with a speaker and a listener each; the router's lives on."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._numbers = itertools.count(1)
        self.now: dict[str, str] = {}

    async def begin(self, sends: int | None) -> None:
        await self._world.cell("a")
        for which in CELLS:
            await self._move(which, sends, ())
        for listener in LISTENERS:
            await self._world.hosts["a"].ask(ME, listener, AllHeard(), timeout=5)

    async def _move(self, which: str, sends: int | None, fenced: tuple[str, ...]) -> Host:
        name = self.now[which] = f"{which}-{next(self._numbers)}"
        for agent in (SPEAKERS[CELLS.index(which)], LISTENERS[CELLS.index(which)]):
            FakeRouter.places[agent] = name
        host = await self._world.cell(name, fenced=fenced)
        if sends is not None:
            _falter_after(host, sends)
        return host

    async def die(self, which: str, sends: int | None, *, recovered: bool = True) -> None:
        """It dies, and its next life sends so many messages, and then no more. Mail can be quicker than the recovery,
        and bring an agent to life before it."""
        old = self.now[which]
        await self._world.crash(old)
        host = await self._move(which, sends, (old,))
        if recovered:
            await host.recover_session("s")

    async def say(self, speaker: Address) -> None:
        with contextlib.suppress(SylkError):
            await self._world.hosts["a"].tell(ME, speaker, SayTwice(), timeout=2)


def _falter_after(host: Host, sends: int) -> None:
    send, left = host._outbox.send, [None] * sends

    async def faltering(envelope: Envelope) -> SylkError | None:
        if not left:
            await never()
        left.pop()
        return await send(envelope)

    host._outbox.send = faltering  # type: ignore[method-assign]


SENDS = st.integers(0, 5)
DEEDS = st.lists(
    st.one_of(
        st.tuples(st.just("say"), st.sampled_from(SPEAKERS), st.integers(0, 6)),
        st.tuples(st.just("die"), st.sampled_from(CELLS), SENDS, st.booleans()),
    ),
    min_size=2,
    max_size=12,
)


async def lived(journals: Any, home: Path, first: int, deeds: list[tuple[Any, ...]]) -> None:
    FakeRouter.places, FakeRouter.events = {}, []
    world = World(journals, Settings(home=home), talker=Talker)
    lives = Lives(world)
    try:
        await lives.begin(first)
        for name, *given_ in deeds:
            if name == "say":
                speaker, ms = given_
                await lives.say(speaker)
                await asyncio.sleep(ms / 1000)  # what comes next may come anywhere between its beginning and its end
            else:
                which, sends, recovered = given_
                await lives.die(which, sends, recovered=recovered)
        for which in CELLS:
            await lives.die(which, None)
        for speaker in SPEAKERS:
            await lives.say(speaker)
        await check(world)
    finally:
        await world.end()


async def check(world: World) -> None:
    """Each listener has heard all that each speaker has committed, once and in order."""
    a = world.hosts["a"]
    journal = a.journal_of("s")
    assert journal is not None

    for speaker in SPEAKERS:
        await a.ask(ME, speaker, AllHeard(), timeout=5)  # it has handled what came before
    await until(journal.pending, lambda pending: not pending)
    states = [(await journal.recall(speaker)).state for speaker in SPEAKERS]
    counts = [msgspec.msgpack.decode(state.data)["said"] for state in states if state is not None]
    assert all(counts)
    for listener in LISTENERS:
        heard = await a.ask(ME, listener, AllHeard(), timeout=5)
        for speaker, count in zip(SPEAKERS, counts, strict=True):
            assert [number for name, number in heard if name == speaker.name] == list(range(1, count + 1))


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_mail_comes_in_the_order_of_its_commits_whatever_dies(kind):
    @settings(max_examples=100 if kind == "memory" else 40, deadline=None, suppress_health_check=list(HealthCheck))
    @given(SENDS, DEEDS)
    def check_lives(first: int, deeds: list[tuple[Any, ...]]) -> None:
        with tempfile.TemporaryDirectory(prefix="sylk-order-") as home:
            shared = MemoryJournals()
            journals = (lambda: shared) if kind == "memory" else (lambda: SqliteJournals(Path(home).joinpath))
            asyncio.run(lived(journals, Path(home), first, deeds))

    check_lives()


async def test_what_was_committed_and_not_sent_leaves_before_anything_new(tmp_path):
    FakeRouter.places, FakeRouter.events = {}, []
    shared = MemoryJournals()
    world = World(lambda: shared, Settings(home=tmp_path), talker=Talker)
    lives = Lives(world)
    await lives.begin(None)
    _falter_after(world.hosts[lives.now["one"]], 0)
    await lives.say(SPEAKERS[0])
    await until(world.hosts["a"].journal_of("s").pending, bool)
    await lives.die("one", None, recovered=False)
    await lives.say(SPEAKERS[0])
    await until(world.hosts["a"].journal_of("s").pending, lambda pending: not pending)
    assert await world.hosts["a"].ask(ME, LISTENERS[1], AllHeard(), timeout=5) == [("x", n) for n in (1, 2, 3, 4)]
    await world.end()
