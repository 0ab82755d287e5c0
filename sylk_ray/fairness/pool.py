"""Amounts of resources that are held and given back, under limits: the system's, or one session's own."""

from __future__ import annotations

from collections.abc import Mapping

Demand = tuple[tuple[str, float], ...]
"""Resource and amount, sorted by resource, without zeros."""

_SLACK = 1e-9
"""A sum of tenths is not quite a whole: a demand fits if it is over by no more than this part of the limit."""

_NOTHING: Mapping[str, float] = {}


def demand_of(amounts: Mapping[str, float]) -> Demand:
    """The canonical form, the same whatever order the amounts were given in."""
    return tuple(sorted((resource, float(amount)) for resource, amount in amounts.items() if amount > 0))


class Pool:
    """What is held, by resource, and the most that may be. Limits can shrink under what is held."""

    def __init__(self, limits: Mapping[str, float]) -> None:
        self.limits = dict(limits)
        self.held: dict[str, float] = {}

    def take(self, demand: Demand) -> None:
        """Hold this, whether or not it fits: what runs already, runs."""
        for resource, amount in demand:
            self.held[resource] = self.held.get(resource, 0.0) + amount

    def give_back(self, demand: Demand) -> None:
        for resource, amount in demand:
            left = self.held.get(resource, 0.0) - amount
            if left > _SLACK:
                self.held[resource] = left
            else:
                self.held.pop(resource, None)

    def fits(self, demand: Demand, kept: Mapping[str, float] = _NOTHING) -> bool:
        """Whether there is room for this beside what is held and ``kept`` for others."""
        for resource, amount in demand:
            limit = self.limits.get(resource)
            if limit is not None:
                wanted = self.held.get(resource, 0.0) + amount + kept.get(resource, 0.0)
                if wanted > limit + _SLACK * (1 + limit):
                    return False
        return True

    def short(self, demand: Demand, kept: Mapping[str, float] = _NOTHING) -> list[str]:
        """The resources that this lacks."""
        return [resource for resource, amount in demand if not self.fits(((resource, amount),), kept)]

    def impossible(self, demand: Demand) -> list[str]:
        """The resources of which this wants more than there ever is."""
        return [
            resource
            for resource, amount in demand
            if (limit := self.limits.get(resource)) is not None and amount > limit + _SLACK * (1 + limit)
        ]

    def free(self, resource: str) -> float:
        """What is left of a resource that has a limit; 0 when more is held than there is."""
        return max(0.0, self.limits[resource] - self.held.get(resource, 0.0))
