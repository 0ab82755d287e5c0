"""What is published in all sessions, as one stream: nothing is lost and nothing comes twice."""

from __future__ import annotations

import asyncio
import json
import time

import msgspec
import pytest

from actors.topics import Topics
from sylk_ray.fairness import Lane
from sylk_ray.gateway import topic_stream as module
from sylk_ray.gateway.cursor import Cursor, InvalidCursor
from sylk_ray.gateway.topic_stream import TopicStream
from sylk_ray.messaging import SHARED, Address, Event
from sylk_ray.messaging.subscriptions import Filter
from sylk_ray.runtime.directory import router_of
from sylk_ray.runtime.history import TOPICS, Published, ReadHistory
from sylk_ray.runtime.journal import JournalDamaged
from sylk_ray.sessions import JobState, SessionRecord
from sylk_ray.sessions.records import SessionState

from .conftest import a_job

EVERYTHING = Filter()
GUIDE = Address(SHARED, "guide", "main")


class Client:
    """Reads the frames as a program would; ``cursor`` is the last id."""

    def __init__(self, runtime, pattern="session.#", cursor=None, wanted=EVERYTHING, **how):
        given = Cursor.parse(cursor) if cursor else None
        self.cursor = cursor or ""
        self.frames = TopicStream(runtime.front, pattern, wanted, given, **how).frames()

    async def next(self):
        """The next frame's kind, and its event; None for one that only keeps alive."""
        text = (await asyncio.wait_for(anext(self.frames), 10)).decode()
        lines = dict(line.split(": ", 1) for line in text.strip().splitlines())
        self.cursor = lines.get("id", self.cursor)
        return lines.get("event"), json.loads(lines["data"]) if "data" in lines else None

    async def begin(self):
        assert await self.next() == (None, None)
        return self

    async def events(self, count):
        found = []
        while len(found) < count:
            kind, event = await self.next()
            if kind is not None:
                found.append((event["session"], event.get("sequence", 0), kind))
        return found

    async def rest(self):
        found = []
        try:
            while True:
                found.append(await self.next())
        except StopAsyncIteration:
            return [each for each in found if each[0] is not None]


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(module, "LOOK_EVERY_S", 0.2)


async def begin(runtime, guide, number="1", **more):
    """A job at work in a session of its own."""
    job = await runtime.open(a_job(f"j-{number}"))
    record = SessionRecord(job.session_id, f"tidy-{number}", "/repo", "b", "abc", SessionState.ACTIVE, **more)
    guide.sessions[job.session_id] = msgspec.structs.replace(record, created_at=time.time())
    return job


async def end(runtime, guide, job):
    await runtime.close(job, JobState.SUCCEEDED)
    session = guide.sessions[job.session_id]
    guide.sessions[job.session_id] = msgspec.structs.replace(session, state=SessionState.COMPLETED)


async def publish(runtime, job, *kinds, passing=False, by="orchestrator", priority=Lane.NORMAL):
    source = Address(job.session_id, "orchestrator", "main")
    for kind in kinds:
        event = Event(kind, job.session_id, at=time.time(), by=by, priority=priority)
        await runtime.hosts["a"].tell(source, router_of(job.session_id), Published(event, passing), timeout=5)
    await runtime.hosts["a"].ask(source, router_of(job.session_id), ReadHistory(limit=0), timeout=5)


async def test_what_comes_now_is_seen_in_all_sessions_also_later_ones(runtime, guide):
    one = await begin(runtime, guide, "1")
    await publish(runtime, one, "before")
    client = await Client(runtime).begin()
    await publish(runtime, one, "now")
    assert await client.events(1) == [("s-1", 2, "now")]
    two = await begin(runtime, guide, "2")
    await publish(runtime, two, "first", "second")
    assert await client.events(2) == [("s-2", 1, "first"), ("s-2", 2, "second")]
    await publish(runtime, one, "again")
    assert await client.events(1) == [("s-1", 3, "again")]


async def test_only_topics_of_the_pattern_are_told_live_and_from_the_history(runtime, guide):
    job = await begin(runtime, guide)
    client = await Client(runtime, "session.*.status").begin()
    await publish(runtime, job, "job.started", "task.state", "job.finished")
    assert [each[2] for each in await client.events(2)] == ["job.started", "job.finished"]
    again = await Client(runtime, "session.*.status", "0", follow=False).begin()
    kinds = [kind for kind, _ in await again.rest()]
    assert kinds == ["job.started", "job.finished", "stream.ended"]
    urgent = Client(runtime, "#", "0", Filter(at_least=Lane.HIGH), follow=False)
    await publish(runtime, job, "task.failed", priority=Lane.CRITICAL)
    assert [kind for kind, _ in await urgent.rest()] == ["task.failed", "stream.ended"]


