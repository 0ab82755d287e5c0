"""Calls over real HTTP on loopback, in both protocols: what is asked, and what is answered."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator

import msgspec
import pytest

from sylk_ray.config import Model
from sylk_ray.llm import (
    Assistant,
    Call,
    CallPiece,
    Models,
    NoModel,
    Piece,
    Reply,
    Request,
    StopPiece,
    TextPiece,
    ThoughtPiece,
    Tool,
    ToolResult,
    Usage,
    User,
    count_tokens,
)
from sylk_ray.messaging.wire import encode_body
from tests.models import Status, Whole
from tests.models.server import says
from tests.unit.llm.world import ASK, CITY, READ, World


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


async def test_an_answer_in_one_document_is_an_answer(server):
    server.faults = [Whole()]
    server.pieces_for = lambda request: [
        TextPiece("I look."), CallPiece(0, "a", "read_file", '{"path": "a.py"}'), StopPiece("calls"),
    ]  # fmt: skip
    reply = await World(server).models.call("fast", Request(messages=(User("look"),), tools=(READ,)))
    assert (reply.text, reply.calls[0].arguments, reply.stop) == ("I look.", {"path": "a.py"}, "calls")
    assert reply.usage == Usage(9, 3)


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
    """In which order they are refused and ask again is chance."""
    server.complains_of = lambda body: (
        Status(400, "json_schema is not supported") if "response_format" in body else None
    )
    server.pieces_for = lambda request: says('{"name": "Rome", "people": 3}')
    models = World(server).models
    request = Request(messages=(User("which?"),), output_schema=CITY)
    replies = await asyncio.gather(models.call("fast", request), models.call("fast", request))
    assert [reply.value for reply in replies] == [{"name": "Rome", "people": 3}] * 2


async def test_what_the_settings_say_holds_where_the_request_says_nothing(server, protocol):
    world = World(server, protocol, max_tokens=77, temperature=0.25)
    await world.models.call("fast", ASK)
    assert (server.asked[0].body["max_tokens"], server.asked[0].body["temperature"]) == (77, 0.25)


async def test_a_model_that_always_calls_is_held_to_it_by_a_schema_of_the_calls(server):
    call = '{"name": "read_file", "arguments": {"path": "a.py"}}'
    server.pieces_for = lambda request: says(call)
    world = World(server, always_calls=True)
    look = Request(messages=(User("look"),), tools=(READ,), system="You read.")
    reply = await world.models.call("fast", look)
    assert [(each.name, each.arguments) for each in reply.calls] == [("read_file", {"path": "a.py"})]
    assert (reply.repairs, reply.problem, reply.text, reply.stop) == ((), "", "", "calls")
    result = ToolResult(reply.calls[0].id, "read_file", "x = 1")
    await world.models.call("fast", msgspec.structs.replace(look, messages=(*look.messages, reply.turn, result)))
    asked = server.asked[1].request
    assert asked.tools == ()
    assert asked.system.startswith("You read.\n\nEach of your answers is one call of a tool")
    [schema] = asked.output_schema["anyOf"]
    assert schema["properties"] == {"name": {"const": "read_file"}, "arguments": READ.parameters}
    answer = User('<tool_response name="read_file">\nx = 1\n</tool_response>')
    assert asked.messages == (User("look"), Assistant(call.replace(": ", ":").replace(", ", ",")), answer)


async def test_a_model_that_always_calls_is_told_when_it_did_not(server):
    world = World(server, always_calls=True)
    reply = await world.models.call("fast", Request(messages=(User("look"),), tools=(READ,)))
    assert reply.problem == "a tool must be called now, and none was"


async def test_where_nothing_can_be_called_a_model_that_always_calls_says_what_it_likes(server):
    server.pieces_for = lambda request: says("hello")
    world = World(server, always_calls=True)
    for request in (ASK, Request(messages=(User("look"),), tools=(READ,), tool_choice="none")):
        reply = await world.models.call("fast", request)
        assert (reply.text, reply.problem) == ("hello", "")
    assert [asked.request.output_schema for asked in server.asked] == [None, None]


async def test_of_the_calls_that_there_can_be_one_that_is_asked_for_is_alone(server):
    other = msgspec.structs.replace(READ, name="other")
    world = World(server, always_calls=True)
    await world.models.call("fast", Request(messages=(User("look"),), tools=(READ, other), tool_choice="other"))
    asked = server.asked[0].request
    assert [each["properties"]["name"]["const"] for each in asked.output_schema["anyOf"]] == ["other"]
    assert "read_file" not in asked.system


async def test_a_list_that_a_call_is_about_cannot_be_left_out(server):
    parameters = {
        "type": "object",
        "properties": {
            "summary": {"type": "string"},
            "tasks": {"type": "array", "items": {"type": "object"}},
            "words": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["summary"],
    }
    world = World(server, always_calls=True)
    await world.models.call("fast", Request(messages=(User("plan"),), tools=(Tool("plan", "Plan.", parameters),)))
    [schema] = server.asked[0].request.output_schema["anyOf"]
    assert schema["properties"]["arguments"]["required"] == ["summary", "tasks"]


async def test_a_call_that_the_limit_of_tokens_cut_off_is_to_be_shorter(server):
    server.pieces_for = lambda request: [
        TextPiece('{"name": "read_file", "arguments": {"path": "a'),
        StopPiece("length"),
    ]
    world = World(server, always_calls=True)
    [cut] = (await world.models.call("fast", Request(messages=(User("look"),), tools=(READ,)))).calls
    assert "cut off at the limit of tokens. Write it again, and much shorter" in cut.problem
