"""What a server does not take of a request, told from its refusal, so that it is not asked for again."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Literal

from sylk_ray.llm.request import AUTO, Request

Concession = Literal["schema_with_tools", "schema", "tools", "tool_choice", "max_tokens", "temperature", "usage"]

_SIGNS: tuple[tuple[Concession, re.Pattern[str]], ...] = (
    ("schema_with_tools", re.compile(r"grammar.{0,40}with tools|tools.{0,60}(?:response_format|json)", re.I | re.S)),
    (
        "tools",
        re.compile(
            r"not support tools?|tools?\b.{0,40}(?:requires? --jinja|not supported|unsupported)"
            r"|tool choice requires|unsupported.{0,30}\btools\b|tool use.{0,30}not",
            re.I | re.S,
        ),
    ),
    ("tool_choice", re.compile(r"tool_choice", re.I)),
    ("max_tokens", re.compile(r"max_completion_tokens", re.I)),
    ("temperature", re.compile(r"temperature", re.I)),
    ("usage", re.compile(r"stream_options|include_usage", re.I)),
    ("schema", re.compile(r"response_format|json_schema|guided|grammar|structured output|schema", re.I)),
)


def concession_for(refusal: str, request: Request, made: Collection[Concession]) -> Concession | None:
    """What to leave out after a refusal in these words; None when that is not what it is about, or was left out."""
    for concession, sign in _SIGNS:
        if concession not in made and _is_asked_for(concession, request) and sign.search(refusal):
            return concession
    return None


def _is_asked_for(concession: Concession, request: Request) -> bool:
    if concession == "schema_with_tools":
        return request.output_schema is not None and bool(request.offered)
    if concession == "schema":
        return request.output_schema is not None
    if concession == "tools":
        return bool(request.tools)
    if concession == "tool_choice":
        return bool(request.tools) and request.tool_choice != AUTO
    if concession == "max_tokens":
        return request.max_tokens is not None
    if concession == "temperature":
        return request.temperature is not None
    return True
