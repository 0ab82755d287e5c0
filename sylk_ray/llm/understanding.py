"""What a model has written, as calls with arguments that fit, and as the value that was asked for."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from sylk_ray.llm.assembling import Assembly
from sylk_ray.llm.reply import ToolCall
from sylk_ray.llm.request import Request


class Understood(Struct, frozen=True, kw_only=True):
    """See ``Reply``."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    value: Any = None
    problem: str = ""
    repairs: tuple[str, ...] = ()


def understand(request: Request, assembly: Assembly) -> Understood:
    """Read an answer by what was asked for."""
    calls = tuple(
        ToolCall(call.id or f"call_{number}", call.name, msgspec.json.decode(call.arguments or "{}"))
        for number, call in enumerate(assembly.calls)
    )
    value = msgspec.json.decode(assembly.text) if request.output_schema is not None and not calls else None
    return Understood(text=assembly.text, calls=calls, value=value)
