"""The writer's side: what is published of one domain, who reads it, and when a write counts as seen by all of them.

A write is published as a delta; it is acknowledged once every reader that holds a lease has confirmed it, or that lease
has run out (leases: Gray and Cheriton, 1989). A reader without a lease refuses nothing, so none ever refuses what was
acknowledged. A writer that has just begun knows no leases of the one before it, and so waits for one to run out.

One writer of a domain lives at a time; that is for who starts it to see to.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence

import msgspec
import numpy as np

from sylk_ray.knowledge.gate.durations import LeaseTerms, lease_clock
from sylk_ray.knowledge.gate.facets import Facet, Facets
from sylk_ray.knowledge.gate.filters import KeyFilter, Keys, distinct
from sylk_ray.knowledge.gate.messages import Confirm, Grant, Push, Renew
from sylk_ray.knowledge.gate.snapshots import Snapshot, encode, restamped
from sylk_ray.knowledge.gate.views import Delta, View


class Holder(msgspec.Struct):
    """A reader that may hold leases, by the writer's clock."""

    confirmed: int
    leases: list[tuple[int, float]] = []
    """For each that it was granted, what who accepts it has: everything up to that version; and until when it lasts.
    Both only grow."""

    def may_deny(self, version: int, now: float) -> bool:
        """Whether it may have accepted a lease without this version, which lasts still. One that it was granted with it
        does not count, accepted or not: a reader that never accepts holds up nobody for longer than a lease."""
        return self.confirmed < version and any(known < version and until > now for known, until in self.leases)

    def longest(self, version: int) -> float:
        """Until when such a lease lasts."""
        return max((until for known, until in self.leases if known < version), default=float("-inf"))


class Rebuilding:
    """A snapshot of all that was published up to ``version``, to be built in any thread."""

    def __init__(self, epoch: bytes, version: int, keys: Keys, facets: Facets, deltas: Sequence[Delta]) -> None:
        self.version = version
        self._epoch = epoch
        self._keys = keys
        self._facets = facets
        self._deltas = deltas

    def build(self, keys: Keys | None = None, facets: Facets | None = None) -> Built:
        """Of all keys and nodes so far; or of those given, which were read from the store after this began, so that
        what is no longer there is forgotten. What was published last belongs to it in either case."""
        last = [each.each_key() for each in self._deltas]
        base = self._keys if keys is None else keys
        every = distinct(np.concatenate([base, *(np.array(each, dtype=np.uint64) for each in last)]))
        nodes = [node for each in self._deltas for node in each.nodes]
        merged = (self._facets if facets is None else facets).merged(nodes)
        return Built(encode(self._epoch, self.version, KeyFilter.build(every), (), merged), every, self.version)


class Built(msgspec.Struct, frozen=True, eq=False):
    """What ``Rebuilding.build`` made."""

    snapshot: bytes
    keys: Keys
    version: int


