"""Edges in the file."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Sequence
from itertools import chain
from typing import Any

import msgspec

from sylk_ray.knowledge.model import Domain, Edge, EdgeType
from sylk_ray.knowledge.store import nodes
from sylk_ray.knowledge.store.database import Database, Row
from sylk_ray.knowledge.store.rules import check_edge

_SELECT = (
    "SELECT edges.id, one.id, other.id, edges.type, weight, edges.metadata, edges.created_at"
    " FROM edges JOIN nodes one ON one.key = edges.source JOIN nodes other ON other.key = edges.target"
)
_FROM = (
    "SELECT edges.id, one.id, other.id, edges.type, weight, edges.metadata, edges.created_at"
    " FROM nodes one INDEXED BY nodes_by_path CROSS JOIN edges ON one.key = edges.source"
    " CROSS JOIN nodes other ON other.key = edges.target"
)
"""In this order: SQLite may take all edges first where several paths are asked for."""
_INSERT = (
    "INSERT INTO edges(source, target, type, weight, metadata, across, created_at) VALUES {}"
    " ON CONFLICT(source, target, type) DO UPDATE SET weight = excluded.weight, metadata = excluded.metadata"
)
_NUMBERED = (
    "WITH wanted(one, other, kind) AS (VALUES {}) SELECT id, source, target, type FROM wanted"
    " CROSS JOIN edges ON source = one AND target = other AND type = kind"
)
"""One by one by the index: for ``(source, target, type) IN (VALUES …)`` SQLite 3.40 reads all edges."""
A_STATEMENT = 256
"""Edges that are stored by one statement."""
_json = msgspec.json.Encoder()


class Joined(msgspec.Struct, frozen=True, gc=False):
    """An edge as the graph has it: by the keys of its ends."""

    id: int
    source: int
    target: int
    type: EdgeType
    weight: float


def _edge(row: Row) -> Edge:
    number, source, target, kind, weight, metadata, created = row
    return Edge(
        source=source,
        target=target,
        type=EdgeType(kind),
        weight=weight,
        metadata=msgspec.json.decode(metadata),
        id=number,
        created_at=created,
    )


def insert(database: Database, edges: Sequence[Edge], now: float) -> list[Joined]:
    """Store edges; one that is there with the same ends and type gets the new weight and metadata.

    Raises UnknownNode for an end that is not there, InvalidEdge for one that may not be; then none is stored.
    """
    with database.transaction() as connection:
        ends = nodes.keys_of(database, {end for edge in edges for end in (edge.source, edge.target)})
        rows: list[tuple[Any, ...]] = []
        for edge in edges:
            source, target = ends.get(edge.source), ends.get(edge.target)
            if source is None or target is None:
                raise nodes.unknown(edge.target if source else edge.source)
            check_edge(edge.type, edge.weight, (edge.source, source[1]), (edge.target, target[1]))
            metadata = _json.encode(edge.metadata).decode()
            across = source[1:] != target[1:]
            rows.append((source[0], target[0], edge.type.value, edge.weight, metadata, across, now))
        last = _last(connection)
        for start in range(0, len(rows), A_STATEMENT):
            some = rows[start : start + A_STATEMENT]
            places = ", ".join(["(?, ?, ?, ?, ?, ?, ?)"] * len(some))
            connection.execute(_INSERT.format(places), list(chain.from_iterable(some)))
        if _last(connection) == last + len(rows):
            # None was there: SQLite gives each the next number.
            numbers: Iterable[int] = range(last + 1, last + len(rows) + 1)
        else:
            numbers = _numbers(connection, [row[:3] for row in rows])
    return [
        Joined(number, row[0], row[1], edge.type, edge.weight)
        for number, edge, row in zip(numbers, edges, rows, strict=True)
    ]


def _last(connection: sqlite3.Connection) -> int:
    [number] = connection.execute("SELECT coalesce(max(id), 0) FROM edges").fetchone()
    return int(number)


def _numbers(connection: sqlite3.Connection, ends: Sequence[tuple[int, int, str]]) -> list[int]:
    """The numbers of edges that are there, by source, target and type."""
    found: dict[tuple[int, int, str], int] = {}
    for start in range(0, len(ends), A_STATEMENT):
        some = ends[start : start + A_STATEMENT]
        places = ", ".join(["(?, ?, ?)"] * len(some))
        rows = connection.execute(_NUMBERED.format(places), list(chain.from_iterable(some))).fetchall()
        found.update(((source, target, kind), number) for number, source, target, kind in rows)
    return [found[each] for each in ends]


def delete(database: Database, numbers: Iterable[int]) -> list[int]:
    """Remove edges; returns the numbers of those that were there."""
    gone: list[int] = []
    with database.transaction() as connection:
        for number in numbers:
            if connection.execute("DELETE FROM edges WHERE id = ?", (number,)).rowcount:
                gone.append(number)
    return gone


def get(database: Database, number: int) -> Edge | None:
    """The edge with a number."""
    rows = database.rows(f"{_SELECT} WHERE edges.id = ?", (number,))
    return _edge(rows[0]) if rows else None


def from_paths(database: Database, domain: Domain, scope: str, paths: Iterable[str]) -> list[Edge]:
    """The edges from all nodes that stand at one of these paths."""
    rows = database.rows_in(
        f"{_FROM} WHERE one.domain = ? AND one.scope = ? AND one.path IN ({{}})", paths, before=(domain.value, scope)
    )
    return [_edge(row) for row in rows]


def among(database: Database, keys: Collection[int], types: Collection[EdgeType]) -> list[tuple[int, int, float]]:
    """(source, target, weight) of the edges of these types from any of these nodes to another of them."""
    kinds = ", ".join("?" * len(types))
    rows = database.rows_in(
        f"SELECT source, target, weight FROM edges WHERE type IN ({kinds}) AND source IN ({{}})",
        keys,
        before=tuple(each.value for each in types),
    )
    inside = set(keys)
    return [(source, target, weight) for source, target, weight in rows if target in inside and target != source]


def between(database: Database, source: str, target: str) -> list[Edge]:
    """The edges from one node to another."""
    return [_edge(row) for row in database.rows(f"{_SELECT} WHERE one.id = ? AND other.id = ?", (source, target))]


def outgoing(database: Database, name: str, types: Collection[EdgeType] = ()) -> list[Edge]:
    """The edges from a node, of any type or of these."""
    return _at(database, "one", name, types)


def incoming(database: Database, name: str, types: Collection[EdgeType] = ()) -> list[Edge]:
    """The edges to a node, of any type or of these."""
    return _at(database, "other", name, types)


def _at(database: Database, end: str, name: str, types: Collection[EdgeType]) -> list[Edge]:
    kinds = f" AND edges.type IN ({', '.join('?' * len(types))})" if types else ""
    rows = database.rows(
        f"{_SELECT} WHERE {end}.id = ?{kinds} ORDER BY edges.id", (name, *(each.value for each in types))
    )
    return [_edge(row) for row in rows]
