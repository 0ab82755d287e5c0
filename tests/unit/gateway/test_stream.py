from __future__ import annotations

import asyncio
import json

import msgspec
import pytest

from sylk_ray.gateway.frames import frame
from sylk_ray.gateway.stream import JobStream
from sylk_ray.gateway.watching import Hub, Watch
from sylk_ray.messaging import Address, Event
from sylk_ray.runtime.directory import router_of
from sylk_ray.runtime.history import Events, Published, ReadHistory
from sylk_ray.sessions import JobState

from .conftest import a_job


class Client:
    """Reads frames of a stream as a program would."""

    def __init__(self, runtime, job, after=0, **how):
        self.frames = JobStream(runtime.front, job, after, **how).frames()

    async def next(self):
        text = (await asyncio.wait_for(anext(self.frames), 10)).decode()
        if text.startswith(":"):
            return ":", None, None
        lines = dict(line.split(": ", 1) for line in text.strip().splitlines())
        return lines["event"], lines.get("id"), json.loads(lines["data"])

    async def until(self, kind):
        found = []
        while not found or found[-1][0] != kind:
            found.append(await self.next())
        return found

    async def rest(self):
        found = []
        try:
            while True:
                found.append(await self.next())
        except StopAsyncIteration:
            return found


async def publish(runtime, job, *kinds, passing=False):
    source = Address(job.session_id, "orchestrator", "main")
    for kind in kinds:
        event = Event(kind, job.session_id, data={"status": "succeeded"})
        await runtime.hosts["a"].tell(source, router_of(job.session_id), Published(event, passing), timeout=5)
    # The router handles its mail in order: once it answers, the events are kept.
    await runtime.hosts["a"].ask(source, router_of(job.session_id), ReadHistory(limit=0), timeout=5)


async def test_kept_events_come_first_then_live_ones_and_the_end(runtime):
    job = await runtime.open(a_job())
    await publish(runtime, job, "one", "two")
    client = Client(runtime, job)
    assert [each[:2] for each in await client.until("two")] == [("one", "1"), ("two", "2")]
    await publish(runtime, job, "three", "job.finished")
    assert [each[:2] for each in await client.rest()] == [("three", "3"), ("job.finished", "4")]


async def test_a_client_that_comes_back_gets_what_it_missed_and_nothing_twice(runtime):
    job = await runtime.open(a_job())
    await publish(runtime, job, *(f"e{number}" for number in range(1, 51)))
    client = Client(runtime, job, after=20)
    await publish(runtime, job, *(f"e{number}" for number in range(51, 101)), "job.finished")
    found = await client.rest()
    assert [int(each[1]) for each in found] == list(range(21, 102))


async def test_events_published_while_streams_begin_are_seen_once_and_in_order(runtime):
    job = await runtime.open(a_job())
    clients = [Client(runtime, job) for _ in range(5)]

    async def speak():
        for number in range(200):
            await publish(runtime, job, f"e{number}")
        await publish(runtime, job, "job.finished")

    *found, _ = await asyncio.gather(*(client.rest() for client in clients), speak())
    for each in found:
        assert [int(identity) for _, identity, _ in each] == list(range(1, 202))


async def test_a_passing_event_has_no_id(runtime):
    job = await runtime.open(a_job())
    await publish(runtime, job, "one")
    client = Client(runtime, job)
    await client.until("one")
    await publish(runtime, job, "task.progress", passing=True)
    assert (await client.next())[:2] == ("task.progress", None)


async def test_an_event_that_was_lost_on_the_way_is_read_again(runtime):
    job = await runtime.open(a_job())
    await publish(runtime, job, "one")
    client = Client(runtime, job)
    await client.until("one")
    await publish(runtime, job, "two")
    watch = next(iter(runtime.front.hub._watches[job.session_id]))
    await watch._arrived.wait()
    watch.clear()  # as when the gateway's agent was put away in between
    await publish(runtime, job, "three", "job.finished")
    assert [each[0] for each in await client.rest()] == ["two", "three", "job.finished"]


