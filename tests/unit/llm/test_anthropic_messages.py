"""What is particular to Anthropic's messages."""

from __future__ import annotations

from typing import Any

from sylk_ray.llm import AnthropicMessages, Assistant, Call, Request, Tool, ToolResult, User
from sylk_ray.llm.anthropic_messages import ANSWER

RUN = Tool("run", "Run a command.", {"type": "object", "properties": {"command": {"type": "string"}}})
SUM: dict[str, Any] = {"type": "object", "properties": {"sum": {"type": "integer"}}}
KEPT = {"type": "ephemeral"}


def body(*messages: User | Assistant | ToolResult, **more: Any) -> dict[str, Any]:
    return AnthropicMessages("m").body(Request(messages=messages, **more))


def test_sides_alternate_and_results_come_before_what_is_said_with_them():
    made = body(
        User("a"),
        User("b"),
        Assistant(""),
        Assistant("c  ", (Call("1", "run", {}), Call("x:2", "run", {}))),
        ToolResult("1", "run", ""),
        ToolResult("x:2", "run", "no", failed=True),
        User(" "),
        tools=(RUN,),
    )["messages"]
    assert [message["role"] for message in made] == ["user", "assistant", "user"]
    assert [block["text"] for block in made[0]["content"]] == ["a", "b"]
    assert made[1]["content"][0] == {"type": "text", "text": "c"}
    assert [block.get("tool_use_id") for block in made[2]["content"]] == ["1", "x_2", None]
    assert [block.get("is_error") for block in made[2]["content"]] == [None, True, None]
    assert made[2]["content"][0]["content"] == made[2]["content"][2]["text"] == "(nothing)"


def test_what_comes_again_in_the_next_turn_is_kept_at_the_provider():
    made = body(User("a"), Assistant("b"), User("c"), system="s", tools=(RUN,))
    assert made["system"] == [{"type": "text", "text": "s", "cache_control": KEPT}]
    marked = [block for message in made["messages"] for block in message["content"] if "cache_control" in block]
    assert marked == [{"type": "text", "text": "c", "cache_control": KEPT}]
    assert "cache_control" not in str(body(User("a"), system="s"))


def test_data_is_asked_for_as_the_arguments_of_a_tool():
    alone = body(User("a"), output_schema=SUM)
    assert alone["tool_choice"] == {"type": "tool", "name": ANSWER}
    assert alone["tools"][0]["input_schema"] == SUM
    beside = body(User("a"), output_schema=SUM, tools=(RUN,))
    assert beside["tool_choice"] == {"type": "any"}
    assert [tool["name"] for tool in beside["tools"]] == ["run", ANSWER]
    told_not_to = body(User("a"), output_schema=SUM, tools=(RUN,), tool_choice="none")
    assert told_not_to["tool_choice"] == {"type": "tool", "name": ANSWER}