async def test_what_was_left_out_is_told_and_of_what_is_kept_nothing_is_missing(runtime, guide):
    job = await begin(runtime, guide)
    client = await Client(runtime).begin()
    await publish(runtime, job, "first")
    assert await client.events(1) == [("s-1", 1, "first")]
    router = runtime.hosts["a"]._slots[router_of(job.session_id)].agent
    async with asyncio.timeout(10):
        while not router._feed.subscriptions():
            await asyncio.sleep(0.005)
    source = Address(job.session_id, "orchestrator", "main")
    lost = Event("task.progress", job.session_id, data={"line": "x"}, by="engineer")
    await runtime.hosts["a"].tell(source, router_of(job.session_id), Published(lost, True, 3), timeout=5)
    await publish(runtime, job, "now")
    told = [await client.next() for _ in range(2)]
    assert [(kind, event["data"].get("dropped")) for kind, event in told if kind == "stream.dropped"] == [
        ("stream.dropped", 3)
    ]
    assert "now" in [kind for kind, _ in told]


async def test_an_event_tells_its_topic_session_and_number(runtime, guide):
    job = await begin(runtime, guide)
    client = await Client(runtime).begin()
    await publish(runtime, job, "pipeline.phase")
    kind, event = await client.next()
    assert (kind, event["topic"], event["session"], event["sequence"]) == (
        "pipeline.phase",
        "session.s-1.orchestrator.pipeline",
        "s-1",
        1,
    )


async def test_one_that_comes_back_gets_what_it_missed_and_nothing_twice(runtime, guide):
    one, two = await begin(runtime, guide, "1"), await begin(runtime, guide, "2")
    client = await Client(runtime).begin()
    seen = []
    for turn in range(20):
        await publish(runtime, one, f"a{turn}", f"b{turn}")
        if turn % 2:
            await publish(runtime, two, f"c{turn}")
        seen += await client.events(1)
        await client.frames.aclose()
        client = Client(runtime, cursor=client.cursor)
    three = await begin(runtime, guide, "3")
    await publish(runtime, three, "new")
    seen += await client.events(51 - len(seen))
    assert sorted((session, number) for session, number, _ in seen) == sorted(
        [*(("s-1", number) for number in range(1, 41)), *(("s-2", number) for number in range(1, 11)), ("s-3", 1)]
    )
    for session in ("s-1", "s-2"):
        numbers = [number for each, number, _ in seen if each == session]
        assert numbers == sorted(numbers)


async def test_sessions_that_ended_meanwhile_are_read_from_their_journals(runtime, guide):
    one = await begin(runtime, guide, "1")
    client = await Client(runtime).begin()
    await client.frames.aclose()
    await publish(runtime, one, "one", "job.finished")
    await end(runtime, guide, one)
    two = await begin(runtime, guide, "2")
    await publish(runtime, two, "whole", "life")
    await end(runtime, guide, two)
    again = await Client(runtime, cursor=client.cursor, follow=False).begin()
    assert sorted((each["session"], kind) for kind, each in await again.rest() if "session" in each) == [
        ("s-1", "job.finished"),
        ("s-1", "one"),
        ("s-2", "life"),
        ("s-2", "whole"),
    ]


async def test_the_last_words_of_a_session_are_found_though_its_router_never_said_them(runtime, guide):
    job = await begin(runtime, guide)
    client = await Client(runtime).begin()
    await publish(runtime, job, "one")
    await client.events(1)
    journal = runtime.hosts["a"].journal_of(job.session_id)
    await journal.add_events([Event("job.finished", job.session_id, at=time.time())])
    await end(runtime, guide, job)
    assert await client.events(1) == [("s-1", 2, "job.finished")]


