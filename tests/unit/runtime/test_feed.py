"""A session's history on its way to its subscribers: order, pace, bounds, and what is dropped."""

from __future__ import annotations

import asyncio
import itertools
from collections import defaultdict

import msgspec
import pytest

from sylk_ray.fairness import Lane
from sylk_ray.messaging import Address, Event, NoHandler, UnknownAddress
from sylk_ray.messaging.subscriptions import Filter, Subscription
from sylk_ray.messaging.trace import begin_trace, current_trace
from sylk_ray.runtime import ManualClock
from sylk_ray.runtime import feed as feed_module
from sylk_ray.runtime.feed import Feed
from sylk_ray.runtime.following import Positions, Renewal
from sylk_ray.runtime.history import Events

from .world import until

ONE, TWO = Address("shared", "gateway", "one"), Address("shared", "gateway", "two")


class Journal:
    """As much of one as a feed needs."""

    def __init__(self) -> None:
        self.kept: list[Event] = []
        self.reads = 0

    def keep(self, *events: Event) -> None:
        for event in events:
            self.kept.append(msgspec.structs.replace(event, sequence=len(self.kept) + 1))

    async def events(self, after: int, limit: int = 10_000) -> list[Event]:
        self.reads += 1
        await asyncio.sleep(0)
        return self.kept[after : after + limit]

    async def last_event(self) -> int:
        await asyncio.sleep(0)
        return len(self.kept)


