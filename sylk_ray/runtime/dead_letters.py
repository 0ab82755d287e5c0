"""Dead letters as people and programs ask for them: of a session's router while it is open, else of its file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from sylk_ray.messaging import Request, said_by
from sylk_ray.messaging.wire import NO_MSGPACK, Packet
from sylk_ray.runtime.journal import DeadLetter

SHOWN_BYTES = 64


class ListDeadLetters(Request[list[DeadLetter]], frozen=True):
    """A session's dead letters, the oldest first."""

    flow = said_by("user", to="router")


class RetryDeadLetter(Request[bool], frozen=True):
    """Send a dead letter once more; whether there was one."""

    flow = said_by("user", to="router")

    mail_id: str


class DropDeadLetter(Request[bool], frozen=True):
    """Forget a dead letter; whether there was one."""

    flow = said_by("user", to="router")

    mail_id: str


class LetterView(msgspec.Struct, frozen=True):
    """A dead letter for people. ``at`` is Unix time in seconds; ``message`` is None in a list."""

    id: str
    source: str
    target: str
    kind: str
    error: str
    reason: str
    at: float
    message: Any = None


def view_of(letter: DeadLetter, *, whole: bool = False) -> LetterView:
    """The letter with its message's kind, and with ``whole`` its content, as far as they can be read. A message that
    no class fits any more is shown all the same: what is in it may be why it could not be handled."""
    mail = letter.mail
    kind, message = "", None
    try:
        packet = msgspec.msgpack.decode(mail.packet, type=Packet)
        kind = packet.kind
        message = readable(msgspec.msgpack.decode(packet.body)) if whole else None
    except NO_MSGPACK:
        message = readable(mail.packet) if whole else None
    return LetterView(
        mail.id, str(mail.source), str(mail.target), kind, letter.error, letter.reason, letter.at, message
    )


def readable(value: object) -> object:
    """Decoded msgpack as what JSON can hold: bytes become their text, or their size and beginning in hexadecimal."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return f"{len(value)} bytes: {value[:SHOWN_BYTES].hex()}{'...' if len(value) > SHOWN_BYTES else ''}"
    if isinstance(value, Mapping):
        return {str(readable(key)): readable(each) for key, each in cast("Mapping[object, object]", value).items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [readable(each) for each in cast("Sequence[object]", value)]
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)