async def test_a_router_that_comes_back_goes_on_without_gap_or_repeat(runtime, guide):
    job = await begin(runtime, guide)
    client = await Client(runtime).begin()
    await publish(runtime, job, "one", "two")
    assert len(await client.events(2)) == 2
    host = runtime.hosts["a"]
    await host.close_session(job.session_id)  # as when its cell dies: nobody is told
    await host.open_session(runtime.binding(job))
    journal = host.journal_of(job.session_id)
    await journal.add_events([Event("three", job.session_id, at=time.time())])
    host.happened(job.session_id)
    assert await client.events(1) == [("s-1", 3, "three")]
    await publish(runtime, job, "four")
    assert await client.events(1) == [("s-1", 4, "four")]


async def test_an_agent_of_the_topics_that_comes_back_is_told_again(runtime, guide, monkeypatch):
    job = await begin(runtime, guide)
    client = await Client(runtime).begin()
    await publish(runtime, job, "one")
    await client.events(1)
    system = runtime.hosts["system"]
    (slot,) = [slot for address, slot in system._slots.items() if address == TOPICS]
    await system._reception.put_away([slot])  # and all that it knew
    for host in runtime.hosts.values():
        host.peer_lost("system")
    await publish(runtime, job, "two")
    assert await client.events(1) == [("s-1", 2, "two")]
    async with asyncio.timeout(5):
        while TOPICS not in system._slots or not system._slots[TOPICS].agent._feed.subscriptions():
            await asyncio.sleep(0.01)


async def test_what_is_of_no_session_is_passed_on(runtime, guide):
    client = await Client(runtime, "guide.*").begin()
    async with asyncio.timeout(5):
        while TOPICS not in runtime.hosts["system"]._slots or not _topics(runtime)._renewed:
            await asyncio.sleep(0.01)
    event = Event("sessions.closed", SHARED, data={"session": "s-9"}, by="guide")
    await runtime.hosts["system"].publish(GUIDE, event)
    kind, told = await client.next()
    assert (kind, told["topic"], told["data"]) == ("sessions.closed", "guide.sessions", {"session": "s-9"})


async def test_a_session_that_cannot_be_read_is_told_once_and_holds_up_nobody(runtime, guide, monkeypatch):
    one, two = await begin(runtime, guide, "1"), await begin(runtime, guide, "2")
    await publish(runtime, one, "one")
    await end(runtime, guide, one)
    readable = False

    async def events_of(session, *args, **more):
        if session == "s-1" and not readable:
            raise JournalDamaged("it is damaged")
        return await found(session, *args, **more)

    found = runtime.front.events_of
    monkeypatch.setattr(runtime.front, "events_of", events_of)
    client = await Client(runtime, cursor="0").begin()
    kind, told = await client.next()
    assert (kind, told["session"], told["data"]["message"]) == ("stream.unreadable", "s-1", "it is damaged")
    await publish(runtime, two, "two")
    assert await client.events(1) == [("s-2", 1, "two")]
    await asyncio.sleep(2 * module.LOOK_EVERY_S)
    await publish(runtime, two, "more")
    assert await client.events(1) == [("s-2", 2, "more")]
    assert "s-1" not in Cursor.parse(client.cursor).seen
    readable = True
    assert await client.events(1) == [("s-1", 1, "one")]


async def test_a_router_that_hangs_holds_up_nobody(runtime, guide, monkeypatch):
    job = await begin(runtime, guide)
    await publish(runtime, job, "one")
    ask = runtime.front.ask_router

    async def hang(session, message, *more):
        if isinstance(message, ReadHistory):
            await asyncio.Event().wait()
        return await ask(session, message, *more)

    monkeypatch.setattr(runtime.front, "ask_router", hang)
    assert await Client(runtime, cursor="0").events(1) == [("s-1", 1, "one")]


async def test_while_histories_are_read_the_stream_lives_and_what_arrives_is_told(runtime, guide, monkeypatch):
    jobs = [await begin(runtime, guide, str(number)) for number in range(1, 21)]
    client = await Client(runtime, keep_alive_s=0.02).begin()
    await publish(runtime, jobs[0], "one")
    await client.events(1)
    reading = 0

    async def events_of(session, *args, **more):
        nonlocal reading
        reading += 1
        await asyncio.sleep(0.05)
        return []

    monkeypatch.setattr(runtime.front, "events_of", events_of)
    while not reading:
        await client.next()
    assert reading < 10  # it was told that the stream lives
    await publish(runtime, jobs[0], "two")
    while (told := await client.next())[0] is None:
        pass
    assert (told[0], reading < 15) == ("two", True)


