"""What servers of chat completions differ in: what they refuse is done without, and remembered."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sylk_ray.config import Model
from sylk_ray.llm import Assistant, Call, ModelRefused, Models, OpenAIChat, Reply, Request, Tool, ToolResult, User
from sylk_ray.llm.openai_chat import is_strict
from tests.models import ModelServer, Status
from tests.models.server import says

RUN = Tool("run", "Run a command.", {"type": "object", "properties": {"command": {"type": "string"}}})
SUM: dict[str, Any] = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}
TALK = (User("a"), Assistant("b", (Call("1", "run", {"command": "ls"}),)), ToolResult("1", "run", "no", failed=True))


async def ask_twice(refusal: str, request: Request, told: str = "hello") -> tuple[list[dict[str, Any]], Reply]:
    """The bodies of a refused call, of the one after it, and of a second call; and the second reply."""
    with ModelServer(answer=lambda request: says(told)) as server:
        server.faults = [Status(400, refusal)]
        models = Models({"m": Model(base_url=server.url, model="m", temperature=0.5)})
        await models.call("m", request)
        reply = await models.call("m", request)
        await models.aclose()
        return [asked.body for asked in server.asked], reply


@pytest.mark.parametrize(
    ("refusal", "left_out"),
    [
        ("Unsupported value: 'temperature' does not support 0.5 with this model.", "temperature"),
        ("unknown field: stream_options", "stream_options"),
        ("'response_format' of type 'json_schema' is not supported", "response_format"),
    ],
)
async def test_what_is_refused_is_left_out_from_then_on(refusal: str, left_out: str):
    request = Request(messages=(User("a"),), output_schema=SUM)
    bodies, reply = await ask_twice(refusal, request, '{"sum": 3}')
    assert [left_out in body for body in bodies] == [True, False, False]
    assert reply.value == {"sum": 3}


async def test_a_schema_that_is_refused_is_said_in_words():
    bodies, _ = await ask_twice("json_schema is not supported", Request(messages=(User("a"),), output_schema=SUM))
    assert json.dumps(SUM, separators=(",", ":")) in bodies[1]["messages"][0]["content"]


async def test_newer_models_are_told_their_limit_by_its_newer_name():
    refusal = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    bodies, _ = await ask_twice(refusal, Request(messages=(User("a"),), max_tokens=9))
    assert [body.get("max_tokens") for body in bodies] == [9, None, None]
    assert [body.get("max_completion_tokens") for body in bodies] == [None, 9, 9]


@pytest.mark.parametrize(
    "refusal",
    [
        "registry.ollama.ai/library/gemma:2b does not support tools",
        "tools param requires --jinja flag",
        '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
    ],
)
async def test_tools_that_are_refused_are_said_in_words_with_all_that_was_called(refusal: str):
    told = '<tool_call>{"name": "run", "arguments": {"command": "pwd"}}</tool_call>'
    bodies, reply = await ask_twice(refusal, Request(messages=TALK, tools=(RUN,), tool_choice="required"), told)
    assert [("tools" in body, "tool_choice" in body) for body in bodies] == [
        (True, True),
        (False, False),
        (False, False),
    ]
    system, first, second, third = bodies[1]["messages"]
    assert '"name":"run"' in system["content"]
    assert "You must call a tool now." in system["content"]
    assert (first["content"], third["role"]) == ("a", "user")
    assert second == {
        "role": "assistant",
        "content": 'b\n<tool_call>\n{"name":"run","arguments":{"command":"ls"}}\n</tool_call>',
    }
    assert third["content"] == '<tool_response name="run" failed="true">\nno\n</tool_response>'
    assert reply.calls[0].arguments == {"command": "pwd"}


async def test_a_schema_beside_tools_is_said_in_words_where_a_server_takes_one_of_them():
    request = Request(messages=(User("a"),), tools=(RUN,), output_schema=SUM)
    bodies, reply = await ask_twice("Cannot use custom grammar constraints with tools.", request, '{"sum": 1}')
    assert [("tools" in body, "response_format" in body) for body in bodies] == [
        (True, True),
        (True, False),
        (True, False),
    ]
    assert reply.value == {"sum": 1}


async def test_a_refusal_of_something_else_is_told():
    with pytest.raises(ModelRefused, match="the moon is full"):
        await ask_twice("the moon is full", Request(messages=(User("a"),), output_schema=SUM))


async def test_a_refusal_that_stays_the_same_is_told_and_nothing_is_learnt_of_it():
    with ModelServer() as server:
        server.faults = [Status(400, "bad json_schema")] * 2
        models = Models({"m": Model(base_url=server.url, model="m")})
        with pytest.raises(ModelRefused, match="bad json_schema"):
            await models.call("m", Request(messages=(User("a"),), output_schema=SUM))
        await models.call("m", Request(messages=(User("a"),), output_schema=SUM))
        assert ["response_format" in asked.body for asked in server.asked] == [True, False, True]


def test_calls_in_a_conversation_keep_their_tools_when_none_may_be_called():
    body = OpenAIChat("m").body(Request(messages=TALK, tools=(RUN,), tool_choice="none"))
    assert (body["tool_choice"], len(body["tools"])) == ("none", 1)
    assert "tools" not in OpenAIChat("m").body(Request(messages=(User("a"),), tools=(RUN,), tool_choice="none"))


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        (SUM, False),
        ({**SUM, "additionalProperties": False}, True),
        ({"type": "array", "items": SUM}, False),
        ({"type": "array", "items": {**SUM, "additionalProperties": False}}, True),
        ({**SUM, "properties": {"sum": {}, "more": {}}, "additionalProperties": False}, False),
        ({"enum": ["a"]}, True),
    ],
)
def test_a_schema_is_strict_when_openai_would_take_it_so(schema: dict[str, Any], strict: bool):
    assert is_strict(schema) is strict
