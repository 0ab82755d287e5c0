"""Calls are found wherever models write them, and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sylk_ray.llm.tolerant import find_calls

TOOLS = ("read_file", "run", "search")
READ = '{"name": "read_file", "arguments": {"path": "a.py"}}'
A_PY: dict[str, Any] = {"path": "a.py"}


@pytest.mark.parametrize(
    "text",
    [
        f"<tool_call>\n{READ}\n</tool_call>",
        f"<tool_call>{READ}",
        f"<tool_call>\n```json\n{READ}\n```\n</tool_call>",
        f"<function_call>{READ}</function_call>",
        f"```json\n{READ}\n```",
        f"```\n{READ}\n```",
        f"```tool_call\n{READ}\n```",
        f"<tools>\n{READ}\n</tools>",
        f"```json\n{READ}",
        f"[TOOL_CALLS][{READ}]",
        "[TOOL_CALLS]read_file[ARGS]{'path': 'a.py'}",
        f"<|python_tag|>{READ}",
        READ,
        '{"name": "read_file", "parameters": {"path": "a.py"}}',
        '{"tool": "read_file", "args": {"path": "a.py"}}',
        '{"function": {"name": "read_file", "arguments": "{\\"path\\": \\"a.py\\"}"}}',
        '{"tool_calls": [{"id": "x", "type": "function", "function": ' + READ + "}]}",
        '{"name": "functions.read_file", "arguments": {"path": "a.py"}}',
        '{"name": "readFile", "arguments": {"path": "a.py"}}',
        "{'name': 'read_file', 'arguments': {'path': 'a.py',}}",
        '{"name": "read_file", "arguments": {"path": "a.py"}',
        '```json\n{"read_file": {"path": "a.py"}}\n```',
        '<tool_call>{"name": "read_file", "path": "a.py"}</tool_call>',
        "<function=read_file><parameter=path>\na.py\n</parameter></function>",
        "<tool_call>\n<function=read_file>\n<parameter=path>a.py</parameter>\n</function>\n</tool_call>",
        '<function=read_file>{"path": "a.py"}</function>',
        'read_file(path="a.py")',
        '```tool_code\nread_file(path="a.py")\n```',
        "[read_file(path='a.py')]",
    ],
)
def test_a_call_is_found_in_every_form(text: str):
    found = find_calls(text, TOOLS)
    assert [(call.name, call.arguments, call.problem) for call in found.calls] == [("read_file", A_PY, "")]
    assert found.text == ""
    around = find_calls(f"I look first.\n{text}", TOOLS)
    if not text.startswith(("read_file(", "[read_file(")):  # as a part of prose that may be about the call
        assert [(call.name, call.arguments) for call in around.calls] == [("read_file", A_PY)]
        assert around.text == "I look first."


@pytest.mark.parametrize(
    "text",
    [
        "I would call read_file now.",
        '```json\n{"name": "my-package", "version": "1.0"}\n```',
        '{"name": "read_file"}',
        '```python\nprint("read_file")\n```',
        '{"path": "a.py"}',
        '```json\n[{"name": "run", "arguments": {"command": "ls"}}, 7]\n```',
        "Use `{name: read_file}`.",
        "[1, 2, 3]",
        '<tools>\n{"name": "other", "description": "x", "version": 1}\n</tools>',
        "",
    ],
)
def test_what_is_no_call_stays_text(text: str):
    found = find_calls(text, TOOLS)
    assert (found.calls, found.text) == ((), text.strip())


def test_several_calls_keep_their_order():
    text = f"First.\n<tool_call>{READ}</tool_call>\nThen.\n<tool_call>{READ.replace('a.py', 'b.py')}</tool_call>"
    found = find_calls(text, TOOLS)
    assert [call.arguments["path"] for call in found.calls] == ["a.py", "b.py"]
    assert found.text == "First.\n\nThen."
    lines = find_calls(f"<tool_call>{READ}\n{READ}</tool_call>", TOOLS)
    assert len(lines.calls) == 2


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('<tool_call>{"name": "read_fil", "arguments": {}}</tool_call>', 'Did you mean "read_file"?'),
        ('```json\n{"name": "setup.py", "arguments": {"path": "x"}}\n```', 'there is no tool "setup.py"'),
        ('<tool_call>{"name": "read_file", "arguments": {"path": "a.p', "line 1, column 45"),
        ('{"name": "read_file", "arguments": {"path": "a.p', "the call is not complete: line 1, column 45"),
        ('{"name": "run", "arguments": {"command": "echo "hi""}}', "the call of run cannot be read: line 1"),
        ('{"name": "run", "arguments": ["ls"]}', "the arguments of run must be one JSON object, and are a list"),
        ("<tool_call>just do it</tool_call>", 'a call is an object such as {"name"'),
        ('<tool_call>"run"</tool_call>', "this is no call"),
        ("<function=run><parameter=command>rm -", "its last parameter has no end"),
        ('run("ls")', "give each argument of run by its name"),
    ],
)
def test_a_call_that_cannot_be_read_tells_the_model_why(text: str, told: str):
    [call] = find_calls(text, TOOLS).calls
    if told.startswith("a call is"):
        assert "cannot be read: line 1, column 1" in call.problem
    else:
        assert told in call.problem
    # What a tool that is not offered was to do is kept: it may be one that can be loaded, or that is withheld.
    assert call.arguments == ({"path": "x"} if "setup.py" in text else {})


@pytest.mark.parametrize("text", [READ[:-1], f"<tool_call>{READ[:-1]}", f"```json\n{READ[:-2]}"])
def test_brackets_are_not_added_to_what_was_cut_off_at_the_limit(text: str):
    assert find_calls(text, TOOLS).calls[0].arguments == A_PY
    [call] = find_calls(text, TOOLS, whole=False).calls
    assert "limit of tokens" in call.problem
    assert call.arguments == {}


@pytest.mark.parametrize(
    "part", ["{\n", "[\n", '{"name": "run", "arguments": {\n', "<tool_call>{", "```json\n{\n", "run("]
)
def test_much_of_what_looks_like_a_call_is_looked_through_in_the_time_of_its_length(part: str):
    many = find_calls(part * (200_000 // len(part)), TOOLS)
    assert all(call.problem for call in many.calls)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(max_size=200))
def test_any_text_is_looked_through(text: str):
    found = find_calls(text, TOOLS)
    assert found.calls or found.text == text.strip()


MARKS = ["<tool_call>", "</tool_call>", "```json\n", "\n```", "[TOOL_CALLS]", "<function=run>", "</function>"]


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from([*MARKS, READ, "{", "}", "x ", "run(a=1)"]), max_size=12))
def test_marks_in_any_order_are_looked_through(parts: list[str]):
    for call in find_calls("".join(parts), TOOLS).calls:
        assert call.problem or call.name in TOOLS
