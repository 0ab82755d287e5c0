"""What waits within one session, and in which order.

Lanes go by priority; every AGE_S of waiting promotes a request by one lane, up to Critical; within a lane the one that
was asked for first goes first. So after four promotions nothing that arrives later can come before it.

Requests that want the same things are of one *kind*, and either all of them fit or none does. A kind keeps a heap by
age for each lane. The oldest of a lane is also the one most promoted, so the next of a kind is one of five heads, and
nothing is ever moved between lanes. Finding the next costs the number of kinds, never the number of requests.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from itertools import count
from typing import NamedTuple

from sylk_ray.fairness.model import Lane, Request
from sylk_ray.fairness.pool import Demand, demand_of

AGE_S = 30.0
"""Seconds of waiting that promote a request by one lane."""


class Kind(NamedTuple):
    """What requests have in common that fit or do not fit together."""

    demand: Demand
    providers: tuple[str, ...]
    """Whose tokens it will use."""


def kind_of(request: Request) -> Kind:
    return Kind(demand_of(request.demand), tuple(sorted(request.tokens)) if request.tokens else ())


Rank = tuple[int, float, int]
"""Promoted lane, when it was asked for, order of arrival."""


class Waiting:
    """One request in line. Its holder can change; its place does not."""

    __slots__ = ("here", "holder", "kind", "number", "request", "since")

    def __init__(self, request: Request, kind: Kind, holder: str, now: float) -> None:
        self.request, self.kind, self.holder = request, kind, holder
        self.since = min(request.at, now)
        self.here = True
        self.number = 0
        """Its place in the order of arrival, given by the queue."""

    def lane_now(self, now: float) -> int:
        """The lane that its age has promoted it to."""
        return max(0, self.request.lane - int((now - self.since) / AGE_S))

    def rank(self, now: float) -> Rank:
        return (self.lane_now(now), self.since, self.number)


class _Line:
    """The requests of one kind."""

    def __init__(self) -> None:
        self.waiting = 0
        self._gone = 0
        self._lanes: list[list[tuple[float, int, Waiting]]] = [[] for _ in Lane]

    def add(self, entry: Waiting) -> None:
        self.waiting += 1
        heappush(self._lanes[entry.request.lane], (entry.since, entry.number, entry))

    def drop(self) -> None:
        """One entry is no longer here; it leaves its heap when it surfaces, or when half of what is left is gone."""
        self.waiting -= 1
        self._gone += 1
        if self._gone > 64 + self.waiting:
            self._gone = 0
            self._lanes = [[each for each in lane if each[2].here] for lane in self._lanes]
            for lane in self._lanes:
                heapify(lane)

    def head(self, now: float) -> tuple[Rank, Waiting] | None:
        best: tuple[Rank, Waiting] | None = None
        for lane in self._lanes:
            while lane and not lane[0][2].here:
                heappop(lane)
                self._gone -= 1
            if lane:
                entry = lane[0][2]
                rank = entry.rank(now)
                if best is None or rank < best[0]:
                    best = (rank, entry)
        return best

    def oldest(self) -> float:
        return min((lane[0][0] for lane in self._lanes if lane), default=float("inf"))

    def entries(self) -> list[Waiting]:
        return [entry for lane in self._lanes for _, _, entry in lane if entry.here]


class SessionQueue:
    """The requests of one session that wait."""

    def __init__(self) -> None:
        self.lanes = [0 for _ in Lane]
        """How many wait, by the lane they were asked for in."""
        self._lines: dict[Kind, _Line] = {}
        self._arrivals = count()

    def __len__(self) -> int:
        return sum(self.lanes)

    def add(self, entry: Waiting) -> None:
        line = self._lines.get(entry.kind)
        if line is None:
            line = self._lines[entry.kind] = _Line()
        entry.number = next(self._arrivals)
        line.add(entry)
        self.lanes[entry.request.lane] += 1

    def remove(self, entry: Waiting) -> None:
        entry.here = False
        self.lanes[entry.request.lane] -= 1
        line = self._lines[entry.kind]
        line.drop()
        if not line.waiting:
            del self._lines[entry.kind]

    def kinds(self) -> list[Kind]:
        return list(self._lines)

    def wants(self, resources: set[str]) -> bool:
        """Whether anything in line demands one of these."""
        return any(resource in resources for kind in self._lines for resource, _ in kind.demand)

    def heads(self, now: float) -> list[Waiting]:
        """The next of each kind, in order; the first is the session's front."""
        if len(self._lines) == 1:
            (line,) = self._lines.values()
            head = line.head(now)
            return [head[1]] if head else []
        heads = [head for line in self._lines.values() if (head := line.head(now))]
        heads.sort(key=lambda head: head[0])
        return [entry for _, entry in heads]

    def of_kind(self, kind: Kind) -> list[Waiting]:
        """Every entry of a kind, oldest first."""
        line = self._lines.get(kind)
        return sorted(line.entries(), key=lambda entry: (entry.since, entry.number)) if line else []

    def entries(self) -> list[Waiting]:
        return [entry for line in self._lines.values() for entry in line.entries()]

    def longest_wait(self, now: float) -> float:
        """Seconds; 0 when nothing waits."""
        for line in self._lines.values():
            line.head(now)
        return max((now - line.oldest() for line in self._lines.values()), default=0.0)

    def ahead_of(self, entry: Waiting, now: float) -> int:
        """How many come before it. For people: this one does look at every request."""
        rank = entry.rank(now)
        return sum(other.rank(now) < rank for other in self.entries())
