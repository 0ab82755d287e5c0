"""Server-sent events: the frames, and what every stream of them does."""

from __future__ import annotations

import re
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager

import msgspec

from sylk_ray.errors import SylkError
from sylk_ray.gateway.answers import ErrorAnswer, ErrorDetail
from sylk_ray.gateway.watching import Watch
from sylk_ray.messaging import Event

KEEP_ALIVE_S = 10.0
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
KEEP_ALIVE = b": keep-alive\n\n"
UNREADABLE = "stream.unreadable"
"""A passing event of a stream's own: the history of a session cannot be read now, and why; the stream goes on."""
DROPPED = "stream.dropped"
"""Another one: how many events of a session did not come, passing ones for good; what is kept follows."""


class EventStream(ABC):
    """One client's stream: what a subclass finds, until there is no more, with a word when that is so."""

    def __init__(self, keep_alive_s: float) -> None:
        self._keep_alive_s = keep_alive_s
        self._said = time.monotonic()
        self._complete = False
        """Set when the last frame told the client that this is the end."""

    async def frames(self) -> AsyncIterator[bytes]:
        """The stream."""
        try:
            with self._watching() as watch:
                async for each in self._found(watch):
                    self._said = time.monotonic()
                    yield each
                if not self._complete:
                    yield ending(watch.ended or "no_more")
        except SylkError as error:
            yield failing(error)

    @property
    def _is_silent(self) -> bool:
        """Whether the client should hear that the stream lives."""
        return time.monotonic() - self._said >= self._keep_alive_s

    @abstractmethod
    def _watching(self) -> AbstractContextManager[Watch]:
        """The queue of what arrives, for as long as the client is there."""

    @abstractmethod
    def _found(self, watch: Watch) -> AsyncIterator[bytes]:
        """The frames, until the end or the end of the watch."""


def frame(event: Event, cursor: str = "", *, topic: bool = False) -> bytes:
    """One event, with its topic if that is wanted. A passing one has no id, so that it never becomes a cursor. A kind
    that would break the lines of the frame is whole in the data alone."""
    position = cursor or str(event.sequence)
    id_ = f"id: {position}\n" if event.sequence else ""
    data = msgspec.json.encode({"topic": event.topic, **msgspec.to_builtins(event)} if topic else event)
    kind = _CONTROL.sub("?", event.kind)
    return f"{id_}event: {kind}\ndata: ".encode() + data + b"\n\n"


def mark(cursor: str) -> bytes:
    """No event, only where the client has come to."""
    return f": keep-alive\nid: {cursor}\n\n".encode()


def ending(why: str) -> bytes:
    """Tell a client that the stream ends before there is no more, and that it may come back with its cursor."""
    return f"event: stream.ended\ndata: {msgspec.json.encode({'reason': why}).decode()}\n\n".encode()


def failing(error: SylkError) -> bytes:
    """Tell a client why the stream cannot go on."""
    detail = ErrorAnswer(ErrorDetail(error.code, error.message, error.hint, error.exit_code))
    return b"event: stream.failed\ndata: " + msgspec.json.encode(detail) + b"\n\n"
