"""What happened in a session, for people and programs that watch it."""

from __future__ import annotations

from typing import Any

import msgspec

from sylk_ray.fairness import Lane
from sylk_ray.messaging.address import SHARED
from sylk_ray.messaging.topics import global_topic, session_topic, status_topic

_OF_STATUS = ("job", "session")
_RUNTIME = "runtime"


class Event(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of a session's history.

    ``sequence`` counts from 1 without gaps within a session and is given by the session's journal; ``at`` is Unix
    time in seconds. ``kind`` is dotted (``task.started``, ``pipeline.feedback``, ``job.finished``). ``trace`` is the
    id of the request that it came of, 32 hexadecimal digits; empty when it came of none. ``by`` is the role of whoever
    published it, with the channel after a slash when that is not the kind's first word; empty is the runtime itself.
    """

    kind: str
    session: str
    task: str = ""
    data: dict[str, Any] = {}
    sequence: int = 0
    at: float = 0.0
    trace: str = ""
    by: str = ""
    priority: Lane = Lane.NORMAL

    @property
    def topic(self) -> str:
        """Where it is published: worked out, so that it takes no room in the journal.

        ``session.{id}.status`` for jobs and sessions, ``session.{id}.{role}.{channel}`` for all else of a session,
        ``{role}.{channel}`` for what the agents that serve all sessions publish."""
        role, _, channel = self.by.partition("/")
        first = self.kind.partition(".")[0]
        if self.session == SHARED:
            return global_topic(role or _RUNTIME, channel or first)
        if not channel and first in _OF_STATUS:
            return status_topic(self.session)
        return session_topic(self.session, role or _RUNTIME, channel or first)


def publisher(role: str, channel: str = "") -> str:
    """An event's ``by``."""
    return f"{role}/{channel}" if channel else role
