"""Calls of tools that a model has written into its text."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator

from msgspec import Struct

from sylk_ray.llm.tolerant.json_text import NotJson, read_json
from sylk_ray.llm.tolerant.shapes import (
    MOST_CALLS,
    FoundCall,
    calls_in_python,
    calls_of,
    no_such_tool,
    objects_at,
    tool_named,
    with_arguments,
)

_MARKED = re.compile(
    r"<(?P<tag>tool_call|tool_calls|function_call|toolcall|tool_use)>(?P<tagged>.*?)(?:</(?P=tag)>|\Z)"
    r"|<tools>(?P<listed>.*?)(?:</tools>|\Z)"
    r"|(?P<function><function=[^>\s]+>.*?(?:</function>|\Z))"
    r"|(?:\[TOOL_CALLS\]|<\|python_tag\|>)(?P<rest>.*?)(?=\[TOOL_CALLS\]|<\||\Z)"
    r"|^[ \t]*```[ \t]*(?P<info>[\w+-]*)[^\n]*\n(?P<fenced>.*?)(?:^[ \t]*```[ \t]*$|\Z)",
    re.DOTALL | re.MULTILINE,
)
_FUNCTION = re.compile(r"<function=(?P<name>[^>\s]+)>(?P<body>.*?)(?:</function>|\Z)", re.DOTALL)
_PARAMETER = re.compile(
    r"<parameter=(?P<name>[^>\s]+)>\n?(?P<value>.*?)\n?(?P<end></parameter>|(?=<parameter=)|\Z)", re.DOTALL
)
_MISTRAL = re.compile(r"\s*(?P<name>[\w.-]+)\s*(?:\[ARGS\])?\s*(?=\{)")
_NAME = re.compile(r"""["']?(?:name|tool|function|tool_name)["']?\s*[:=]\s*["']([\w.:-]+)["']""")
FAR = 500
"""Within so many characters of its beginning a call says its tool."""
_TOOL_FENCES = frozenset({"tool_call", "tool_calls", "tool_code", "tool", "function_call", "tool_use"})
_DATA_FENCES = frozenset({"", "json", "json5", "jsonc", "javascript", "python", "xml", "text"})
IN_THE_TEXT = "call in the text"
"""The repair of a call that was written where none was expected."""
CUT = "the call is not complete: {}. Write the whole call again"


class FoundCalls(Struct, frozen=True):
    """The calls of a text, and the text without them."""

    calls: tuple[FoundCall, ...]
    text: str


def find_calls(text: str, tools: Collection[str], *, whole: bool = True) -> FoundCalls:
    """Look in tags, in fences and in the bare text. ``whole`` is False for a text that ended at its limit of tokens:
    what looks as if only its brackets were missing may then miss more."""
    calls: list[FoundCall] = []
    rest: list[str] = []
    end = 0
    for found in itertools.islice(_MARKED.finditer(text), MOST_CALLS):
        block = _in_block(found, tools)
        if block:
            calls += block
            rest.append(text[end : found.start()])
            end = found.end()
    rest.append(text[end:])
    if not calls:
        return _in_bare(text, tools, whole=whole)
    if not whole and end == len(text) and "missing bracket" in calls[-1].repairs:
        calls[-1] = FoundCall(calls[-1].name, {}, problem=CUT.format("it was cut off at the limit of tokens"))
    return FoundCalls(tuple(calls), "".join(rest).strip())


def _in_block(found: re.Match[str], tools: Collection[str]) -> list[FoundCall] | None:
    if found["fenced"] is not None:
        info = found["info"].lower()
        if info in _TOOL_FENCES:
            return _in_marked(found["fenced"], tools)
        return _in_data(found["fenced"], tools) if info in _DATA_FENCES else None
    if found["listed"] is not None:  # the tools are told in this tag, and small models use it for calls
        return _in_data(found["listed"], tools)
    return _in_marked(found["tagged"] or found["function"] or found["rest"] or "", tools)


