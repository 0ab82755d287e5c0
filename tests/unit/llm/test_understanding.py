"""What an answer means, by what was asked for."""

from __future__ import annotations

from typing import Any

from sylk_ray.llm import Assistant, Call, CallPiece, Piece, Request, StopPiece, TextPiece, Tool, User
from sylk_ray.llm.assembling import Assembly
from sylk_ray.llm.understanding import Understood, understand

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "line": {"type": "integer"}},
    "required": ["path"],
    "additionalProperties": False,
}
READ, RUN = Tool("read_file", "Read.", SCHEMA), Tool("run", "Run.", {"type": "object", "properties": {}})


def understood(*pieces: Piece, stop: Any = "end", **request: Any) -> Understood:
    assembly = Assembly()
    for piece in (*pieces, StopPiece(stop)):
        assembly.add(piece)
    return understand(Request(**{"messages": (User("?"),), "tools": (READ, RUN), **request}), assembly)


def test_arguments_are_fitted_and_each_repair_is_told():
    [call] = understood(CallPiece(0, "a", "readFile", "{'Path': 'a.py', 'line': '3',}")).calls
    assert (call.id, call.name, call.arguments) == ("a", "read_file", {"path": "a.py", "line": 3})
    assert call.repairs == (
        "tool name", "single quotes", "trailing comma", '"Path" for "path"', "text for an integer",
    )  # fmt: skip
    assert call.problem == ""


def test_what_is_wrong_is_told_to_the_model():
    [call] = understood(CallPiece(0, "a", "read_file", '{"line": "many"}')).calls
    assert call.problem == (
        "the arguments of read_file are wrong:\n"
        '- line: "many" was given, and an integer is wanted\n'
        "- path: it is missing; a string is wanted"
    )
    assert call.arguments == {"line": "many"}


def test_calls_in_the_text_are_calls():
    made = understood(TextPiece('I look.\n```json\n{"name": "read_file", "arguments": {"path": "a"}}\n```'))
    assert (made.text, made.calls[0].id, made.calls[0].arguments) == ("I look.", "call_1", {"path": "a"})
    assert made.repairs == ("call in the text",)


def test_a_text_that_speaks_of_no_tool_is_a_text():
    assert understood(TextPiece("{}")).calls == ()
    nothing_offered = understood(TextPiece('{"name": "run", "arguments": {}}'), tool_choice="none")
    assert (nothing_offered.calls, nothing_offered.text) == ((), '{"name": "run", "arguments": {}}')


def test_thoughts_in_the_text_are_no_part_of_the_answer():
    made = understood(TextPiece("<think>\nIs it run?\n</think>\n\nNo."))
    assert (made.text, made.thoughts) == ("No.", "Is it run?")
    assert understood(TextPiece("<think>so lon"), stop="length").text == ""
    assert understood(TextPiece("I <think> so")).text == "I <think> so"


def test_a_tool_that_there_is_not_has_a_name_that_protocols_take():
    names = [understood(CallPiece(0, "a", name, "{}")).calls[0].name for name in ("rm -rf /", "")]
    assert names == ["rm_-rf__", "unknown"]


def test_each_call_has_an_id_of_its_own():
    same = [CallPiece(number, "x", "run", "{}") for number in range(2)]
    assert [call.id for call in understood(*same).calls] == ["x", "call_1"]
    earlier = (User("?"), Assistant("", (Call("x", "run", {}), Call("call_3", "run", {}))), User("!"))
    assert [call.id for call in understood(*same, messages=earlier).calls] == ["call_4", "call_5"]


def test_a_call_that_had_to_be_made_is_missed():
    assert understood(TextPiece("No."), tool_choice="required").problem == "a tool must be called now, and none was"
    [call] = understood(CallPiece(0, "a", "run", "{}"), tool_choice="read_file").calls
    assert call.problem == "only read_file may be called now"


def test_a_call_that_was_cut_off_at_its_limit_is_not_completed():
    piece = CallPiece(0, "a", "read_file", '{"path": "a.py"')
    assert understood(piece).calls[0].arguments == {"path": "a.py"}
    assert "cut off at the limit" in understood(piece, stop="length").calls[0].problem


def test_the_value_is_found_in_what_is_around_it():
    for text in ('{"path": "a"}', '```json\n{"path": "a"}\n```', 'Here: {"path": "a"} - done'):
        made = understood(TextPiece(text), output_schema=SCHEMA, tools=())
        assert (made.value, made.problem) == ({"path": "a"}, "")
    assert made.repairs == ("text around the value",)
    assert understood(TextPiece(" 42"), output_schema={"type": "integer"}, tools=()).value == 42
    assert understood(TextPiece('"x"'), output_schema={"enum": ["x"]}, tools=()).value == "x"


def test_a_value_that_does_not_follow_its_schema_is_told():
    made = understood(TextPiece('{"line": 1}'), output_schema=SCHEMA, tools=())
    assert made.value is None
    assert made.problem == "the answer does not follow its schema:\n- path: it is missing; a string is wanted"
    assert "no JSON" in understood(TextPiece("Paris."), output_schema=SCHEMA, tools=()).problem
    cut = understood(TextPiece('{"path": "a"'), stop="length", output_schema=SCHEMA, tools=())
    assert "limit of tokens" in cut.problem


def test_with_a_schema_an_answer_is_not_taken_for_a_call():
    schema = {"type": "object", "properties": {"name": {"type": "string"}, "arguments": {"type": "object"}}}
    made = understood(TextPiece('{"name": "run", "arguments": {}}'), output_schema=schema)
    assert (made.calls, made.value) == ((), {"name": "run", "arguments": {}})
    call = understood(TextPiece('{"name": "run", "arguments": {}}'), output_schema=SCHEMA)
    assert (call.calls[0].name, call.problem) == ("run", "")
