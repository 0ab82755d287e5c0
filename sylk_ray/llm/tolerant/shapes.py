"""A value as a call: under whichever names a model puts the tool and its arguments."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Collection, Iterator
from difflib import get_close_matches
from typing import Any, cast

from msgspec import Struct

from sylk_ray.llm.tolerant.json_text import NotJson, read_json

_NAMES = ("name", "tool_name", "function_name", "recipient_name", "tool", "function", "action")
_ARGUMENTS = ("arguments", "parameters", "args", "kwargs", "params", "input", "tool_input", "action_input")
_LISTS = ("tool_calls", "tool_uses", "calls")
CLOSE = 0.8
MOST_CALLS = 64
"""Of one answer; in what comes after them nothing is looked for."""
LONGEST_PYTHON = 20_000
_PYTHON_CALL = re.compile(r"\s*[\[(]?\s*[A-Za-z_][\w.]*\s*\(")


class FoundCall(Struct, frozen=True):
    """A call as far as it can be read; with a ``problem``, for the model, when its arguments cannot be."""

    name: str
    arguments: dict[str, Any]
    repairs: tuple[str, ...] = ()
    problem: str = ""


def calls_of(value: Any, tools: Collection[str], *, marked: bool) -> list[FoundCall] | None:
    """The calls that a value stands for, or None when it is something else.

    ``marked``: the model has said that this is a call, and so a tool that there is not is a call too. An object of a
    name and arguments, and nothing else, says so itself.
    """
    if isinstance(value, list):
        each = [calls_of(one, tools, marked=marked) for one in cast("list[Any]", value)]
        found = [call for calls in each if calls for call in calls]
        return found if found and all(calls is not None for calls in each) else None
    if not isinstance(value, dict):
        return None
    fields = cast("dict[str, Any]", value)
    for name in _LISTS:
        if isinstance(fields.get(name), list):
            return calls_of(fields[name], tools, marked=marked)
    if isinstance(fields.get("function"), dict):
        return calls_of(fields["function"], tools, marked=marked)
    call = _by_name(fields, tools, marked=marked) or _by_key(fields, tools)
    return None if call is None else [call]


def tool_named(name: str, tools: Collection[str]) -> str | None:
    """The tool that a name can only mean: as it is, but for case, separators and a prefix such as ``functions.``."""
    if name in tools:
        return name
    for given in (name, re.split(r"[.:/]", re.sub(r":\d+$", "", name))[-1]):
        same = [tool for tool in tools if _plain(tool) == _plain(given)]
        if len(same) == 1:
            return same[0]
    return None


def no_such_tool(name: str, tools: Collection[str]) -> str:
    """What to tell a model that called one."""
    near = get_close_matches(name, tools, n=1, cutoff=0.6)
    meant = f' Did you mean "{near[0]}"?' if near else ""
    return f'there is no tool "{name}".{meant} The tools are: {", ".join(tools) or "none"}'


def calls_in_python(text: str, tools: Collection[str]) -> list[FoundCall] | None:
    """``read_file(path="a.py")``, or a list of such; None when it is something else."""
    if len(text) > LONGEST_PYTHON or not _PYTHON_CALL.match(text):
        return None
    try:
        body = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    nodes = body.elts if isinstance(body, (ast.List, ast.Tuple)) else [body]
    found = [_python_call(node, tools) for node in nodes]
    return [call for call in found if call] if found and all(found) else None


def _by_name(fields: dict[str, Any], tools: Collection[str], *, marked: bool) -> FoundCall | None:
    key = next((key for key in _NAMES if isinstance(fields.get(key), str)), None)
    if key is None:
        return None
    given: str = fields[key]
    name = tool_named(given, tools)
    holder = next((each for each in _ARGUMENTS if each in fields), None)
    marked = marked or (fields.keys() == {"name", "arguments"} and isinstance(fields["arguments"], dict))
    if name is None:
        close = bool(get_close_matches(given, tools, n=1, cutoff=CLOSE))
        if not marked and not (close and holder):
            return None
        return unknown_tool(given, fields.get(holder) if holder else None, tools)
    repairs = ("tool name",) if name != given else ()
    if holder is None:
        if not marked:
            return None
        rest = {each: value for each, value in fields.items() if each not in (key, "id", "type")}
        return FoundCall(name, rest, (*repairs, "arguments beside the name") if rest else repairs)
    if (key, holder) != ("name", "arguments"):
        repairs = (*repairs, "form of the call")
    return with_arguments(name, fields[holder], repairs)


def _by_key(fields: dict[str, Any], tools: Collection[str]) -> FoundCall | None:
    """``{"read_file": {"path": "a.py"}}``."""
    if len(fields) != 1:
        return None
    [(given, arguments)] = fields.items()
    if given in tools and isinstance(arguments, dict):
        return FoundCall(given, cast("dict[str, Any]", arguments), ("form of the call",))
    return None


def with_arguments(name: str, given: object, repairs: tuple[str, ...] = ()) -> FoundCall:
    """The call with what stands for its arguments: an object, or one as text, which is how protocols carry it."""
    if given is None or given == "":
        return FoundCall(name, {}, repairs)
    if isinstance(given, str):
        try:
            read = read_json(given)
            if given[read.end :].strip():
                raise NotJson(given, read.end, f"there is {given[read.end :][:30]!r}", "nothing more")
        except NotJson as problem:
            return FoundCall(name, {}, repairs, f"the arguments of {name} are no JSON object: {problem}")
        given, repairs = read.value, (*repairs, *read.repairs)
    if not isinstance(given, dict):
        kind = type(given).__name__
        return FoundCall(name, {}, repairs, f"the arguments of {name} must be one JSON object, and are a {kind}")
    return FoundCall(name, cast("dict[str, Any]", given), repairs)


def unknown_tool(name: str, given: object, tools: Collection[str]) -> FoundCall:
    """A call of a tool that there is not, with its arguments as far as they can be read: it may be known elsewhere."""
    return FoundCall(name, with_arguments(name, given).arguments, problem=no_such_tool(name, tools))


def _python_call(node: ast.expr, tools: Collection[str]) -> FoundCall | None:
    if not isinstance(node, ast.Call) or not isinstance(node.func, (ast.Name, ast.Attribute)):
        return None
    name = tool_named(node.func.id if isinstance(node.func, ast.Name) else node.func.attr, tools)
    if name is None:
        return None
    if node.args or any(keyword.arg is None for keyword in node.keywords):
        return FoundCall(name, {}, problem=f"give each argument of {name} by its name")
    try:
        arguments = {keyword.arg or "": ast.literal_eval(keyword.value) for keyword in node.keywords}
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return FoundCall(name, {}, problem=f"the arguments of {name} must be plain values")
    return FoundCall(name, arguments, ("Python call",))


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.casefold())


def objects_at(text: str) -> Iterator[int]:
    """Where objects or lists begin at the start of a line."""
    found = re.finditer(r"^[ \t]*(?=[{\[])", text, re.MULTILINE)
    yield from (each.end() for each in itertools.islice(found, MOST_CALLS))
