"""What happened in a session, for people and programs that watch it."""

from __future__ import annotations

from typing import Any

import msgspec


class Event(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of a session's history.

    ``sequence`` counts from 1 without gaps within a session and is given by the session's router; ``at`` is Unix
    time in seconds. ``kind`` is dotted (``task.started``, ``pipeline.feedback``, ``job.finished``). ``trace`` is the
    id of the request that it came of, 32 hexadecimal digits; empty when it came of none.
    """

    kind: str
    session: str
    task: str = ""
    data: dict[str, Any] = {}
    sequence: int = 0
    at: float = 0.0
    trace: str = ""
