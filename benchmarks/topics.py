"""What topics cost: finding who wants to hear, carrying it to them, and what a client loses that comes and goes.

No cluster: the table and the feed are measured by themselves, the client against a gateway's streams in one process."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import threading
import time
from pathlib import Path

import msgspec

from benchmarks.table import Row
from sylk_ray.gateway.cursor import Cursor
from sylk_ray.messaging import Address, Event
from sylk_ray.messaging.subscriptions import Publication, Subscription, Subscriptions
from sylk_ray.runtime import SystemClock
from sylk_ray.runtime.feed import Feed
from sylk_ray.runtime.history import Events

TOPICS, SUBSCRIBERS, EVENTS = 1_000, 100, 20_000
RECONNECTIONS = 100


def address(number: int) -> Address:
    return Address("shared", "subscriber", str(number))


def matching() -> list[Row]:
    """10,000 subscriptions, one in ten with a wildcard in the place of its session."""
    table = Subscriptions()
    for number in range(10_000):
        session = "*" if number % 10 == 0 else f"s-{number % 500}"
        table.add(Subscription(str(number), f"session.{session}.role{number % 97}.status", address(number)))
    topics = [Publication(f"session.s-{n % 500}.role{n % 97}.status", "told", f"s-{n % 500}") for n in range(5_000)]
    table.matching(topics[0])
    taken: list[float] = []
    found = 0
    for topic in topics:
        started = time.perf_counter()
        found += len(table.matching(topic))
        taken.append((time.perf_counter() - started) * 1e6)
    return [
        Row("topics: who wants it, of 10,000 subscriptions with wildcards, median", statistics.median(taken), "us", 50),
        Row("... p99", sorted(taken)[len(taken) * 99 // 100], "us", None),
        Row("... found each time", found / len(topics), "", None),
    ]


class History:
    """As much of a journal as a feed needs."""

    def __init__(self) -> None:
        self.kept: list[Event] = []

    def keep(self, event: Event) -> None:
        self.kept.append(msgspec.structs.replace(event, sequence=len(self.kept) + 1))

    async def events(self, after: int, limit: int = 10_000) -> list[Event]:
        return self.kept[after : after + limit]

    async def last_event(self) -> int:
        return len(self.kept)


async def publishing() -> list[Row]:
    """A session's feed: events on 1,000 topics, to 100 subscribers of which each wants a hundredth."""
    history, heard = History(), 0
    done = asyncio.Event()

    async def send(subscriber: Address, batch: Events) -> None:
        nonlocal heard
        heard += len(batch.events)
        if heard >= EVENTS:
            done.set()

    feed = Feed("s", history, send=send, clock=SystemClock())
    for number in range(SUBSCRIBERS):
        await feed.subscribe(Subscription(str(number), f"session.s.role{number}.*", address(number), overflow="block"))
    started = time.perf_counter()
    for number in range(EVENTS):
        topic = number % TOPICS
        history.keep(Event(f"c{topic // SUBSCRIBERS}.told", "s", by=f"role{topic % SUBSCRIBERS}"))
        feed.grew()
        if number % 100 == 0:
            await asyncio.sleep(0)
    await done.wait()
    seconds = time.perf_counter() - started
    feed.close()
    return [
        Row(f"topics: events a second, {TOPICS:,} topics, {SUBSCRIBERS} subscribers", EVENTS / seconds, "/s", None),
        Row("... lost", EVENTS - heard, "", 0),
    ]


def sharding() -> list[Row]:
    """Threads that look up topics of 1,000 sessions, as many as there are shards, and one alone. Python runs one thread
    at a time, so more of them cannot match more: measured is, by the CPU time that it takes, whether they are in each
    other's way."""
    rows: list[Row] = []
    for shards in (1, 8, 32):
        one, all_ = (max(_matched_a_second(shards, threads) for _ in range(3)) for threads in (1, shards))
        rows.append(Row(f"topics: matched a second of CPU time, {shards} shards, one thread", one, "/s", None))
        if shards > 1:
            rows.append(Row(f"... {shards} threads, of that of one", all_ / one, "x", 0.9, True))
    return rows


def _matched_a_second(shards: int, threads: int, seconds: float = 0.3) -> float:
    table = Subscriptions(shards)
    for number in range(TOPICS):
        table.add(Subscription(str(number), f"session.s-{number}.*", address(number)))
    counts = [0] * threads
    over = threading.Event()

    def publish(mine: int) -> None:
        topics = [Publication(f"session.s-{n}.status", "told") for n in range(mine, TOPICS, threads)]
        while not over.is_set():
            for topic in topics:
                table.matching(topic)
            counts[mine] += len(topics)

    running = [threading.Thread(target=publish, args=(mine,)) for mine in range(threads)]
    started = time.process_time()
    for thread in running:
        thread.start()
    time.sleep(seconds)
    over.set()
    for thread in running:
        thread.join()
    return sum(counts) / (time.process_time() - started)


async def reconnecting() -> list[Row]:
    """A client that reads a few events of two sessions, leaves, and comes back with its cursor, while both publish."""
    from tests.unit.gateway.conftest import FakeGuide, Runtime
    from tests.unit.gateway.test_topic_stream import Client, begin, publish

    with tempfile.TemporaryDirectory() as folder:
        runtime = Runtime(Path(folder))
        jobs = [await begin(runtime, FakeGuide, str(number)) for number in (1, 2)]
        seen: list[tuple[str, int]] = []
        client = await Client(runtime).begin()
        started = time.perf_counter()
        for turn in range(RECONNECTIONS):
            for job in jobs:
                await publish(runtime, job, f"a{turn}", f"b{turn}", f"c{turn}")
            seen += [(session, number) for session, number, _ in await client.events(3)]
            await client.frames.aclose()
            Cursor.parse(client.cursor)
            client = Client(runtime, cursor=client.cursor)
        seconds = time.perf_counter() - started
        wanted = {(job.session_id, number) for job in jobs for number in range(1, 3 * RECONNECTIONS + 1)}
        seen += [(session, number) for session, number, _ in await client.events(len(wanted) - len(seen))]
        await client.frames.aclose()
        for host in runtime.hosts.values():
            await host.stop(grace_s=0)
    return [
        Row(f"topics: events lost over {RECONNECTIONS} reconnections of a client", len(wanted - set(seen)), "", 0),
        Row("... that came twice", len(seen) - len(set(seen)), "", 0),
        Row("... one turn: six events published, three read, reconnected", seconds / RECONNECTIONS * 1e3, "ms", None),
    ]


async def measure() -> list[Row]:
    """All rows."""
    return [*matching(), *await publishing(), *sharding(), *await reconnecting()]
