"""Calls over real HTTP on loopback, in both protocols: answers, failures, and what becomes of them."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import AsyncGenerator, Iterator
from typing import Any

import msgspec
import pytest

from sylk_ray.config import Model
from sylk_ray.llm import (
    Assistant,
    Call,
    CallPiece,
    ContextTooLong,
    KeyRefused,
    ModelBusy,
    ModelRefused,
    Models,
    ModelTooSlow,
    ModelUnavailable,
    NoModel,
    Piece,
    Reply,
    Request,
    RestartPiece,
    StopPiece,
    TextPiece,
    ThoughtPiece,
    Tool,
    ToolResult,
    Usage,
    User,
    count_tokens,
)
from sylk_ray.llm.breaker import OPEN_S
from sylk_ray.llm.retrying import Retrying
from sylk_ray.messaging.wire import encode_body
from tests.models import Cut, Garbage, ModelServer, SlowFirst, Stall, Status
from tests.models.server import says

ASK = Request(messages=(User("hello?"),), system="Be brief.")
READ = Tool(
    "read_file",
    "Read a file.",
    {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"], "additionalProperties": False},
)
CITY: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "people": {"type": "integer"}},
    "required": ["name", "people"],
    "additionalProperties": False,
}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as made:
        yield made


@pytest.fixture(params=["openai", "anthropic"])
def protocol(request: pytest.FixtureRequest) -> str:
    return request.param


class World:
    """Models at a server; pauses between attempts are written down and not waited for."""

    def __init__(self, server: ModelServer, protocol: str = "openai", **more: Any) -> None:
        self.pauses: list[float] = []
        self.time = time.time()
        self.settings = {"fast": Model(provider=protocol, base_url=server.url, model="small-1", **more)}  # type: ignore[arg-type]
        self.models = Models(
            self.settings, now=self.now, sleep=self.sleep, chance=lambda: 0.5, retrying=Retrying(attempts=3)
        )

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.time += seconds


async def test_a_text_comes_in_pieces_and_as_a_whole(server, protocol):
    server.pieces_for = lambda request: [ThoughtPiece("hm"), *says("Hello to whoever asks, and a good day.")]
    world = World(server, protocol, price_in=2, price_out=10, price_cached=1)
    pieces: list[Piece] = []
    reply = await world.models.call("fast", ASK, on_piece=pieces.append)
    texts = [piece.text for piece in pieces if isinstance(piece, TextPiece)]
    assert len(texts) == 2
    assert "".join(texts) == reply.text == "Hello to whoever asks, and a good day."
    assert (reply.thoughts, reply.stop, reply.model, reply.attempts) == ("hm", "end", "fast", 1)
    assert reply.usage == Usage(100, 10, 40)
    assert reply.price == pytest.approx((60 * 2 + 40 * 1 + 10 * 10) / 1e6)


async def test_calls_come_with_their_arguments(server, protocol):
    server.pieces_for = lambda request: [
        TextPiece("I look."),
        CallPiece(0, "a1", "read_file", '{"path": "a.py"}'),
        CallPiece(1, "b2", "read_file", '{"path": "b.py"}'),
        StopPiece("calls"),
    ]
    reply = await World(server, protocol).models.call("fast", Request(messages=(User("look"),), tools=(READ,)))
    assert [(call.id, call.name, call.arguments) for call in reply.calls] == [
        ("a1", "read_file", {"path": "a.py"}),
        ("b2", "read_file", {"path": "b.py"}),
    ]
    assert (reply.text, reply.stop) == ("I look.", "calls")


async def test_a_conversation_with_calls_and_results_goes_over_whole(server, protocol):
    request = Request(
        messages=(
            User("look"),
            Assistant("I look.", (Call("a1", "read_file", {"path": "a.py"}),)),
            ToolResult("a1", "read_file", "x = 1"),
            User("and now?"),
        ),
        system="You read.",
        tools=(READ,),
        tool_choice="read_file",
        max_tokens=50,
        temperature=0.5,
        stop=("END",),
    )
    await World(server, protocol).models.call("fast", request)
    assert server.asked[0].request == request


@pytest.mark.parametrize("schema", [CITY, {"type": "array", "items": {"type": "integer"}}])
async def test_an_answer_is_data_where_a_schema_asks_for_it(server, protocol, schema):
    told = '{"name": "Rome", "people": 3}' if schema is CITY else "[1, 2]"
    if protocol == "anthropic" and schema is not CITY:
        told = f'{{"value": {told}}}'
    server.pieces_for = lambda request: says(told)
    request = Request(messages=(User("which?"),), output_schema=schema)
    reply = await World(server, protocol).models.call("fast", request)
    assert reply.value == ({"name": "Rome", "people": 3} if schema is CITY else [1, 2])
    assert (reply.stop, reply.problem) == ("end", "")
    assert server.asked[0].request.output_schema == schema


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
        await world.models.call("fast", ASK, deadline=world.now() + 0.2)
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


def test_roles_and_names_find_their_models():
    settings = {name: Model(model=name, context_window=size) for name, size in (("large", 9000), ("small", 4000))}
    models = Models(settings, {"architect": ["large", "small"], "default": ["small"]})
    assert models.chain("architect") == ("large", "small")
    assert models.chain("large") == ("large",)
    assert models.chain("tester") == ("small",)
    assert Models(settings).chain("tester") == ("large", "small")
    assert (models.window("architect"), models.window("large")) == (4000, 9000)
    with pytest.raises(NoModel, match="tester") as caught:
        Models({}).chain("tester")
    assert "models:" in caught.value.hint


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


async def test_admission_holds_each_attempt_and_hears_what_is_used(server, protocol):
    server.faults = [Status(503)]
    held: list[str] = []
    charged: list[tuple[float, float]] = []

    class Meter:
        def charge(self, *, input: float = 0, output: float = 0) -> None:
            charged.append((input, output))

    @contextlib.asynccontextmanager
    async def admit(limits: str, tokens: int) -> AsyncGenerator[Meter]:
        assert tokens > 5
        held.append(f"{limits} in")
        try:
            yield Meter()
        finally:
            held.append("out")

    await World(server, protocol).models.call("fast", ASK, admit=admit)
    assert held == ["fast in", "out", "fast in", "out"]
    assert charged[-1] == (100, 10)


async def test_tokens_are_counted_where_the_provider_does_not_say(server):
    server.pieces_for = lambda request: [TextPiece("one two three"), StopPiece("end")]
    usage = (await World(server).models.call("fast", ASK)).usage
    assert usage.estimated
    assert usage.output == count_tokens("one two three") == 3
    assert usage.input > 5


async def test_a_finished_call_can_be_kept_in_a_journal(server):
    server.pieces_for = lambda request: [CallPiece(0, "a", "read_file", "{'path': ['a', 1]}"), StopPiece("calls")]
    reply = await World(server, price_in=1, price_out=1).models.call(
        "fast", Request(messages=(User("x"),), tools=(READ,))
    )
    assert reply.calls[0].problem
    assert msgspec.msgpack.decode(encode_body(reply), type=Reply) == reply


async def test_calls_at_the_same_time_learn_together_what_a_server_does_not_take(server):
    server.faults = [Status(400, "json_schema is not supported")] * 2
    server.pieces_for = lambda request: says('{"name": "Rome", "people": 3}')
    models = World(server).models
    request = Request(messages=(User("which?"),), output_schema=CITY)
    replies = await asyncio.gather(models.call("fast", request), models.call("fast", request))
    assert [reply.value for reply in replies] == [{"name": "Rome", "people": 3}] * 2


async def test_what_the_settings_say_holds_where_the_request_says_nothing(server, protocol):
    world = World(server, protocol, max_tokens=77, temperature=0.25)
    await world.models.call("fast", ASK)
    assert (server.asked[0].body["max_tokens"], server.asked[0].body["temperature"]) == (77, 0.25)
