"""Agents that hear of their session by topic, with the real router, while cells come and go."""

from __future__ import annotations

import asyncio
from typing import ClassVar

import pytest

from actors import session_router
from actors.session_router import SessionRouter
from actors.topics import Topics
from sylk_ray.config import Settings
from sylk_ray.fairness import Lane
from sylk_ray.messaging import SHARED, Address, Event, Message, NotAllowed, Request
from sylk_ray.messaging.subscriptions import Subscription
from sylk_ray.messaging.topics import InvalidTopic
from sylk_ray.runtime import Agent, Context, MemoryJournals, SessionBinding, handler
from sylk_ray.runtime.bus import Following
from sylk_ray.runtime.directory import Located, LocateSession, Place, router_of
from sylk_ray.runtime.history import (
    TOPICS,
    Events,
    HistoryGrew,
    Published,
    ReadHistory,
    Register,
    Subscribe,
    Unsubscribe,
)

from .world import World, until

ME = Address("s", "speaker", "me")
EAR = Address("s", "listener", "ear")


class SayIt(Message, frozen=True):
    kinds: list[str]
    channel: str = ""
    urgency: Lane = Lane.NORMAL


class Listen(Request[int], frozen=True):
    pattern: str
    after: int | None = None


class Stop(Request[None], frozen=True):
    pass


class Speaker(Agent[None]):
    role = "speaker"

    @handler()
    async def say(self, message: SayIt, ctx: Context) -> None:
        for kind in message.kinds:
            await ctx.bus.publish(kind, channel=message.channel, priority=message.urgency)


class Listener(Agent[None]):
    role = "listener"
    heard: ClassVar[list[Event]] = []
    following: Following | None = None

    @handler()
    async def listen(self, message: Listen, ctx: Context) -> int:
        self.following = await ctx.bus.subscribe(message.pattern, after=message.after)
        return self.following.position

    @handler()
    async def stop(self, message: Stop, ctx: Context) -> None:
        await self.on_deactivate()

    @handler()
    async def events(self, message: Events, ctx: Context) -> None:
        self.heard.extend(self.following.take(message))

    async def on_deactivate(self) -> None:
        if self.following is not None:
            self.following.close()


class Fleet(Agent[None]):
    """Knows from the test where the router lives; all else is in ``b``."""

    role = "fleet"
    router: ClassVar[str] = "a"

    @handler(concurrent=True)
    async def locate(self, message: LocateSession, ctx: Context) -> SessionBinding:
        return SessionBinding(message.session, self.router)

    @handler(concurrent=True)
    async def place(self, message: Place, ctx: Context) -> Located:
        return Located("b")


@pytest.fixture
async def world(tmp_path):
    Fleet.router, Listener.heard = "a", []
    journals = MemoryJournals()
    roles = {"router": SessionRouter, "topics": Topics, "fleet": Fleet, "speaker": Speaker, "listener": Listener}
    made = World(lambda: journals, Settings(home=tmp_path), **roles)
    for name in ("system", "a", "b"):
        await made.cell(name, of_session=name != "system")
    yield made
    await made.end()


async def heard(count: int) -> list[str]:
    async def look() -> list[str]:
        return [event.kind for event in Listener.heard]

    return await until(look, lambda seen: len(seen) >= count)


async def say(world: World, *kinds: str, **how) -> None:
    await world.hosts["b"].tell(ME, ME, SayIt(list(kinds), **how), timeout=5)


async def listen(world: World, pattern: str, after: int | None = None) -> int:
    return await world.hosts["b"].ask(ME, EAR, Listen(pattern, after), timeout=5)


async def test_patterns_are_within_the_session_and_topics_come_of_who_publishes(world):
    await listen(world, "speaker.*")
    await say(world, "phase.begun", "job.odd")
    await say(world, "told", channel="aloud", urgency=Lane.HIGH)
    await heard(2)
    assert [(event.topic, event.priority) for event in Listener.heard] == [
        ("session.s.speaker.phase", Lane.NORMAL),
        ("session.s.speaker.aloud", Lane.HIGH),
    ]


async def test_one_begins_now_or_where_it_says(world):
    await say(world, "one", "two")
    assert await listen(world, "#") == 2
    assert await listen(world, "#", 1) == 1
    assert await heard(1) == ["two"]


async def test_a_wrong_pattern_is_refused_and_so_is_an_agent_of_no_session(world):
    with pytest.raises(InvalidTopic):
        await listen(world, "a..b")
    with pytest.raises(NotAllowed, match="of no session"):
        await world.hosts["b"].ask(ME, Address(SHARED, "listener", "x"), Listen("#"), timeout=5)


async def test_after_the_end_nothing_comes(world):
    await listen(world, "#")
    await say(world, "one")
    await heard(1)
    await world.hosts["b"].ask(ME, EAR, Stop(), timeout=5)
    router = world.hosts["a"]._slots[router_of("s")].agent
    async with asyncio.timeout(5):
        while router._feed.subscriptions():
            await asyncio.sleep(0.005)


async def test_two_subscriptions_to_one_pattern_are_two(world):
    await listen(world, "#")
    router = world.hosts["a"]._slots[router_of("s")].agent
    (first,) = router._feed.subscriptions()
    await listen(world, "#")
    assert len(router._feed.subscriptions()) == 2
    # The end of the earlier one comes late.
    await world.hosts["b"].ask(ME, router_of("s"), Unsubscribe(first.id), timeout=5)
    await say(world, "one")
    assert await heard(1) == ["one"]