class Publisher:
    """The state of the writer. Not for several threads at once, but for ``Rebuilding.build``.

    ``keys`` and ``facets`` are all that there is when it begins. ``owners_gone`` says that no reader of a writer before
    this one lives any more, so that nothing has to be waited for. ``snapshot`` is one of an earlier writer with all of
    these keys, distinct and sorted, and then ``facets`` are in it. Raises SnapshotDamaged.
    """

    def __init__(
        self,
        keys: Keys,
        facets: Facets | None = None,
        *,
        terms: LeaseTerms | None = None,
        clock: Callable[[], float] = lease_clock,
        owners_gone: bool = False,
        epoch: bytes | None = None,
        snapshot: bytes | None = None,
    ) -> None:
        self.terms = terms or LeaseTerms()
        self.epoch = epoch or os.urandom(16)
        self._clock = clock
        self._quiet_until = clock() if owners_gone else clock() + self.terms.writer_s
        self._holders: dict[str, Holder] = {}
        self._rebuilding: Rebuilding | None = None
        if snapshot is None:
            built = Rebuilding(self.epoch, 0, keys, facets or Facets(), ()).build()
        else:
            built = Built(restamped(snapshot, self.epoch), keys, 0)
        self._put(built, ())

    @property
    def view(self) -> View:
        """Of the writer itself, which always knows everything."""
        return self._view

    def may_say_no(self) -> bool:
        return True

    @property
    def snapshot(self) -> bytes:
        """To be put where readers can read it; named by ``epoch`` and ``base``."""
        return self._snapshot

    @property
    def keys(self) -> Keys:
        """All in the snapshot, sorted."""
        return self._keys

    @property
    def base(self) -> int:
        return self._view.snapshot.version

    @property
    def version(self) -> int:
        return self._view.version

    @property
    def pending(self) -> int:
        """How many keys came since the snapshot: a reason to rebuild."""
        return sum(len(each.keys) // 8 for each in self._view.deltas)

    @property
    def readers(self) -> int:
        """Those that may hold a lease."""
        self._forget_expired()
        return len(self._holders)

    # Writing

    def publish(self, keys: Iterable[int], nodes: Iterable[tuple[int, tuple[Facet, ...]]] = ()) -> Push:
        """To be sent to all readers. Its last delta's version is what to wait for with ``acknowledged``.

        Keys that all readers have are left out."""
        delta = Delta.of(self.version + 1, self._new(keys), nodes)
        self._view.add(delta)
        return Push(self.epoch, (delta,))

    def _new(self, keys: Iterable[int]) -> list[int]:
        asked = np.fromiter(keys, dtype=np.uint64)
        # A snapshot that is being built of the store may lack what the present one has.
        if self._rebuilding is None and len(self._keys):
            at = np.minimum(np.searchsorted(self._keys, asked), len(self._keys) - 1)
            asked = asked[self._keys[at] != asked]
        return [key for key in asked.tolist() if not self._view.was_added(key)]

    def acknowledged(self, version: int) -> bool:
        """Whether no reader will refuse what was published up to this version."""
        if self._clock() < self._quiet_until:
            return False
        self._forget_expired()
        now = self._clock()
        return not any(each.may_deny(version, now) for each in self._holders.values())

    def longest_wait_s(self, version: int) -> float:
        """After which it is acknowledged in any case, if no reader comes that has it not; 0 when it is."""
        now = self._clock()
        waited_for = [each.longest(version) for each in self._holders.values() if each.confirmed < version]
        return max(0.0, *(until - now for until in (self._quiet_until, *waited_for)), 0.0)

    # Readers

    def granted(self, asked: Renew) -> Grant:
        """A lease for who asks. The answer has to be made when it is sent, or earlier, and never kept for later."""
        same = asked.epoch == self.epoch and asked.base == self.base
        version = asked.version if same else self.base
        deltas = tuple(each for each in self._view.deltas if each.version > version)
        confirmed = asked.version if asked.epoch == self.epoch else -1
        holder = self._holders.setdefault(asked.reader, Holder(confirmed))
        holder.confirmed = max(holder.confirmed, confirmed)
        now = self._clock()
        holder.leases = [lease for lease in holder.leases if lease[1] > now]
        holder.leases.append((self.version, now + self.terms.writer_s))
        return Grant(asked.number, self.epoch, self.base, self.version, not same, deltas)

    def confirmed(self, said: Confirm) -> None:
        """Also of readers whose lease is over, and of another epoch: then it says nothing."""
        holder = self._holders.get(said.reader)
        if holder is not None and said.epoch == self.epoch:
            holder.confirmed = max(holder.confirmed, said.version)

    def _forget_expired(self) -> None:
        now = self._clock()
        self._holders = {name: each for name, each in self._holders.items() if each.leases[-1][1] > now}

    # Rebuilding

    def begin_rebuild(self) -> Rebuilding:
        """Of all that was published until now. A later one makes an earlier one worthless."""
        view = self._view
        self._rebuilding = Rebuilding(self.epoch, view.version, self._keys, view.snapshot.facets, tuple(view.deltas))
        return self._rebuilding

    def finish_rebuild(self, built: Built) -> bool:
        """Publish it, with the deltas that came meanwhile; whether it was the one that was begun last."""
        if self._rebuilding is None or built.version != self._rebuilding.version:
            return False
        self._rebuilding = None
        self._put(built, [each for each in self._view.deltas if each.version > built.version])
        return True

    def _put(self, built: Built, deltas: Sequence[Delta]) -> None:
        self._snapshot = built.snapshot
        self._keys = built.keys
        self._view = View(Snapshot(built.snapshot), deltas)
