"""Carrying out the outbox: the vectors become what the store says that they are."""

from __future__ import annotations

import threading
from collections.abc import Callable

from sylk_ray.knowledge.encoding import point_of
from sylk_ray.knowledge.model import Domain
from sylk_ray.knowledge.store import Database, outbox
from sylk_ray.knowledge.store.outbox import Pending, VectorRow
from sylk_ray.knowledge.vectors import Point, VectorStore

FLUSH_ENTRIES = 32
"""Entries that are carried out before the vectors are flushed and the entries forgotten."""
POINTS = 2048
"""In one write to the vectors."""


class Carrier:
    """Carries entries out in order, one at a time; any thread may ask it to."""

    def __init__(
        self,
        database: Database,
        vectors: Callable[[Domain], VectorStore],
        encode_again: Callable[[Domain, str, list[int]], tuple[list[VectorRow], bool]],
    ) -> None:
        """``encode_again`` gives the rows of nodes by the model that a scope is of now: what was written for another
        model, before a crash, is not what the scope must become. It also tells whether it could: where the model is not
        at hand, the rows are of words alone, and the entry stays for the next process."""
        self._database = database
        self._vectors = vectors
        self._encode_again = encode_again
        self._lock = threading.Lock()
        self._done = 0
        """The last entry that was carried out by this process."""
        self._waiting: list[tuple[int, Domain, str]] = []
        """Carried out, and perhaps not on the disk yet."""
        self._given: dict[int, list[Point]] = {}
        """The points of entries that this process has written, so that they need not be read or made again."""

    def give(self, number: int, points: list[Point]) -> None:
        """The points of an entry that was committed."""
        with self._lock:
            self._given[number] = points

    def carry(self) -> int:
        """Carry out what is there; returns how many entries. An entry stays when the vector store raises."""
        with self._lock:
            try:
                return self._carry()
            except BaseException:
                # Whatever comes while the store is away would be kept for long: it can be read or made again.
                self._given.clear()
                raise

    def _carry(self) -> int:
        carried = 0
        while entries := outbox.pending(self._database, after=self._done):
            for entry in entries:
                store = self._vectors(entry.domain)
                if entry.change.drop:
                    store.drop(entry.scope)
                points, whole = self._points(entry, store)
                for start in range(0, len(points), POINTS):
                    store.upsert(entry.scope, points[start : start + POINTS])
                if entry.change.remove:
                    store.delete(entry.scope, entry.change.remove)
                self._done = entry.number
                if whole:
                    self._waiting.append((entry.number, entry.domain, entry.scope))
                carried += 1
        if len(self._waiting) >= FLUSH_ENTRIES:
            self._flush()
        return carried

    def _points(self, entry: Pending, store: VectorStore) -> tuple[list[Point], bool]:
        """What an entry puts, and whether that is all: what was given, as long as that is of the scope's model."""
        given = self._given.pop(entry.number, None)
        change = entry.change
        if change.model not in ("", store.space_of(entry.scope).model):
            return self._made_again(entry, [*(row.key for row in change.put), *change.again])
        if given is not None:
            return given, True
        made, whole = self._made_again(entry, change.again)
        return [*(point_of(row) for row in change.put), *made], whole

    def _made_again(self, entry: Pending, keys: list[int]) -> tuple[list[Point], bool]:
        if not keys:
            return [], True
        rows, whole = self._encode_again(entry.domain, entry.scope, keys)
        return [point_of(row) for row in rows], whole

    def flush(self) -> None:
        """Bring what was carried out to the disk, and forget the entries."""
        with self._lock:
            self._flush()

    def _flush(self) -> None:
        for domain, scope in {(domain, scope) for _, domain, scope in self._waiting}:
            self._vectors(domain).flush(scope)
        outbox.forget(self._database, [number for number, _, _ in self._waiting])
        self._waiting.clear()
