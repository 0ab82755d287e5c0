"""What a model has written, as calls with arguments that fit, and as the value that was asked for."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from sylk_ray.llm.assembling import Assembly, RawCall
from sylk_ray.llm.reply import ToolCall
from sylk_ray.llm.request import AUTO, Assistant, Request, Tool
from sylk_ray.llm.tolerant import FoundCall, NotJson, find_calls, fit, read_json
from sylk_ray.llm.tolerant.shapes import tool_named, unknown_tool, with_arguments


class Understood(Struct, frozen=True, kw_only=True):
    """See ``Reply``."""

    text: str
    thoughts: str = ""
    calls: tuple[ToolCall, ...] = ()
    value: Any = None
    problem: str = ""
    repairs: tuple[str, ...] = ()


def understand(request: Request, assembly: Assembly) -> Understood:
    """Read an answer by what was asked for."""
    text, thoughts = _without_thoughts(assembly.text)
    understood = _understand(request, text, assembly)
    return msgspec.structs.replace(understood, thoughts=assembly.thoughts + thoughts)


def _without_thoughts(text: str) -> tuple[str, str]:
    """Some servers leave in the text what the model thought before it answered."""
    opening, _, rest = text.lstrip().partition("<think>")
    if opening:
        return text, ""
    thoughts, closing, answer = rest.partition("</think>")
    return (answer.lstrip(), thoughts.strip()) if closing else ("", thoughts.strip())


def _understand(request: Request, text: str, assembly: Assembly) -> Understood:
    tools = {tool.name: tool for tool in request.offered}
    whole = assembly.stop != "length"
    ids = [call.id for call in assembly.calls]
    answer = None
    if request.output_schema is not None and not assembly.calls:
        answer = _value(text, request.output_schema, whole=whole)
        if not answer.problem:
            return answer
    found: Sequence[FoundCall] = [_named(call, tools, whole=whole) for call in assembly.calls]
    if tools and not found:
        inside = find_calls(text, tuple(tools), whole=whole)
        found, text = inside.calls, inside.text if inside.calls else text
    calls = tuple(
        _fitted(call, id, tools, request.tool_choice)
        for call, id in zip(found, _distinct(ids, len(found), request), strict=True)
    )
    if answer is not None and not calls:
        return answer
    repairs = tuple(repair for call in calls for repair in call.repairs)
    missing = "a tool must be called now, and none was" if tools and not calls and request.tool_choice != AUTO else ""
    return Understood(text=text, calls=calls, problem=missing, repairs=repairs)


def _named(call: RawCall, tools: dict[str, Tool], *, whole: bool) -> FoundCall:
    name = tool_named(call.name, tools)
    if name is None:
        return unknown_tool(call.name, call.arguments, tuple(tools))
    found = with_arguments(name, call.arguments, ("tool name",) if name != call.name else ())
    if not whole and "missing bracket" in found.repairs:
        return FoundCall(name, {}, problem=f"the call of {name} was cut off at the limit of tokens; make it shorter")
    return found


def _fitted(call: FoundCall, id: str, tools: dict[str, Tool], choice: str) -> ToolCall:
    problem = call.problem
    if choice in tools and call.name != choice and not problem:
        problem = f"only {choice} may be called now"
    if problem:
        name = call.name if call.name in tools else re.sub(r"[^A-Za-z0-9_-]", "_", call.name)[:64] or "unknown"
        return ToolCall(id, name, call.arguments, call.repairs, problem)
    fitted = fit(call.arguments, tools[call.name].parameters)
    repairs = (*call.repairs, *fitted.repairs)
    if not fitted.problems:
        return ToolCall(id, call.name, fitted.value, repairs)
    told = "\n".join([f"the arguments of {call.name} are wrong:", *(f"- {each}" for each in fitted.problems)])
    return ToolCall(id, call.name, call.arguments, repairs, told)


def _distinct(ids: list[str], count: int, request: Request) -> list[str]:
    """An id for each call that no other call of the conversation has: the server's, where it gave one."""
    turns = [turn for turn in request.messages if isinstance(turn, Assistant)]
    used = {call.id for turn in turns for call in turn.calls}
    free = (name for number in itertools.count(len(used) + 1) if (name := f"call_{number}") not in used)
    made: list[str] = []
    for given in [*ids, *[""] * (count - len(ids))]:
        made.append(given if given and given not in used else next(free))
        used.add(made[-1])
    return made


def _value(text: str, schema: dict[str, Any], *, whole: bool) -> Understood:
    start = _start_of_json(text)
    try:
        read = read_json(text, start)
    except NotJson as problem:
        return Understood(text=text, problem=f"the answer is no JSON: {problem}")
    if not whole and "missing bracket" in read.repairs:
        return Understood(text=text, problem="the answer was cut off at the limit of tokens; make it shorter")
    around = text[:start].strip() or text[read.end :].strip()
    fitted = fit(read.value, schema)
    repairs = (*read.repairs, *(("text around the value",) if around else ()), *fitted.repairs)
    if fitted.problems:
        told = "\n".join(["the answer does not follow its schema:", *(f"- {each}" for each in fitted.problems)])
        return Understood(text=text, problem=told, repairs=repairs)
    return Understood(text=text, value=fitted.value, repairs=repairs)


def _start_of_json(text: str) -> int:
    """Where the value begins: at once, in a fence, or at the first bracket."""
    bare = len(text) - len(text.lstrip())
    if text[bare : bare + 1] and (text[bare] in '{["-' or text[bare].isdigit()):
        return bare
    fence = text.find("```")
    if fence >= 0:
        return text.find("\n", fence) + 1
    brackets = [at for at in (text.find("{"), text.find("[")) if at >= 0]
    return min(brackets, default=bare)
