"""Calls over real HTTP on loopback that fail, and what becomes of them."""

from __future__ import annotations

import asyncio
import random
import socket
import time

import pytest

from sylk_ray.config import Model
from sylk_ray.llm import (
    ContextTooLong,
    KeyRefused,
    ModelBusy,
    ModelRefused,
    Models,
    ModelTooSlow,
    ModelUnavailable,
    Piece,
    Request,
    RestartPiece,
    StopPiece,
    TextPiece,
    User,
)
from sylk_ray.llm.breaker import OPEN_S
from sylk_ray.llm.retrying import Retrying
from tests.models import Complaint, Cut, Garbage, ModelServer, Page, SlowFirst, Stall, Status
from tests.models.server import says
from tests.unit.llm.world import ASK, World


async def test_what_passes_is_asked_again_after_growing_pauses(server, protocol):
    server.faults = [Status(503), Cut(2)]
    world = World(server, protocol)
    pieces: list[Piece] = []
    reply = await world.models.call("fast", ASK, on_piece=pieces.append)
    assert (reply.text, reply.attempts) == ("hello", 3)
    assert world.pauses == [0.25, 0.5]
    begun = [piece for piece in pieces if isinstance(piece, (RestartPiece, StopPiece))]
    # The one that was refused had shown nothing; the one that was cut off may have.
    assert [type(piece) for piece in begun][-1] is StopPiece
    assert len(begun) <= 2


async def test_a_busy_provider_is_asked_again_when_it_says(server, protocol):
    server.faults = [Status(429, headers={"retry-after": "7"}), Status(429, headers={"retry-after-ms": "1500"})]
    world = World(server, protocol)
    assert (await world.models.call("fast", ASK)).text == "hello"
    assert world.pauses == pytest.approx([7 * 1.05, 1.5 * 1.05])


async def test_a_provider_that_asks_for_too_long_is_not_waited_for(server, protocol):
    server.faults = [Status(429, headers={"retry-after": "3600"})]
    with pytest.raises(ModelBusy, match="429") as caught:
        await World(server, protocol).models.call("fast", ASK)
    assert caught.value.after_s == 3600
    assert len(server.asked) == 1


@pytest.mark.parametrize("fault", [Cut(3), Garbage(3), Status(500), Status(529)])
async def test_what_keeps_failing_is_told_after_the_last_attempt(server, protocol, fault):
    server.faults = [fault] * 3
    with pytest.raises(ModelUnavailable, match=r"127\.0\.0\.1"):
        await World(server, protocol).models.call("fast", ASK)
    assert len(server.asked) == 3


async def test_what_a_server_says_in_the_midst_of_its_answer_is_told_by_its_kind(server, protocol):
    complaints = [
        ({"type": "overloaded_error", "message": "Overloaded"}, ModelUnavailable),
        ({"type": "rate_limit_error", "message": "slowly"}, ModelBusy),
        ({"code": 400, "message": "the request exceeds the available context size"}, ContextTooLong),
        ({"code": "model_not_found", "type": "invalid_request_error", "message": "no"}, ModelRefused),
        ("something", ModelUnavailable),
    ]
    for error, kind in complaints:
        server.faults = [Complaint(2, error)] * 3
        with pytest.raises(kind, match="broke off") as caught:
            await World(server, protocol).models.call("fast", ASK)
        assert type(caught.value) is kind
        server.faults = []


async def test_a_page_for_people_is_no_answer(server, protocol):
    server.faults = [Page()]
    with pytest.raises(ModelRefused, match="text/html, which is no stream"):
        await World(server, protocol).models.call("fast", ASK)


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Status(400, "bad"), ModelRefused),
        (Status(401, "who?"), KeyRefused),
        (Status(400, "maximum context length is 8192 tokens"), ContextTooLong),
        (Status(429, "You exceeded your current quota (insufficient_quota)"), ModelRefused),
        (Status(404, "no such model"), ModelRefused),
        (Status(302, ""), ModelRefused),
    ],
)
async def test_a_refusal_is_told_at_once(server, protocol, fault, error):
    server.faults = [fault]
    with pytest.raises(error) as caught:
        await World(server, protocol).models.call("fast", ASK)
    assert type(caught.value) is error
    assert fault.message in caught.value.message
    assert len(server.asked) == 1


async def test_a_reply_that_stands_still_is_given_up_and_asked_for_again(server, protocol):
    server.faults = [Stall(3)]
    reply = await World(server, protocol, stall_s=0.5).models.call("fast", ASK)
    assert (reply.text, reply.attempts) == ("hello", 2)
    assert await asyncio.to_thread(server.hung_up.wait, 5)


async def test_a_slow_first_token_is_given_up_sooner_or_later(server, protocol):
    server.faults = [SlowFirst(5)]
    reply = await World(server, protocol, first_token_s=0.5, stall_s=30).models.call("fast", ASK)
    assert reply.attempts == 2


async def test_a_server_that_is_not_there_is_told(protocol):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with ModelServer() as other:
        other.url = f"http://127.0.0.1:{port}/v1"
        with pytest.raises(ModelUnavailable, match="cannot be reached"):
            await World(other, protocol).models.call("fast", ASK)


