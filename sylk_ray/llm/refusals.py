"""What a provider's refusal means: its status and body as one of our errors."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, cast

import msgspec

from sylk_ray.llm.errors import (
    ContextTooLong,
    KeyRefused,
    ModelBusy,
    ModelError,
    ModelRefused,
    ModelUnavailable,
    UnknownRequest,
)

SHOWN = 500
"""Characters of a provider's words that are told."""
_PASSES = frozenset({408, 409, 425})
_TOO_LONG = re.compile(
    r"context.?(?:length|size|window)|maximum context|prompt is too long|exceeds? the .{0,40}context"
    r"|input is too long|too many (?:input )?tokens",
    re.IGNORECASE,
)
_NO_MORE_MONEY = re.compile(r"insufficient_quota|credit balance|billing", re.IGNORECASE)
_STATUS_OF_TYPE = {
    "overloaded_error": 529,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "authentication_error": 401,
    "permission_error": 403,
    "invalid_request_error": 400,
    "not_found_error": 404,
    "request_too_large": 413,
    "exceed_context_size_error": 400,
    "server_error": 500,
    "api_error": 500,
}


def refusal(where: str, status: int, body: bytes, headers: Mapping[str, str], now: float | None = None) -> ModelError:
    """The error for an HTTP answer that is none. ``now`` is Unix time."""
    told = words_of(body) or "no reason given"
    error = _error(f"{where} answered {status}: {told}", told, status)
    error.after_s = pause_of(headers, time.time() if now is None else now)
    return error


def refusal_in_stream(where: str, error: Any) -> ModelError:
    """The error for one that comes after the answer has begun."""
    fields = cast("dict[str, Any]", error) if isinstance(error, dict) else {}
    told = _words(error)
    status = next(
        (
            code
            for code in (fields.get("code"), fields.get("status"), _STATUS_OF_TYPE.get(str(fields.get("type"))))
            if isinstance(code, int) and 400 <= code < 600
        ),
        500,
    )
    return _error(f"{where} broke off: {told}", told, status)


def words_of(body: bytes) -> str:
    """What a body says, whichever of the usual forms it has."""
    try:
        found: Any = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return " ".join(body[: 2 * SHOWN].decode("utf-8", "replace").split())[:SHOWN]
    return _words(found)


def pause_of(headers: Mapping[str, str], now: float) -> float | None:
    """The seconds that the provider asks to wait, when it does: ``retry-after-ms``, or seconds or a date (RFC 9110)."""
    given = headers.get("retry-after-ms", "")
    try:
        return max(0.0, float(given) / 1000)
    except ValueError:
        pass
    given = headers.get("retry-after", "")
    try:
        return max(0.0, float(given))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(given).timestamp() - now)
    except ValueError:
        return None


def _words(found: Any) -> str:
    fields = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    for name in ("error", "message", "detail", "type"):
        if fields.get(name):
            told, code = _words(fields[name]), fields.get("code")
            return f"{told} ({code})"[:SHOWN] if isinstance(code, str) and code not in told else told
    return (found if isinstance(found, str) else msgspec.json.encode(found).decode())[:SHOWN]


def _error(message: str, told: str, status: int) -> ModelError:
    if UnknownRequest.code in told:
        return UnknownRequest(message)
    if status in (401, 403):
        return KeyRefused(message, hint="look at the model's api_key_env or api_key_file")
    if status == 429 and not _NO_MORE_MONEY.search(told):
        return ModelBusy(message)
    if status >= 500 or status in _PASSES:
        # A server that has failed at a prompt that is too long will fail again.
        return ContextTooLong(message) if _TOO_LONG.search(told) and status < 502 else ModelUnavailable(message)
    if status == 413 or _TOO_LONG.search(told):
        return ContextTooLong(message, hint="shorten the conversation, or use a model with a larger window")
    if 300 <= status < 400 or status == 404:
        return ModelRefused(message, hint="look at the model's base_url and model")
    return ModelRefused(message)
