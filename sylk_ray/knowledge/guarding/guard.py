"""The gate of one domain: what was published of it, its file, and whether it can be relied on."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import numpy as np

from sylk_ray.knowledge.gate import Facets, Grant, LeaseTerms, Publisher, Push, Renew, SnapshotDamaged
from sylk_ray.knowledge.gate.facets import Facet
from sylk_ray.knowledge.gate.filters import Keys
from sylk_ray.knowledge.gate.messages import Confirm
from sylk_ray.knowledge.gate.views import View
from sylk_ray.knowledge.guarding import files
from sylk_ray.knowledge.store.generations import NOTHING

log = logging.getLogger("sylk.gate")

PENDING_KEYS = 50_000
PENDING_SHARE = 0.1
"""Keys that are not in the filter, alone and beside those that are, from which on it is built again."""
GONE_NODES = 5_000
GONE_SHARE = 0.1
"""Nodes that are gone and still in the bitmaps, from which on all is read from the store again."""

Pieces = Iterator[tuple[set[int], list[tuple[int, tuple[Facet, ...]]]]]
"""Keys and nodes, some at a time."""


class Written(msgspec.Struct):
    """What a transaction adds to a domain."""

    keys: set[int] = msgspec.field(default_factory=set[int])
    nodes: list[tuple[int, tuple[Facet, ...]]] = msgspec.field(default_factory=list[tuple[int, tuple[Facet, ...]]])


class GuardNumbers(msgspec.Struct, frozen=True, kw_only=True):
    """How it stands with the gate of a domain."""

    noes: int
    maybes: int
    unknown: int
    """Questions that were let through because the gate could not be relied on."""
    in_vain: int
    """Of ``maybes``, searches by words that then found nothing."""
    bytes: int
    """Of the snapshot that readers have."""
    pending: int
    """Keys that came since."""
    readers: int
    sure: bool


class Guard:
    """Threads may share it. It is what the owner's own gate looks at: ``Readable``."""

    def __init__(
        self, file: Path, generation: int, *, terms: LeaseTerms, clock: Callable[[], float], owners_gone: bool
    ) -> None:
        """Of the file if it is of this generation; else it knows nothing until ``rebuild``."""
        self._file = file
        self._generation = generation
        self._gone = 0
        self._doubts = 0
        self._changed = threading.Condition()
        """Also the lock of all that follows."""
        self._building = threading.Lock()
        """One snapshot is built at a time."""
        self._saved = True
        self.sure = generation == NOTHING
        """Whether it knows of everything that was written."""
        kept = files.read(file, generation) if generation != NOTHING else None
        if kept is not None:
            try:
                self._publisher = Publisher(
                    kept.keys, snapshot=kept.snapshot, terms=terms, clock=clock, owners_gone=owners_gone
                )
                self._gone = kept.gone
                self.sure = True
                return
            except SnapshotDamaged as problem:
                log.warning("the gate's file %s is not used: %s", file, problem)
        empty: Keys = np.empty(0, dtype=np.uint64)
        self._publisher = Publisher(empty, terms=terms, clock=clock, owners_gone=owners_gone)

    # Asked by the gate

    @property
    def view(self) -> View | None:
        return self._publisher.view if self.sure else None

    def may_say_no(self) -> bool:
        return self.sure

    # Writing

    def publish(self, written: Written, generation: int) -> tuple[Push, int]:
        """What was committed: to be sent to readers, and the version to ``settle``."""
        with self._changed:
            push = self._publisher.publish(written.keys, written.nodes)
            self._generation = generation
            self._saved = False
            return push, self._publisher.version

    def forget(self, nodes: int) -> None:
        """So many nodes are gone; what was published of them stays until all is read again."""
        with self._changed:
            self._gone += nodes

    def doubt(self, generation: int) -> None:
        """If this is another generation than the last that was published, something is not known."""
        with self._changed:
            if generation != self._generation:
                self.sure = False
                self._doubts += 1
                self._generation = generation

    def settle(self, version: int) -> None:
        """Wait until no reader denies what was published up to a version: no longer than a lease lasts."""
        with self._changed:
            while not self._publisher.acknowledged(version):
                self._changed.wait(max(self._publisher.longest_wait_s(version), 0.001))

    # Readers

    def granted(self, asked: Renew) -> Grant | None:
        """A lease; none as long as something is not known."""
        with self._changed:
            return self._publisher.granted(asked) if self.sure else None

    def confirmed(self, said: Confirm) -> None:
        """A reader knows what was published."""
        with self._changed:
            self._publisher.confirmed(said)
            self._changed.notify_all()

    def snapshot(self) -> tuple[bytes, int, bytes] | None:
        """Epoch, version and content of what readers read; none as long as something is not known."""
        with self._changed:
            return (self._publisher.epoch, self._publisher.base, self._publisher.snapshot) if self.sure else None

    # Building

    def wants_rebuild(self) -> bool:
        """Whether what came since, or what went, is much beside what there is."""
        with self._changed:
            return not self.sure or self._wants_reading() or self._pending_is_much()

    def rebuild(self, stored: Callable[[], Pieces], *, anew: bool = False) -> None:
        """Build the filter and bitmaps again: of what was published, or where that is not all or ``anew``, of the
        store, which ``stored`` reads. Searches and writes go on meanwhile. Raises what reading raises."""
        with self._building:
            with self._changed:
                reading = anew or not self.sure or self._wants_reading()
                gone, doubts = self._gone, self._doubts
                if reading:
                    # What is read has its own version: it may have more than what readers have of the last one.
                    self._publisher.publish(())
                rebuilding = self._publisher.begin_rebuild()
            built = rebuilding.build(*_collected(stored())) if reading else rebuilding.build()
            with self._changed:
                self._publisher.finish_rebuild(built)
                if reading:
                    self._gone -= gone
                    # What came into doubt meanwhile may have been read, or not.
                    self.sure = self.sure or doubts == self._doubts
                self._saved = False

    def save(self) -> None:
        """Bring it to the disk, if all is known. A file that cannot be written is one that is not used."""
        with self._building:
            with self._changed:
                if self._saved or not self.sure:
                    return
                generation, gone = self._generation, self._gone
                rebuilding = self._publisher.begin_rebuild() if self._publisher.view.deltas else None
            built = rebuilding.build() if rebuilding else None
            with self._changed:
                if built is not None:
                    self._publisher.finish_rebuild(built)
                kept = files.Kept(generation, gone, self._publisher.snapshot, self._publisher.keys)
            try:
                files.write(self._file, kept)
            except OSError as problem:
                log.warning("the gate's file %s cannot be written: %s", self._file, problem)
                return
            with self._changed:
                self._saved = self._saved or self._generation == generation

    # Numbers

    @property
    def pending(self) -> int:
        """Keys that came since the filter was built."""
        with self._changed:
            return self._publisher.pending

    @property
    def readers(self) -> int:
        """Those that may hold a lease."""
        with self._changed:
            return self._publisher.readers

    @property
    def size(self) -> int:
        """Bytes of the snapshot."""
        return len(self._publisher.snapshot)

    def _pending_is_much(self) -> bool:
        pending = self._publisher.pending
        return pending > PENDING_KEYS and pending > PENDING_SHARE * len(self._publisher.keys)

    def _wants_reading(self) -> bool:
        nodes = len(self._publisher.view.snapshot.facets.nodes)
        return self._gone > GONE_NODES and self._gone > GONE_SHARE * nodes


def _collected(pieces: Pieces) -> tuple[Keys, Facets]:
    keys: set[int] = set()
    facets = Facets()
    for some, nodes in pieces:
        keys |= some
        facets.add(nodes)
    return np.fromiter(keys, dtype=np.uint64, count=len(keys)), facets
