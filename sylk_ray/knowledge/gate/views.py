"""What can be said of a domain now: a snapshot, and what came after it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import msgspec
import numpy as np

from sylk_ray.knowledge.gate.facets import Facet, Facets, bounds
from sylk_ray.knowledge.gate.keys import QueryKeys
from sylk_ray.knowledge.gate.snapshots import Snapshot
from sylk_ray.knowledge.vectors.conditions import Condition


class Delta(msgspec.Struct, frozen=True):
    """One write: the keys of its documents' words, and its nodes' facets. Versions of an epoch have no gaps."""

    version: int
    keys: bytes
    """Of uint64, little-endian."""
    nodes: tuple[tuple[int, tuple[Facet, ...]], ...] = ()

    @classmethod
    def of(cls, version: int, keys: Iterable[int], nodes: Iterable[tuple[int, tuple[Facet, ...]]] = ()) -> Delta:
        return cls(version, np.fromiter(keys, dtype="<u8").tobytes(), tuple(nodes))

    def each_key(self) -> list[int]:
        return np.frombuffer(self.keys, dtype="<u8").tolist()


class View:
    """A snapshot and the deltas that follow it, in their order. Reading and adding may be in different threads."""

    __slots__ = ("_added", "_facets", "deltas", "snapshot", "version")

    def __init__(self, snapshot: Snapshot, deltas: Iterable[Delta] = ()) -> None:
        self.snapshot = snapshot
        self.version = snapshot.version
        self.deltas: list[Delta] = []
        self._added: set[int] = set()
        self._facets = Facets()
        for each in deltas:
            self.add(each)

    def add(self, delta: Delta) -> bool:
        """Whether it was the next one; any other changes nothing."""
        if delta.version != self.version + 1:
            return False
        self._added.update(delta.each_key())
        self._facets.add(delta.nodes)
        self.deltas.append(delta)
        self.version = delta.version
        return True

    def was_added(self, key: int) -> bool:
        """Whether a delta has it."""
        return key in self._added

    def __contains__(self, key: int) -> bool:
        return key in self._added or key in self.snapshot

    def may_match(self, keys: QueryKeys) -> bool:
        """False is certain, as ``keys`` says it."""
        if not all(key in self for key in keys.exact):
            return False
        return not keys.any or any(key in self for key in keys.any)

    def may_allow(self, where: Condition) -> bool:
        """False when no node can meet the condition."""
        return bool(bounds(where, self.snapshot.facets, self._facets).possibly)


class Readable(Protocol):
    """Where the gate looks."""

    @property
    def view(self) -> View | None:
        """None while there is none."""
        ...

    def may_say_no(self) -> bool:
        """Whether what ``view`` said until now was all that had been acknowledged."""
        ...
