"""What goes into a journal and what comes out of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from sylk_ray.messaging import Address, Event


def failure_of(message_id: str) -> str:
    """The id under which an agent commits that a message came to nothing, when the message may come again: a request
    that failed, or mail of its own that cannot be delivered. Mail that tells of a failure has such an id too."""
    return f"{message_id}!"


def failed_message(message_id: str) -> str | None:
    """Which message a failure's id is of; None for any other id."""
    return message_id[:-1] if message_id.endswith("!") else None


class SavedState(msgspec.Struct, frozen=True):
    """An agent's state as msgpack, and the version of the struct that it was written from.

    A large state can have ``parts`` besides, by name: in a transaction those that have changed (empty: the part is
    gone), in a memory all that there are.
    """

    version: int
    data: bytes
    parts: Mapping[str, bytes] = {}


class Mail(msgspec.Struct, frozen=True):
    """A message on its way to an agent of the same session: kept from its sender's commit to its receiver's.

    ``packet`` is the envelope's wire form, which the journal does not look into.
    """

    id: str
    source: Address
    target: Address
    packet: bytes


class Transaction(msgspec.Struct, frozen=True):
    """What one handled message changed. All of it is recorded, or nothing.

    ``state`` None leaves the agent's state as it is. ``remember_until`` (Unix seconds) says until when the message
    may come again; a repeat before that is known as handled, and is answered with ``reply``, when there is one.
    ``buried`` makes a dead letter of the message, which was handled badly, or of mail that the agent has sent and that
    cannot be delivered; ``outgoing`` tells of it. Mail of that kind has to wait still, else nothing is recorded.
    ``forget`` drops all that is kept of the agent, its remembered messages too: it has done its work.
    """

    agent: Address
    message_id: str
    state: SavedState | None = None
    outgoing: Sequence[Mail] = ()
    events: Sequence[Event] = ()
    """Not numbered yet: the journal gives each the session's next sequence number."""
    reply: bytes | None = None
    remember_until: float = 0.0
    forget: bool = False
    buried: DeadLetter | None = None


class Committed(msgspec.Struct, frozen=True):
    """The sequence number of the session's last event, after a commit. ``repeated``: nothing was recorded, for the
    message had been handled, or the mail to be buried no longer waited."""

    last_event: int
    repeated: bool = False


class Memory(msgspec.Struct, frozen=True):
    """What a journal holds of one agent. ``handled`` maps messages' ids to (remember_until, reply); ``mail`` is what
    waits for it, and ``sent`` what it has told others and they have not handled, in the order in which it was
    committed."""

    state: SavedState | None
    handled: dict[str, tuple[float, bytes | None]]
    mail: list[Mail]
    sent: list[Mail] = []


class StepRecord(msgspec.Struct, frozen=True):
    """A step of a handler: begun, and perhaps finished. ``before`` is a mark that its caller made (a worktree's tree,
    say); ``result`` is what its function returned, as msgpack. ``trace`` is what it was done for."""

    name: str
    before: str = ""
    finished: bool = False
    result: bytes = b""
    trace: str = ""


class DeadLetter(msgspec.Struct, frozen=True):
    """Mail that could not be handled, why, and when (Unix seconds)."""

    mail: Mail
    error: str
    reason: str
    at: float


class Report(msgspec.Struct, frozen=True):
    """What was found on opening a journal that was damaged: what was saved (rows by table), and where the damaged
    file was put. ``whole`` when there was nothing wrong."""

    whole: bool = True
    problem: str = ""
    saved: dict[str, int] = {}
    damaged_file: str = ""
