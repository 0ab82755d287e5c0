"""Where nodes come from, and which contradict each other."""

from __future__ import annotations

from collections.abc import Sequence

from sylk_ray.knowledge.model import Conflict, Provenance
from sylk_ray.knowledge.store import nodes
from sylk_ray.knowledge.store.database import Database


def _key(database: Database, name: str) -> int:
    found = nodes.keys_of(database, [name])
    if name not in found:
        raise nodes.unknown(name)
    return found[name][0]


def attribute(database: Database, sources: Sequence[Provenance]) -> list[int]:
    """Note where nodes come from; returns the entries' numbers. Raises UnknownNode; then none is noted."""
    numbers: list[int] = []
    with database.transaction() as connection:
        for each in sources:
            made = connection.execute(
                "INSERT INTO provenance(node, source_type, source_id, confidence, verified_at, verifier)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (
                    _key(database, each.node),
                    each.source_type,
                    each.source_id,
                    each.confidence,
                    each.verified_at,
                    each.verifier,
                ),
            )
            numbers.append(int(made.lastrowid or 0))
    return numbers


def provenance_of(database: Database, name: str) -> list[Provenance]:
    """Where a node comes from, the oldest entry first."""
    rows = database.rows(
        "SELECT nodes.id, source_type, source_id, confidence, verified_at, verifier, provenance.id FROM provenance"
        " JOIN nodes ON nodes.key = node WHERE nodes.id = ? ORDER BY provenance.id",
        (name,),
    )
    return [
        Provenance(
            node=node,
            source_type=kind,
            source_id=source,
            confidence=confidence,
            verified_at=verified,
            verifier=verifier,
            id=number,
        )
        for node, kind, source, confidence, verified, verifier, number in rows
    ]


def detect(database: Database, conflict: Conflict, now: float) -> int:
    """Note that two nodes contradict each other; returns the entry's number. Raises UnknownNode."""
    with database.transaction() as connection:
        made = connection.execute(
            "INSERT INTO conflicts(node_a, node_b, type, detected_at, resolution, resolved_at)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (
                _key(database, conflict.node_a),
                _key(database, conflict.node_b),
                conflict.type,
                conflict.detected_at or now,
                conflict.resolution,
                conflict.resolved_at,
            ),
        )
        return int(made.lastrowid or 0)


def resolve(database: Database, number: int, resolution: str, now: float) -> bool:
    """Note how a conflict was settled; false if there is none with this number."""
    with database.transaction() as connection:
        done = connection.execute(
            "UPDATE conflicts SET resolution = ?, resolved_at = ? WHERE id = ?", (resolution, now, number)
        )
        return bool(done.rowcount)


def conflicts_of(database: Database, name: str | None = None, *, open_only: bool = False) -> list[Conflict]:
    """The conflicts of a node, or all."""
    conditions = ["(one.id = ? OR other.id = ?)"] if name else []
    if open_only:
        conditions.append("resolved_at IS NULL")
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    rows = database.rows(
        "SELECT one.id, other.id, conflicts.type, detected_at, resolution, resolved_at, conflicts.id FROM conflicts"
        f" JOIN nodes one ON one.key = node_a JOIN nodes other ON other.key = node_b{where} ORDER BY conflicts.id",
        (name, name) if name else (),
    )
    return [
        Conflict(node_a=a, node_b=b, type=kind, detected_at=at, resolution=how, resolved_at=until, id=number)
        for a, b, kind, at, how, until, number in rows
    ]