async def test_with_a_cell_the_subscriptions_of_its_agents_end(world):
    await listen(world, "#")
    router = world.hosts["a"]._slots[router_of("s")].agent
    await say(world, "one")
    await heard(1)
    assert len(router._feed.subscriptions()) == 1
    await world.crash("b")
    assert router._feed.subscriptions() == []


async def test_what_is_asked_does_not_wait_while_a_passing_event_is_held_back(world):
    await listen(world, "#")
    router = world.hosts["a"]._slots[router_of("s")].agent
    held = asyncio.Event()

    async def hold(event: Event, *, lost: int) -> None:
        held.set()
        await asyncio.Event().wait()

    router._feed.pass_on = hold
    host = world.hosts["b"]
    await host.tell(ME, router_of("s"), Published(Event("kept", "s")), timeout=5)
    await host.tell(ME, router_of("s"), Published(Event("passing", "s"), passing=True), timeout=5)
    await asyncio.wait_for(held.wait(), 5)
    me = Address("s", "orchestrator", "main")
    (kept,) = await host.ask(me, router_of("s"), ReadHistory(), timeout=5)
    assert kept.kind == "kept"
    assert await host.ask(me, router_of("s"), ReadHistory(limit=0), timeout=5) == []


async def test_the_end_of_the_session_does_not_wait_for_room_on_the_disk(world, monkeypatch):
    monkeypatch.setattr(session_router, "FLUSH_S", 0.05)
    await listen(world, "#")

    async def full(events: list[Event]) -> None:
        await asyncio.Event().wait()

    host = world.hosts["a"]
    monkeypatch.setattr(host.journal_of("s"), "add_events", full)
    await world.hosts["b"].tell(ME, router_of("s"), Published(Event("kept", "s")), timeout=5)
    router = host._slots[router_of("s")].agent
    async with asyncio.timeout(5):
        while not router._keeping:
            await asyncio.sleep(0.005)
        await host.close_session("s")


async def test_when_the_router_dies_the_subscription_goes_on_from_its_cursor(world):
    await listen(world, "#")
    await say(world, "one", "two")
    assert await heard(2) == ["one", "two"]
    await world.crash("a")
    await world.hosts["b"].journal_of("s").add_events([Event("meanwhile", "s")])
    Fleet.router = "c"
    await world.cell("c", router="c")
    await world.hosts["b"].open_session(SessionBinding("s", "c"))
    world.hosts["b"].directory.bind(SessionBinding("s", "c"))
    await say(world, "three")
    assert await heard(4) == ["one", "two", "meanwhile", "three"]
    await say(world, "four")
    assert await heard(5) == ["one", "two", "meanwhile", "three", "four"]


async def test_a_batch_that_was_lost_is_sent_again(world):
    await listen(world, "#")
    await say(world, "one")
    await heard(1)
    listener = world.hosts["b"]._slots[EAR].agent
    take, listener.following.take = listener.following.take, lambda _: []  # type: ignore[method-assign]
    await say(world, "lost")
    async with asyncio.timeout(5):
        while world.hosts["b"]._slots[EAR].handled < 3:
            await asyncio.sleep(0.005)
    listener.following.take = take
    await say(world, "three")
    assert await heard(3) == ["one", "lost", "three"]


async def test_the_end_of_the_session_ends_its_subscriptions(world):
    await listen(world, "#")
    feed = world.hosts["a"]._slots[router_of("s")].agent._feed
    await world.hosts["a"].close_session("s")
    assert feed.subscriptions() == []


# -- over sessions -----------------------------------------------------------------------------------------------


def across(pattern: str, id_: str = "w") -> Subscribe:
    return Subscribe(Subscription(id_, pattern, Address(SHARED, "gateway", "main")))


async def test_a_router_is_told_of_subscriptions_that_may_be_of_its_session_alone(world):
    system, source = world.hosts["system"], Address(SHARED, "operator", "me")
    for id_, pattern in (("all", "session.*.status"), ("this", "session.s.#"), ("other", "session.t.#")):
        await system.ask(source, TOPICS, across(pattern, id_), timeout=5)
    await system.ask(source, TOPICS, across("guide.*", "none"), timeout=5)
    assert [each.id for each in await system.ask(source, TOPICS, Register("s"), timeout=5)] == ["all", "this"]


async def test_a_router_that_lives_is_told_when_one_begins(world):
    source = Address(SHARED, "operator", "me")
    await world.hosts["b"].tell(Address(SHARED, "host", "b"), router_of("s"), HistoryGrew(), timeout=5)
    topics = world.hosts["system"]

    async def registered() -> bool:
        return TOPICS in topics._slots and "s" in getattr(topics._slots[TOPICS].agent, "_routers", ())

    await until(registered, bool)
    await topics.ask(source, TOPICS, across("session.*.status"), timeout=5)
    router = world.hosts["a"]._slots[router_of("s")].agent

    async def known() -> list[str]:
        return [each.id for each in router._feed.subscriptions()]

    assert await until(known, bool) == ["w"]


async def test_an_agent_of_a_session_may_not_hear_of_others(world):
    with pytest.raises(NotAllowed) as refused:
        await world.hosts["b"].ask(ME, TOPICS, Subscribe(Subscription("w", "session.*.status", ME)), timeout=5)
    assert "ctx.bus" in refused.value.hint


async def test_who_subscribes_stays_however_long_nothing_happens(world):
    await listen(world, "#")
    host = world.hosts["b"]
    before = EAR in host._slots
    await host.deactivate_idle(0.0)
    assert (before, EAR in host._slots) == (True, True)
    await host.ask(ME, EAR, Stop(), timeout=5)
    assert not host._reception.kept_awake