async def test_a_slow_client_is_told_that_its_stream_ends(runtime):
    job = await runtime.open(a_job())
    await publish(runtime, job, "one")
    client = Client(runtime, job, bound=10)
    await client.until("one")
    events = [Event("e", job.session_id, sequence=n) for n in range(2, 14)]
    runtime.front.hub.spread(Events(job.session_id, events, job.session_id))
    assert await client.rest() == [("stream.ended", None, {"reason": "too_slow"})]


async def test_silence_is_filled_and_a_job_whose_cell_died_ends(runtime):
    job = await runtime.open(a_job())
    await publish(runtime, job, "one")
    client = Client(runtime, job, keep_alive_s=0.02)
    await client.until("one")
    assert (await client.next())[0] == ":"
    await runtime.close(job, JobState.FAILED)
    found = [each for each in await client.rest() if each[0] != ":"]
    assert [each[:2] for each in found] == [("job.finished", None)]
    assert found[0][2]["data"]["record"]["status"] == "failed"


async def test_a_job_that_is_over_is_read_from_its_directory(runtime):
    job = await runtime.open(a_job())
    await publish(runtime, job, "one", "job.finished")
    await runtime.close(job, JobState.SUCCEEDED)
    assert [each[1] for each in await Client(runtime, job).rest()] == ["1", "2"]
    assert [each[1] for each in await Client(runtime, job, after=1).rest()] == ["2"]


async def test_a_prepared_job_is_waited_for(runtime, guide):
    job = guide.jobs["j-1"] = a_job(status=JobState.PREPARED)
    client = Client(runtime, job, keep_alive_s=0.02)
    assert (await client.next())[0] == ":"
    await runtime.open(a_job())
    await publish(runtime, job, "one")
    assert (await client.until("one"))[-1][1] == "1"


def waiting(frames):
    return [(data["data"]["status"], data["data"]["waiting"]) for kind, _, data in frames if kind == "job.waiting"]


async def test_a_queued_job_tells_its_place_each_time_it_changes_and_goes_on_by_itself(runtime, guide):
    queued = a_job(status=JobState.QUEUED)
    guide.jobs["j-1"] = msgspec.structs.replace(queued, waiting="2nd in line")
    client = Client(runtime, queued)
    assert waiting([await client.next()]) == [("queued", "2nd in line")]
    guide.jobs["j-1"] = msgspec.structs.replace(queued, waiting="1st in line")
    runtime.front.hub.look_again()
    assert waiting([await client.next()]) == [("queued", "1st in line")]
    job = await runtime.open(a_job())
    await publish(runtime, job, "one", "job.finished")
    found = await client.rest()
    assert [each[0] for each in found if each[0] != "job.waiting"] == ["one", "job.finished"]


async def test_a_paused_job_says_so_and_says_when_it_goes_on(runtime, guide):
    job = await runtime.open(a_job())
    await publish(runtime, job, "one")
    client = Client(runtime, job)
    await client.until("one")
    guide.jobs["j-1"] = msgspec.structs.replace(job, status=JobState.PAUSED, waiting="why")
    runtime.front.hub.look_again()
    assert waiting(await client.until("job.waiting")) == [("paused", "why")]
    await publish(runtime, job, "two")
    assert [each[0] for each in await client.until("two")] == ["two"]
    guide.jobs["j-1"] = job
    runtime.front.hub.look_again()
    assert waiting(await client.until("job.waiting")) == [("running", "")]


async def test_a_job_that_is_suspended_and_resumed_is_followed_through_it(runtime, guide, fleet):
    job = await runtime.open(a_job())
    await publish(runtime, job, "one")
    client = Client(runtime, job)
    await client.until("one")
    await publish(runtime, job, "two")
    next(iter(runtime.front.hub._watches[job.session_id])).clear()  # lost with the router
    await runtime.close(job, JobState.SUSPENDED)
    await runtime.hosts["gateway"].close_session(job.session_id)
    runtime.front.hub.look_again()
    # Keep-alives come whenever nothing else does.
    told = [each[0] for each in await client.until("job.waiting") if each[0] != ":"]
    assert told == ["two", "job.waiting"]
    await runtime.open(job)
    await publish(runtime, job, "three", "job.finished")
    found = [each for each in await client.rest() if each[0] != ":"]
    assert [each[:2] for each in found] == [("job.waiting", None), ("three", "3"), ("job.finished", "4")]


