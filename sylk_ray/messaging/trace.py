"""Which request all that happens came of, carried along without anybody passing it on.

A trace begins where something comes in from outside (``begin_trace``) and goes with every message that is sent while
another one is handled, for as long as there are any. Its id is a W3C trace id: 32 hexadecimal digits. The runtime sets
what is current for each message that an agent handles; tasks that a handler makes inherit it, as asyncio's do.
"""

from __future__ import annotations

import contextlib
import re
import secrets
import uuid
from collections.abc import Generator
from contextvars import ContextVar

_TRACEPARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?\Z")


Trail = tuple[str, str]
"""Where something came from: the trace that it belongs to, and the id of the message that is being handled. Both are
empty for what no request asked for: timers, and a host's own chores. A plain tuple, for each message makes one."""

NO_TRAIL: Trail = ("", "")

_current: ContextVar[Trail] = ContextVar("sylk_trail", default=NO_TRAIL)

current_trail = _current.get
"""The trail of whoever calls."""

follow = _current.set
"""Set the trail of whoever calls, and of the tasks that it makes from now on. For the runtime."""


def current_trace() -> str:
    """The id of the trace that the caller works for; empty when there is none."""
    return _current.get()[0]


def new_trace() -> str:
    """An id that no other trace has."""
    return uuid.uuid4().hex


@contextlib.contextmanager
def begin_trace(trace: str | None = None) -> Generator[str]:
    """What happens within is of this trace (empty: of none), or with None of a new one; gives its id."""
    if trace is None:
        trace = new_trace()
    token = _current.set((trace, _current.get()[1]))
    try:
        yield trace
    finally:
        _current.reset(token)


def traceparent(trace: str) -> str:
    """The W3C header that makes another program's spans part of a trace."""
    return f"00-{trace}-{secrets.token_hex(8)}-01"


def trace_of(header: str) -> str | None:
    """The trace id of a W3C ``traceparent`` header; None when the header is not a valid one, and is to be ignored
    (https://www.w3.org/TR/trace-context/#traceparent-header)."""
    found = _TRACEPARENT.match(header)
    if found is None:
        return None
    version, trace, parent, more = found.groups()
    if version == "ff" or (version == "00" and more) or not int(trace, 16) or not int(parent, 16):
        return None
    return trace
