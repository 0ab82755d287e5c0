"""What the vectors must still become, written in the transaction that made it so.

An entry carries the points themselves, so carrying it out needs nothing else, or, where encoding a node again costs
next to nothing, the keys of the nodes that they are made of: vectors are by far the most of what is stored, and would
be written twice. Carrying it out twice does no harm. It is removed when the vectors that it made are on the disk; what
is left when a knowledge base is opened is carried out then.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from sylk_ray.knowledge.model import Domain
from sylk_ray.knowledge.store.database import Database


class VectorRow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One point. The bytes are little-endian arrays: ``dense`` and ``values`` of float32, ``indices`` of uint32."""

    key: int
    dense: bytes
    indices: bytes
    values: bytes
    payload: dict[str, Any]


class Change(msgspec.Struct, frozen=True, array_like=True):
    """Points to put in place of what is there, those of nodes to put by encoding these again, and points to remove; or
    the whole scope to drop, before all three."""

    put: list[VectorRow] = []
    remove: list[int] = []
    drop: bool = False
    model: str = ""
    """The embedder's that ``put`` is of; empty for words alone."""
    again: list[int] = []
    """The keys of those nodes."""


class Pending(msgspec.Struct, frozen=True):
    """An entry: number, whose collection, which scope, and the change."""

    number: int
    domain: Domain
    scope: str
    change: Change


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Change).decode


def note(database: Database, domain: Domain, scope: str, change: Change) -> int:
    """Write an entry; returns its number. Entries are carried out in the order of their numbers."""
    with database.transaction() as connection:
        made = connection.execute(
            "INSERT INTO outbox(domain, scope, body) VALUES (?, ?, ?)", (domain.value, scope, _encode(change))
        )
        return int(made.lastrowid or 0)


def pending(database: Database, after: int = 0, limit: int = 64) -> list[Pending]:
    """The oldest entries with a greater number."""
    rows = database.rows(
        "SELECT number, domain, scope, body FROM outbox WHERE number > ? ORDER BY number LIMIT ?", (after, limit)
    )
    return [Pending(number, Domain(domain), scope, _decode(body)) for number, domain, scope, body in rows]


def forget(database: Database, numbers: Sequence[int]) -> None:
    """Remove entries whose vectors are on the disk."""
    with database.transaction() as connection:
        connection.executemany("DELETE FROM outbox WHERE number = ?", [(number,) for number in numbers])


def length(database: Database) -> int:
    """How many entries there are."""
    return int(database.rows("SELECT count(*) FROM outbox")[0][0])
