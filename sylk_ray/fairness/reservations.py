"""What is kept free for large requests, so that a stream of small ones cannot starve them.

A request that does not fit lets smaller ones pass. Once it has been its session's front for ``patience_s``, the first
time that anything would pass it it *reserves*: from then on each resource that it is found short of is kept free for
it, until it fits. That is the reservation of backfilling schedulers (Lifka, "The ANL/IBM SP Scheduling System", 1995),
without their need to know how long jobs take.

Reservations are of disjoint resources: a request that wants a resource of another's reservation waits for that to be
met. While one is kept waiting so, none that comes behind it in the order of sessions may reserve what it wants.
"""

from __future__ import annotations

from collections.abc import Mapping

from sylk_ray.fairness.pool import Pool
from sylk_ray.fairness.session import Session
from sylk_ray.fairness.session_queue import Waiting


class Reservation:
    """``kept`` grows with every resource that was short; what it does not lack it does not keep from others."""

    __slots__ = ("entry", "kept", "session")

    def __init__(self, entry: Waiting, session: Session) -> None:
        self.entry, self.session = entry, session
        self.kept: dict[str, float] = {}


class Reservations:
    """All that hold at a time."""

    def __init__(self) -> None:
        self._list: list[Reservation] = []
        self.kept: dict[str, float] = {}
        """The sum: what everybody else has to leave free."""

    def all(self) -> list[Reservation]:
        return list(self._list)

    def holds(self, entry: Waiting) -> bool:
        return any(reservation.entry is entry for reservation in self._list)

    def reserve(self, entry: Waiting, session: Session, system: Pool, claimed: set[str]) -> None:
        """Reserve, or if others are in the way lay claim to what is wanted, for those who come behind."""
        wanted = {resource for resource, _ in entry.kind.demand if resource in system.limits}
        if self.holds(entry):
            return
        taken = {resource for other in self._list for resource, _ in other.entry.kind.demand}
        if wanted & (claimed | taken):
            claimed |= wanted
        else:
            self._list.append(Reservation(entry, session))
            self.keep(system)

    def keep(self, system: Pool) -> None:
        """Find what the reserved requests are short of at present."""
        if not self._list:
            return
        self.kept = {}
        for reservation in self._list:
            amounts = dict(reservation.entry.kind.demand)
            for resource in system.short(reservation.entry.kind.demand):
                reservation.kept[resource] = amounts[resource]
            self.kept.update(reservation.kept)

    def drop(self, entry: Waiting) -> None:
        """It was met, or it is not in front any more."""
        if self._list:
            self._list = [reservation for reservation in self._list if reservation.entry is not entry]
            self.kept = {}
            for reservation in self._list:
                self.kept.update(reservation.kept)

    def in_the_way_of(self, kind_demand: Mapping[str, float]) -> list[Reservation]:
        """The reservations that keep something of this."""
        return [each for each in self._list if any(resource in each.kept for resource in kind_demand)]