async def test_cancelling_closes_the_connection(server, protocol):
    server.faults = [Stall(3)]
    begun = asyncio.Event()
    calling = asyncio.create_task(World(server, protocol).models.call("fast", ASK, on_piece=lambda piece: begun.set()))
    await begun.wait()
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    assert await asyncio.to_thread(server.hung_up.wait, 5)


async def test_a_deadline_ends_the_call_and_its_connection(server, protocol):
    server.faults = [Stall(3)]
    world = World(server, protocol)
    with pytest.raises(ModelTooSlow):
        await world.models.call("fast", ASK, deadline=world.now() + 1)
    assert await asyncio.to_thread(server.hung_up.wait, 5)


async def test_no_pause_goes_beyond_the_deadline(server):
    server.faults = [Status(429, headers={"retry-after": "20"})]
    world = World(server)
    with pytest.raises(ModelBusy):
        await world.models.call("fast", ASK, deadline=world.now() + 10)
    assert world.pauses == []


async def test_another_model_answers_for_one_that_does_not(server):
    server.faults = [Status(401, "who?")]
    settings = {name: Model(base_url=server.url, model=name) for name in ("large", "small")}
    models = Models(settings, {"architect": ["large", "small"], "default": ["small"]})
    reply = await models.call("architect", ASK)
    assert (reply.model, reply.attempts) == ("small", 2)
    assert "large: " in reply.passed_over[0]
    assert [asked.body["model"] for asked in server.asked] == ["large", "small"]


async def test_what_one_model_showed_counts_no_more_when_another_answers(server):
    server.faults = [Stall(4)]
    settings = {name: Model(base_url=server.url, model=name, stall_s=0.5) for name in ("large", "small")}
    pieces: list[Piece] = []
    models = Models(settings, {"architect": ["large", "small"]}, retrying=Retrying(attempts=1))
    assert (await models.call("architect", ASK, on_piece=pieces.append)).model == "small"
    [restart] = [place for place, piece in enumerate(pieces) if isinstance(piece, RestartPiece)]
    told = [
        [piece.text for piece in part if isinstance(piece, TextPiece)] for part in (pieces[:restart], pieces[restart:])
    ]
    assert told == [["hello"], ["hello"]]


async def test_the_last_of_a_chain_is_waited_for(server):
    world = World(server)
    world.settings["other"] = world.settings["fast"]
    models = Models(world.settings, now=world.now, sleep=world.sleep, chance=lambda: 0.5, retrying=Retrying(attempts=3))
    server.faults = [Status(500)] * 5
    assert (await models.call("any", ASK)).model == "other"
    assert max(world.pauses) == OPEN_S


async def test_a_provider_that_keeps_failing_is_left_alone_and_tried_again_later(server):
    world = World(server)
    server.faults = [Status(500)] * 5
    with pytest.raises(ModelUnavailable):
        await world.models.call("fast", ASK)
    # The fifth failure in a row opens the breaker. The model has no stand-in, so the call waits until it may try.
    assert (await world.models.call("fast", ASK)).text == "hello"
    assert len(server.asked) == 6
    assert [pause for pause in world.pauses if pause >= 1] == [OPEN_S]
    assert world.models.breaker("fast").state(world.now()) == "closed"


async def test_with_a_stand_in_nobody_waits_for_an_open_breaker(server):
    with ModelServer() as ill:
        ill.faults = [Status(500)] * 9
        settings = {"a": Model(base_url=ill.url, model="a"), "b": Model(base_url=server.url, model="b")}
        pauses: list[float] = []

        async def sleep(seconds: float) -> None:
            pauses.append(seconds)

        models = Models(settings, sleep=sleep, retrying=Retrying(attempts=3))
        for _ in range(4):
            assert (await models.call("any", ASK)).model == "b"
        assert len(ill.asked) == 5
        assert models.breaker("a").state(time.time()) == "open"
        assert max(pauses) < 2


async def test_many_calls_among_failures_and_cancellations_each_get_their_own_answer(server):
    chance = random.Random(20261122)
    kinds = [Status(429, headers={"retry-after": "0.01"}), Status(503), Cut(2), Garbage(2), Stall(2)]
    server.due = lambda: chance.choice(kinds) if chance.random() < 0.2 else None
    server.pieces_for = lambda request: says(f"You said {request.messages[-1].text}.")
    settings = {
        kind: Model(provider=kind, base_url=server.url, model="m", stall_s=0.5) for kind in ("openai", "anthropic")
    }
    models = Models(settings, sleep=lambda seconds: asyncio.sleep(min(seconds, 0.01)))
    others = asyncio.all_tasks()

    async def ask(number: int) -> str:
        who = ("openai", "anthropic", "either")[number % 3]
        asking = asyncio.create_task(models.call(who, Request(messages=(User(f"{number}"),))))
        if number % 10 == 0:
            await asyncio.sleep(chance.random() / 100)
            asking.cancel()
        try:
            return (await asking).text
        except (asyncio.CancelledError, ModelUnavailable, ModelBusy):  # by chance, ill each time that it was asked
            return ""

    told = await asyncio.gather(*(ask(number) for number in range(200)))
    await models.aclose()
    assert [text for number, text in enumerate(told) if text not in ("", f"You said {number}.")] == []
    assert sum(text != "" for text in told) > 100
    assert asyncio.all_tasks() == others