async def test_when_the_client_leaves_the_routers_are_told(runtime, guide):
    job = await begin(runtime, guide)
    client = await Client(runtime).begin()
    await publish(runtime, job, "one")
    await client.events(1)
    await client.frames.aclose()
    await asyncio.gather(*runtime.front._chores)
    assert _topics(runtime)._feed.subscriptions() == []
    router = runtime.hosts["a"]._slots[router_of(job.session_id)].agent
    async with asyncio.timeout(5):
        while router._feed.subscriptions():
            await asyncio.sleep(0.01)


async def test_a_slow_client_is_asked_to_come_back_and_loses_nothing(runtime, guide):
    job = await begin(runtime, guide)
    client = await Client(runtime, bound=5).begin()
    for number in range(1, 31):
        await publish(runtime, job, f"e{number}")
    found = await client.rest()
    assert found[-1] == ("stream.ended", {"reason": "too_slow"})
    again = Client(runtime, cursor=client.cursor, follow=False)
    numbers = [event["sequence"] for _, event in [*found[:-1], *(await again.rest())[:-1]]]
    assert numbers == list(range(1, 31))


async def test_sessions_at_rest_are_folded_out_of_the_cursor_and_come_back_with_what_is_new(
    runtime, guide, monkeypatch
):
    monkeypatch.setattr(module, "REST_S", 0.0)
    monkeypatch.setattr(module, "_COARSE_S", 0.0)
    jobs = [await begin(runtime, guide, str(number)) for number in range(1, 6)]
    client = await Client(runtime, keep_alive_s=0.05).begin()
    for job in jobs:
        await publish(runtime, job, "one")
    await client.events(5)
    for job in jobs[1:]:
        await end(runtime, guide, job)
    async with asyncio.timeout(10):
        while "s-5" in client.cursor:
            await client.next()
    await client.frames.aclose()
    assert Cursor.parse(client.cursor).seen == {"s-1": 1}
    await asyncio.sleep(0.01)
    await runtime.open(jobs[4])
    await publish(runtime, jobs[4], "resumed")
    assert await Client(runtime, cursor=client.cursor).events(1) == [("s-5", 2, "resumed")]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("pattern=session..x", "invalid_topic"),
        ("pattern=a.%23.b", "invalid_topic"),
        ("after=yesterday", "invalid_cursor"),
        ("after=12;s-1", "invalid_cursor"),
        ("priority=loud", "input"),
        ("follow=perhaps", "bad_request"),
    ],
)
async def test_a_wrong_question_is_refused_with_a_hint(http, query, code):
    answer = await http.get(f"/topics?{query}")
    assert answer.status_code == 422
    assert answer.json()["error"]["code"] == code
    assert answer.json()["error"]["hint"]


async def test_the_cursor_resumes_over_http(runtime, guide, http):
    job = await begin(runtime, guide)
    await publish(runtime, job, "one", "two", "three")
    first = await http.get("/topics?pattern=session.%23&after=0&follow=false&kinds=one&kinds=two&sessions=s-1")
    assert first.headers["content-type"].startswith("text/event-stream")
    ids = [line[4:] for line in first.text.splitlines() if line.startswith("id: ")]
    assert ids[1].endswith(";s-1:1")
    again = await http.get("/topics?after=0&follow=false", headers={"Last-Event-ID": ids[1]})
    assert [line for line in again.text.splitlines() if line.startswith("event")] == [
        "event: two",
        "event: three",
        "event: stream.ended",
    ]


@pytest.mark.parametrize("text", ["0", "1700000000000000;", "1700000000000000;s-1:12,s-2:40"])
def test_a_cursor_is_read_as_it_was_written(text):
    cursor = Cursor.parse(text)
    assert str(Cursor.parse(str(cursor))) == str(cursor)


WRONG_CURSORS = ["", "x", "-1", "1;s-1", "1;s-1:x", "1;:4", "1,s-1:4", "1;s-1:1;s-2:2", " 1", "1;s-1:1:2"]


@pytest.mark.timeout(10)
@pytest.mark.parametrize("text", [*WRONG_CURSORS, f"1;a{':111' * 200}!", f"1;a{'111:1' * 200}!"])
def test_what_is_no_cursor_is_said(text):
    with pytest.raises(InvalidCursor, match="not a cursor"):
        Cursor.parse(text)


def _topics(runtime) -> Topics:
    return runtime.hosts["system"]._slots[TOPICS].agent