def _in_marked(body: str, tools: Collection[str]) -> list[FoundCall]:
    """What the model has said is a call. What cannot be read is a call with a problem."""
    body = re.sub(r"\A\s*```\w*\n|```\s*\Z", "", body).strip()
    if functions := list(_functions(body, tools)):
        return functions
    if call := calls_in_python(body, tools):
        return call
    if (named := _MISTRAL.match(body)) and not body.startswith(("{", "[")):
        body = f'{{"name": "{named["name"]}", "arguments": {body[named.end() :]}}}'
    calls: list[FoundCall] = []
    at = 0
    while at < len(body):
        try:
            read = read_json(body, at)
        except NotJson as problem:
            return [*calls, FoundCall(_name_in(body, tools), {}, problem=f"the call cannot be read: {problem}")]
        more = calls_of(read.value, tools, marked=True)
        if more is None:
            wanted = 'a call is an object such as {"name": "NAME", "arguments": {}}'
            return [*calls, FoundCall(_name_in(body, tools), {}, problem=f"this is no call: {wanted}")]
        calls += [_with_repairs(call, read.repairs) for call in more]
        at = read.end + len(body[read.end :]) - len(body[read.end :].lstrip(" \n\t,;"))
    return calls


def _in_data(body: str, tools: Collection[str]) -> list[FoundCall] | None:
    """What may be a call or anything else: a call if it has its form, and its tool is there."""
    if functions := list(_functions(body, tools)):
        return functions
    if call := calls_in_python(body, tools):
        return call
    calls: list[FoundCall] = []
    at = 0
    while body[at:].strip():
        try:
            read = read_json(body, at)
        except NotJson as problem:
            return _almost(body[at:], problem, tools) if not calls else None
        more = calls_of(read.value, tools, marked=False)
        if more is None:
            return None
        calls += [_with_repairs(call, (*read.repairs, IN_THE_TEXT)) for call in more]
        at = read.end
    return calls or None


def _in_bare(text: str, tools: Collection[str], *, whole: bool) -> FoundCalls:
    if call := calls_in_python(text, tools):
        return FoundCalls(tuple(call), "")
    calls: list[FoundCall] = []
    rest: list[str] = []
    end = 0
    for start in objects_at(text):
        if start < end:
            continue
        try:
            read = read_json(text, start)
        except NotJson as problem:
            if almost := _almost(text[start:], problem, tools, whole=whole):
                return FoundCalls((*calls, *almost), "".join([*rest, text[end:start]]).strip())
            continue
        more = calls_of(read.value, tools, marked=False)
        if more is None:
            continue
        if not whole and "missing bracket" in read.repairs:
            more = [FoundCall(more[-1].name, {}, problem=CUT.format("it was cut off at the limit of tokens"))]
        calls += [_with_repairs(call, (*read.repairs, IN_THE_TEXT)) for call in more]
        rest.append(text[end:start])
        end = read.end
    rest.append(text[end:])
    return FoundCalls(tuple(calls), "".join(rest).strip())


def _almost(body: str, problem: NotJson, tools: Collection[str], *, whole: bool = True) -> list[FoundCall] | None:
    """A call to a tool that there is, which cannot be read."""
    name = _name_in(body, tools)
    if not name:
        return None
    told = CUT.format(problem) if problem.cut else f"the call of {name} cannot be read: {problem}"
    if not whole:
        told = "the call is not complete: it was cut off at the limit of tokens. Write it again, and much shorter"
    return [FoundCall(name, {}, problem=told)]


def _name_in(body: str, tools: Collection[str]) -> str:
    """The tool that a text which cannot be read speaks of, where a call would have its name."""
    found = _NAME.search(body, 0, FAR)
    return (tool_named(found[1], tools) or "") if found else ""


def _functions(body: str, tools: Collection[str]) -> Iterator[FoundCall]:
    """``<function=NAME><parameter=PATH>a.py</parameter></function>``, as Qwen3-Coder writes it."""
    for found in _FUNCTION.finditer(body):
        name = tool_named(found["name"], tools)
        if name is None:
            yield FoundCall(found["name"], {}, problem=no_such_tool(found["name"], tools))
            continue
        inner = found["body"].strip()
        if inner.startswith("{"):
            yield with_arguments(name, inner)
            continue
        parameters = list(_PARAMETER.finditer(inner))
        if parameters and not parameters[-1]["end"] and not found[0].endswith("</function>"):
            yield FoundCall(name, {}, problem=CUT.format("its last parameter has no end"))
            continue
        yield FoundCall(name, {each["name"]: each["value"] for each in parameters}, ("arguments in tags",))


def _with_repairs(call: FoundCall, more: tuple[str, ...]) -> FoundCall:
    return FoundCall(call.name, call.arguments, (*call.repairs, *more), call.problem)
