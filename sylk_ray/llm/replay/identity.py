"""When two requests are the same: whatever the model, the day, the folder and the ids.

What is compared survives every protocol: what one of them cannot say (that a tool failed, an empty text) is left out.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import msgspec

from sylk_ray.llm.keys import hide_keys
from sylk_ray.llm.request import ANY_TOOL, AUTO, Assistant, Request, ToolResult, Turn

_VOLATILE = (
    (r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?", "<time>"),
    (r"\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b", "<time>"),
    (r"\b\d+(?:\.\d+)? ?(?:s|ms|us|µs|sec|seconds)\b", "<duration>"),
    (r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "<id>"),
    (r"\b[sj]-[0-9a-f]{4,12}\b", "<id>"),
    (r"\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}\b", "<id>"),
    (r"[^\s\"'`(=]*/worktrees/[A-Za-z0-9_-]+", "<worktree>"),
    (r"[^\s\"'(]*/(?:site|dist)-packages/", "<packages>/"),
    (r"[^\s\"'(]*/lib/python3(?:\.\d+)?/", "<python>/"),
    (r"(?<![\w.])/(?:var/)?tmp(?:/[^\s\"'`/:,;)\]]+)*/", "<tmp>/"),
    (r"\b0x[0-9a-f]{6,16}\b", "<address>"),
    (r"\b(127\.0\.0\.1|localhost):\d{4,5}\b", r"\1:<port>"),
)
_PATTERNS = tuple((re.compile(pattern), instead) for pattern, instead in _VOLATILE)
EXCERPT = 60
"""Characters that are shown of where two requests differ."""
TOLD = 3
"""Differences that are told."""


def key_of(request: Request) -> str:
    """Names a request: 16 hexadecimal digits of the SHA-256 of its canonical form."""
    return hashlib.sha256(msgspec.json.encode(canonical(request), order="sorted")).hexdigest()[:16]


def canonical(request: Request) -> dict[str, Any]:
    """What makes a request this one, as plain data."""
    ids: dict[str, str] = {}
    made: dict[str, Any] = {
        "system": _steady(request.system),
        "messages": [_turn(turn, ids) for turn in request.messages if turn != Assistant()],
    }
    if request.offered:
        made["tools"] = {tool.name: [tool.description, tool.parameters] for tool in request.offered}
        free = (AUTO, ANY_TOOL) if request.output_schema is not None else (AUTO,)
        if request.tool_choice not in free:
            made["tool_choice"] = request.tool_choice
    if request.output_schema is not None:
        made["output_schema"] = request.output_schema
    if request.stop:
        made["stop"] = list(request.stop)
    return made


def differences(here: Mapping[str, Any], there: Mapping[str, Any]) -> list[str]:
    """Where two canonical requests differ, in words."""
    ours, theirs = _flat(here), _flat(there)
    places = [place for place in {**ours, **theirs} if ours.get(place) != theirs.get(place)]
    told = [_difference(place, ours.get(place), theirs.get(place)) for place in places[:TOLD]]
    return [*told, f"and {len(places) - TOLD} more"] if len(places) > TOLD else told


def likeness(here: Mapping[str, Any], there: Mapping[str, Any]) -> float:
    """The part of all their places that are the same, from 0 to 1."""
    ours, theirs = _flat(here), _flat(there)
    same = sum(1 for place, value in ours.items() if theirs.get(place) == value)
    return same / max(1, len(ours.keys() | theirs.keys()))


def _turn(turn: Turn, ids: dict[str, str]) -> dict[str, Any]:
    if isinstance(turn, ToolResult):
        return {"result_of": ids.get(turn.call_id, "a call that is not there"), "text": _steady(turn.text)}
    if not isinstance(turn, Assistant):
        return {"user": _steady(turn.text)}
    calls = [
        {
            "id": ids.setdefault(call.id, f"call {len(ids) + 1}"),
            "name": call.name,
            "arguments": _steady_within(call.arguments),
        }
        for call in turn.calls
    ]
    return {"assistant": _steady(turn.text), "calls": calls}


def _steady(text: str) -> str:
    text = hide_keys(text).strip()
    home = str(Path.home())
    if home != "/":
        text = text.replace(f"{home}/", "~/")
    for pattern, instead in _PATTERNS:
        text = pattern.sub(instead, text)
    return text or "(nothing)"


def _steady_within(value: Any) -> Any:
    if isinstance(value, str):
        return _steady(value)
    if isinstance(value, dict):
        return {name: _steady_within(each) for name, each in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_steady_within(each) for each in cast("list[Any]", value)]
    return value


def _flat(value: Any, place: str = "") -> dict[str, Any]:
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, Any]", value)
        inner = [(f"{place}.{name}" if place else name, each) for name, each in fields.items()]
    elif isinstance(value, list):
        inner = [(f"{place}[{number}]", each) for number, each in enumerate(cast("list[Any]", value))]
    else:
        return {place: value}
    found: dict[str, Any] = {}
    for name, each in inner:
        found |= _flat(each, name)
    return found


def _difference(place: str, here: Any, there: Any) -> str:
    if there is None:
        return f"{place} is {_shown(here)} and was not recorded"
    if here is None:
        return f"{place} was {_shown(there)} when it was recorded, and is not there now"
    ours, theirs = str(here), str(there)
    at = next((n for n, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), min(len(ours), len(theirs)))
    start = max(0, at - EXCERPT // 3)
    return (
        f"{place} is {_shown(ours[start:])} and was {_shown(theirs[start:])} when it was recorded, from character {at}"
    )


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= EXCERPT else f"{text[:EXCERPT]}..."