class World:
    """A feed, its journal, and subscribers that take a batch when their gate is open."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(feed_module, "AT_ONCE", 10)
        self.clock = ManualClock()
        self.journal = Journal()
        self.batches: dict[Address, list[Events]] = defaultdict(list)
        self.gates: dict[Address, asyncio.Event] = defaultdict(_open_gate)
        self.ended: list[str] = []
        self.failing: dict[Address, Exception] = {}
        self.feed = Feed(
            "s", self.journal, send=self._send, clock=self.clock, ended=lambda each: self.ended.append(each.id)
        )

    async def _send(self, subscriber: Address, batch: Events) -> None:
        await self.gates[subscriber].wait()
        if subscriber in self.failing:
            raise self.failing[subscriber]
        self.batches[subscriber].append(batch)

    def keep(self, *kinds: str, by: str = "engineer", priority: Lane = Lane.NORMAL) -> None:
        self.journal.keep(*(Event(kind, "s", by=by, priority=priority) for kind in kinds))
        self.feed.grew()

    def kinds(self, subscriber: Address = ONE) -> list[str]:
        return [event.kind for batch in self.batches[subscriber] for event in batch.events]

    async def until(self, count: int, subscriber: Address = ONE) -> list[str]:
        async def look() -> list[str]:
            return self.kinds(subscriber)

        return await until(look, lambda seen: len(seen) >= count)


def _open_gate() -> asyncio.Event:
    gate = asyncio.Event()
    gate.set()
    return gate


def wish(id_: str = "one", subscriber: Address = ONE, pattern: str = "session.s.#", **more) -> Subscription:
    return Subscription(id_, pattern, subscriber, **{"overflow": "block", **more})


def numbered(first: int, last: int) -> list[str]:
    return [f"e{number}" for number in range(first, last + 1)]


@pytest.fixture
async def world(monkeypatch):
    made = World(monkeypatch)
    yield made
    made.feed.close()


async def settle() -> None:
    for _ in range(50):
        await asyncio.sleep(0)


async def test_what_comes_after_the_subscription_is_sent_in_order(world):
    world.keep("before")
    assert await world.feed.subscribe(wish()) == 1
    world.keep(*numbered(2, 40))
    assert await world.until(39) == numbered(2, 40)
    ends = [(batch.after, batch.through) for batch in world.batches[ONE]]
    assert all(one[1] == two[0] for one, two in itertools.pairwise(ends))
    assert (ends[0][0], ends[-1][1]) == (1, 40)


async def test_one_that_names_a_number_gets_what_came_after_it(world):
    world.keep(*numbered(1, 35))
    await world.feed.subscribe(wish(after=12))
    world.keep("e36")
    assert await world.until(24) == numbered(13, 36)


async def test_only_what_is_wanted_is_sent_and_the_numbers_cover_all(world):
    await world.feed.subscribe(wish(pattern="session.s.status"))
    await world.feed.subscribe(wish("two", TWO, filter=Filter(at_least=Lane.HIGH)))
    world.keep("task.state", "job.started", "task.state", "job.finished")
    world.keep("failed", priority=Lane.CRITICAL)
    assert await world.until(2) == ["job.started", "job.finished"]
    assert await world.until(1, TWO) == ["failed"]
    await settle()
    assert (world.batches[ONE][-1].through, world.batches[TWO][-1].through) >= (4, 5)


async def test_kinds_and_sessions_are_filtered(world):
    await world.feed.subscribe(wish(filter=Filter(frozenset({"other"}))))
    await world.feed.subscribe(wish("two", TWO, filter=Filter(frozenset({"s"}), frozenset({"b"}))))
    world.keep("a", "b", "c")
    assert await world.until(1, TWO) == ["b"]
    assert world.kinds() == []


async def test_a_slow_subscriber_does_not_hold_another(world):
    world.gates[ONE].clear()
    await world.feed.subscribe(wish(bound=5))
    await world.feed.subscribe(wish("two", TWO))
    world.keep(*numbered(1, 100))
    assert await world.until(100, TWO) == numbered(1, 100)
    assert world.kinds() == []


async def test_what_must_lose_nothing_reads_on_by_itself_and_its_backlog_stays_bounded(world):
    world.gates[ONE].clear()
    await world.feed.subscribe(wish(bound=5))
    most = 0
    for first in range(1, 1001, 50):
        world.keep(*numbered(first, first + 49))
        await settle()
        most = max(most, len(world.feed._backlogs["one"]))
    assert most <= 5
    world.gates[ONE].set()
    assert await world.until(1000) == numbered(1, 1000)
    assert sum(batch.dropped for batch in world.batches[ONE]) == 0
    world.keep("e1001")
    assert (await world.until(1001))[-1] == "e1001"


async def test_what_does_not_mind_loses_the_oldest_and_hears_how_many(world):
    await world.feed.subscribe(wish(bound=5, overflow="drop_oldest"))
    world.keep("e1")
    await world.until(1)
    world.gates[ONE].clear()
    world.keep("e2")
    await settle()  # on its way, and no longer waiting
    world.keep(*numbered(3, 40))
    await settle()
    world.gates[ONE].set()
    assert await world.until(7) == ["e1", "e2", *numbered(36, 40)]
    assert [batch.dropped for batch in world.batches[ONE] if batch.dropped] == [33]
    assert world.batches[ONE][-1].through == 40


async def test_a_passing_event_comes_after_what_was_kept_before_it(world):
    await world.feed.subscribe(wish())
    world.keep("kept")
    await world.feed.pass_on(Event("passing", "s"))
    world.keep("later")
    assert await world.until(3) == ["kept", "passing", "later"]


async def test_passing_events_that_did_not_come_this_far_count_as_dropped_for_who_wants_them(world):
    await world.feed.subscribe(wish("one", ONE))
    await world.feed.subscribe(wish("two", TWO, "session.s.other.#"))
    await world.feed.pass_on(Event("task.progress", "s", by="engineer"), lost=3)
    await settle()
    assert [batch.dropped for batch in world.batches[ONE]] == [3]
    assert TWO not in world.batches or not world.batches[TWO]


async def test_a_passing_event_keeps_its_place_with_one_that_reads_by_itself(world):
    world.gates[ONE].clear()
    await world.feed.subscribe(wish(bound=5))
    world.keep(*numbered(1, 30))
    await settle()
    passing = asyncio.create_task(world.feed.pass_on(Event("passing", "s")))
    await settle()
    world.keep(*numbered(31, 60))
    world.gates[ONE].set()
    await passing
    assert await world.until(61) == [*numbered(1, 30), "passing", *numbered(31, 60)]


async def test_a_passing_event_waits_for_one_that_must_not_lose_it_and_for_nobody_else(world):
    world.gates[ONE].clear()
    await world.feed.subscribe(wish(bound=2))
    await world.feed.subscribe(wish("two", TWO, bound=2, overflow="drop_oldest"))
    held = [asyncio.create_task(world.feed.pass_on(Event(f"p{number}", "s"))) for number in range(6)]
    await settle()
    assert [task.done() for task in held] == [True, True, True, False, False, False]
    assert len(await world.until(6, TWO)) == 6
    world.gates[ONE].set()
    await asyncio.gather(*held)
    assert await world.until(6) == [f"p{number}" for number in range(6)]


async def test_whoever_waits_goes_on_when_the_one_it_waits_for_ends(world):
    world.gates[ONE].clear()
    await world.feed.subscribe(wish(bound=1))
    held = [asyncio.create_task(world.feed.pass_on(Event(f"p{number}", "s"))) for number in range(3)]
    await settle()
    world.feed.unsubscribe("one")
    await asyncio.gather(*held)


async def test_one_that_cannot_be_reached_for_a_while_is_given_up(world):
    world.failing[ONE] = UnknownAddress("gone")
    await world.feed.subscribe(wish())
    world.keep("e1")
    await settle()
    assert world.ended == []
    await world.clock.advance(feed_module.REACHED_WITHIN_S + 1)
    assert (world.ended, world.feed.subscriptions()) == (["one"], [])


async def test_one_that_was_away_for_a_moment_gets_it_all(world):
    world.failing[ONE] = UnknownAddress("away")
    await world.feed.subscribe(wish())
    world.keep("e1", "e2")
    await settle()
    del world.failing[ONE]
    await world.clock.advance(0.2)
    assert await world.until(2) == ["e1", "e2"]


async def test_one_that_does_not_understand_is_given_up_at_once(world):
    world.failing[ONE] = NoHandler("no")
    await world.feed.subscribe(wish())
    world.keep("e1")
    await settle()
    assert world.ended == ["one"]


async def test_a_renewed_subscription_goes_on_and_one_that_is_afresh_begins_where_it_says(world):
    await world.feed.subscribe(wish())
    world.keep(*numbered(1, 3))
    await world.until(3)
    assert await world.feed.subscribe(wish(after=1)) == 3
    world.keep("e4")
    assert await world.until(4) == numbered(1, 4)
    await world.feed.subscribe(wish(after=2), afresh=True)
    assert await world.until(6) == [*numbered(1, 4), "e3", "e4"]


async def test_a_renewal_finds_what_nobody_has_told_of(world):
    await world.feed.subscribe(wish())
    world.journal.keep(Event("e1", "s"))
    await settle()
    assert world.kinds() == []
    await world.feed.subscribe(wish(after=0))
    assert await world.until(1) == ["e1"]


async def test_a_greeting_tells_where_a_subscription_begins(world):
    world.keep("e1", "e2")
    await world.feed.subscribe(wish(), greet=True)
    await settle()
    assert [(batch.after, batch.through, batch.events) for batch in world.batches[ONE]] == [(2, 2, [])]


async def test_nothing_is_read_for_nobody(world):
    world.keep("e1")
    await world.feed.pass_on(Event("p", "s"))
    await settle()
    assert world.journal.reads == 0


async def test_nothing_is_read_for_a_passing_event_that_nobody_wants(world):
    await world.feed.subscribe(wish(filter=Filter(frozenset({"other"}))))
    await world.feed.pass_on(Event("p", "s"))
    assert world.journal.reads == 0


async def test_the_end_of_the_feed_ends_its_subscriptions(world):
    world.gates[ONE].clear()
    await world.feed.subscribe(wish())
    world.keep("e1")
    await settle()
    world.feed.close()
    await settle()
    assert (world.feed.subscriptions(), world.feed._sending) == ([], {})


async def test_a_flush_waits_for_whoever_keeps_up_and_not_long_for_who_does_not(world):
    await world.feed.subscribe(wish())
    world.keep("e1")
    await world.feed.flush(5)
    assert world.kinds() == ["e1"]
    world.gates[ONE].clear()
    world.keep("e2")
    await world.feed.flush(0.01)
    assert world.kinds() == ["e1"]


async def test_what_is_sent_and_said_again_is_of_nobodys_trace(world, monkeypatch):
    traces: list[str] = []
    read, send = world.journal.events, world.feed._send

    async def events(*args):
        traces.append(current_trace())
        return await read(*args)

    async def sent(*args):
        traces.append(current_trace())
        await send(*args)

    async def say():
        traces.append(current_trace())

    monkeypatch.setattr(world.journal, "events", events)
    monkeypatch.setattr(world.feed, "_send", sent)
    await world.feed.subscribe(wish())
    renewal = Renewal(say, world.clock)
    with begin_trace():
        renewal.start()
        world.keep("e1")
    await world.until(1)
    renewal.close()
    assert len(traces) >= 3
    assert set(traces) == {""}


def test_a_position_tells_what_is_new_and_what_is_missing():
    positions = Positions({"s": 5})
    events = [Event("e", "s", sequence=number) for number in (5, 6, 0, 8)]
    batch = Events("s", events, "w", after=4, through=9)
    assert positions.fits(batch)
    assert [event.sequence for event in positions.walk(batch)] == [6, 0, 8]
    assert positions.seen == {"s": 9}
    assert not positions.fits(Events("s", [], "w", after=10, through=12))
    assert not positions.fits(Events("t", [], "w", after=0, through=0))


def test_a_walk_that_is_left_stays_where_it_was_left():
    positions = Positions({"s": 0})
    walk = positions.walk(Events("s", [Event("e", "s", sequence=number) for number in (2, 4)], "w", 0, 9))
    assert next(walk).sequence == 2
    assert positions.seen == {"s": 2}
