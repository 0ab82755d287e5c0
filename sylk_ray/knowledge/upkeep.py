"""Looking after a knowledge base: whether its parts agree, mending them, and another model's vectors."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from sylk_ray.knowledge.collections import Collections
from sylk_ray.knowledge.encoding import encode, point_of
from sylk_ray.knowledge.model import Domain
from sylk_ray.knowledge.store import Database, nodes, outbox
from sylk_ray.knowledge.store.outbox import Change
from sylk_ray.knowledge.vectors import Rebuild

BATCH = 512


class Disagreement(msgspec.Struct, frozen=True, kw_only=True):
    """A scope where the vectors are not what the store says."""

    domain: Domain
    scope: str
    missing: tuple[int, ...]
    """Keys of nodes that have no vector, and should."""
    stray: tuple[int, ...]
    """Keys of vectors whose node is gone."""


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """What looking through everything has found; all empty for a whole knowledge base."""

    damage: tuple[str, ...]
    """What SQLite says of its file."""
    dangling: int
    """Rows that refer to a node which is not there."""
    disagreements: tuple[Disagreement, ...]

    @property
    def well(self) -> bool:
        """Whether nothing was found."""
        return not (self.damage or self.dangling or self.disagreements)


def verify(database: Database, collections: Collections) -> Verification:
    """Look through every page and compare every vector's key: some seconds for a million nodes."""
    integrity = [row[0] for row in database.rows("PRAGMA integrity_check")]
    dangling = len(database.rows("PRAGMA foreign_key_check"))
    found: list[Disagreement] = []
    for domain in Domain:
        rows = database.rows("SELECT scope, key FROM nodes WHERE domain = ? AND embedded", (domain.value,))
        wanted: dict[str, set[int]] = {}
        for scope, key in rows:
            wanted.setdefault(scope, set()).add(key)
        store = collections.of(domain)
        for scope in sorted({*wanted, *store.scopes()}):
            there = set(store.keys(scope))
            missing, stray = wanted.get(scope, set()) - there, there - wanted.get(scope, set())
            if missing or stray:
                found.append(
                    Disagreement(domain=domain, scope=scope, missing=tuple(sorted(missing)), stray=tuple(sorted(stray)))
                )
    damage = tuple(each for each in integrity if each != "ok")
    return Verification(damage=damage, dangling=dangling, disagreements=tuple(found))


def mend(database: Database, collections: Collections, found: Verification) -> int:
    """Note in the outbox what makes the vectors agree again; returns how many of them. Carry it out afterwards."""
    count = 0
    for each in found.disagreements:
        model = collections.embedder_of(each.domain, each.scope)
        for start in range(0, len(each.missing), BATCH):
            some = list(nodes.by_key(database, each.missing[start : start + BATCH]).values())
            rows = [
                msgspec.structs.replace(row, key=node.key)
                for row, node in zip(encode(some, model).rows, some, strict=True)
            ]
            outbox.note(database, each.domain, each.scope, Change(put=rows, model=model.name if model else ""))
            count += len(rows)
        if each.stray:
            outbox.note(database, each.domain, each.scope, Change(remove=list(each.stray)))
            count += len(each.stray)
    return count


class Renewal:
    """Makes a scope's vectors anew by the model that there is now, while the old ones are searched.

    ``run`` does most of it beside all writes; ``finish`` does what was written meanwhile, with writers kept out by its
    caller, and lets the new ones take over.
    """

    def __init__(self, database: Database, collections: Collections, domain: Domain, scope: str) -> None:
        self._database = database
        self._model = collections.current
        self._place = (domain, scope)
        self._rebuild: Rebuild = collections.of(domain).begin_rebuild(scope)
        self._done: dict[int, float] = {}
        """When the node had last been changed that a key's new vector is of."""

    def run(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Embed all that is there. Raises EmbedderUnavailable; then it can be run again."""
        wanted = self._outdated()
        for start in range(0, len(wanted), BATCH):
            some = list(nodes.by_key(self._database, wanted[start : start + BATCH]).values())
            rows = encode(some, self._model).rows
            points = [
                point_of(msgspec.structs.replace(row, key=node.key)) for row, node in zip(rows, some, strict=True)
            ]
            self._rebuild.upsert(points)
            self._done |= {node.key: node.updated_at for node in some}
            if progress:
                progress(min(start + BATCH, len(wanted)), len(wanted))

    def finish(self) -> None:
        """Catch up with what was written, and swap."""
        self.run()
        there = {key for key, _ in self._nodes()}
        self._rebuild.delete(self._done.keys() - there)
        self._rebuild.finish()

    def abandon(self) -> None:
        """Leave the old vectors as they are."""
        self._rebuild.abandon()

    def _outdated(self) -> list[int]:
        return [key for key, changed in self._nodes() if self._done.get(key) != changed]

    def _nodes(self) -> list[tuple[int, float]]:
        domain, scope = self._place
        rows = self._database.rows(
            "SELECT key, updated_at FROM nodes WHERE domain = ? AND scope = ? AND embedded ORDER BY key",
            (domain.value, scope),
        )
        return [(key, changed) for key, changed in rows]