async def test_without_following_a_job_that_waits_is_told_last(runtime, guide):
    job = await runtime.open(a_job())
    await publish(runtime, job, "one")
    await runtime.close(job, JobState.SUSPENDED)
    found = await Client(runtime, job, follow=False).rest()
    assert [each[0] for each in found] == ["one", "job.waiting", "stream.ended"]


async def test_a_standing_sessions_second_job_is_told_without_the_first_ones_events(runtime, guide):
    job = await runtime.open(a_job())
    await publish(runtime, job, "one", "job.finished")
    await runtime.close(job, JobState.SUCCEEDED)
    second = msgspec.structs.replace(a_job("j-2"), session_id=job.session_id, first_event=2)
    await runtime.open(second)
    await publish(runtime, second, "two", "job.finished")
    assert [each[0] for each in await Client(runtime, second).rest()] == ["two", "job.finished"]
    assert [each[0] for each in await Client(runtime, job).rest()] == ["one", "job.finished"]


async def test_without_following_the_stream_ends_after_the_events_so_far(runtime):
    job = await runtime.open(a_job())
    await publish(runtime, job, "one", "two")
    found = await Client(runtime, job, follow=False).rest()
    assert [each[0] for each in found] == ["one", "two", "stream.ended"]


async def test_the_last_event_id_resumes_over_http(runtime, http):
    job = await runtime.open(a_job())
    await publish(runtime, job, "one", "two", "job.finished")
    answer = await http.get("/jobs/j-1/events", headers={"Last-Event-ID": "1"})
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert [line for line in answer.text.splitlines() if line.startswith("id")] == ["id: 2", "id: 3"]
    assert "id: 1\n" in (await http.get("/jobs/j-1/events?after=0")).text


async def test_when_the_last_client_leaves_the_router_is_told(runtime):
    job = await runtime.open(a_job())
    await publish(runtime, job, "one")
    client = Client(runtime, job)
    await client.until("one")
    await client.frames.aclose()
    await asyncio.gather(*runtime.front._chores)
    router = runtime.hosts["a"]._slots[router_of(job.session_id)].agent
    assert not router._feed.subscriptions()


async def test_the_end_of_the_gateway_ends_the_streams(runtime):
    job = await runtime.open(a_job())
    await publish(runtime, job, "one")
    client = Client(runtime, job)
    await client.until("one")
    runtime.front.hub.close()
    assert await client.rest() == [("stream.ended", None, {"reason": "closing"})]


async def test_passing_events_are_left_out_before_kept_ones_are_lost():
    watch = Watch(bound=4)
    for sequence in (1, 2, 0, 3):
        watch.put(Events("s", [Event("e", "s", sequence=sequence)]))
    found = [await watch.next(0) for _ in range(4)]
    assert [event.sequence for batch in found for event in batch.events] == [1, 2, 3]
    assert await watch.next(0) is None


async def test_only_who_watches_the_session_looks_again():
    hub = Hub()
    with (
        hub.watch("s-1", session="s-1") as one,
        hub.watch("s-2", session="s-2") as two,
        hub.watch("topics-1") as several,
    ):
        hub.look_again("s-1")
        assert [each._again for each in (one, two, several)] == [True, False, True]
        hub.look_again()
        assert two._again


@pytest.mark.parametrize("given", ["", "x", "-1"])
async def test_a_strange_last_event_id_begins_at_the_beginning(runtime, http, given):
    job = await runtime.open(a_job())
    await publish(runtime, job, "one", "job.finished")
    assert "id: 1\n" in (await http.get("/jobs/j-1/events", headers={"Last-Event-ID": given})).text


@pytest.mark.parametrize("kind", ["a\nid: 9", "a\rdata: {}", "a\r\n\nevent: b"])
def test_a_kind_cannot_break_out_of_its_frame(kind):
    lines = frame(Event(kind, "s-1", sequence=3)).decode().splitlines()
    assert [line.partition(":")[0] for line in lines] == ["id", "event", "data", ""]
    assert json.loads(lines[2].removeprefix("data: "))["kind"] == kind
