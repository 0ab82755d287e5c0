"""What a writer and its readers say to each other. Who carries it may delay it, lose it, repeat and reorder it."""

from __future__ import annotations

import msgspec

from sylk_ray.knowledge.gate.views import Delta


class Renew(msgspec.Struct, frozen=True, tag="renew"):
    """A reader asks for a lease, and says what it has: everything up to ``version`` of ``epoch``."""

    reader: str
    """Another one in every life of a reader."""
    number: int
    """Grows with every request of this reader."""
    epoch: bytes = b""
    """Empty when it has nothing."""
    base: int = -1
    """The version of the snapshot that it reads."""
    version: int = -1


class Confirm(msgspec.Struct, frozen=True, tag="confirm"):
    """A reader has everything up to ``version`` of ``epoch``, and will not go back."""

    reader: str
    epoch: bytes
    version: int


class Grant(msgspec.Struct, frozen=True, tag="grant"):
    """The answer to ``Renew``: a lease for who has everything up to ``version``, which is here."""

    number: int
    """Of the request."""
    epoch: bytes
    base: int
    """The snapshot that ``deltas`` follow; ``whole`` when the reader has another one and needs it."""
    version: int
    whole: bool
    deltas: tuple[Delta, ...]


class Push(msgspec.Struct, frozen=True, tag="push"):
    """What was just written, without waiting for the next request."""

    epoch: bytes
    deltas: tuple[Delta, ...]
