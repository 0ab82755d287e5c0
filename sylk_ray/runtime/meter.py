"""Counting what a host does, cheaply: plain numbers on the hot path, handed to a sink now and then."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from typing import Protocol

import msgspec

LATENCY_BOUNDS_S = (0.0001, 0.001, 0.01, 0.1, 1.0, 10.0, 60.0)


class RoleCount(msgspec.Struct):
    """What the agents of one role in one session did since the last report."""

    handled: int = 0
    failed: int = 0
    seconds: float = 0.0
    buckets: list[int] = msgspec.field(default_factory=lambda: [0] * (len(LATENCY_BOUNDS_S) + 1))


class RoleLevel(msgspec.Struct):
    """How the agents of one role in one session are right now."""

    active: int = 0
    depth: int = 0


class MetricsSink(Protocol):
    """Where counts go: ray.util.metrics in a cell, a list in a test."""

    def counts(self, session: str, role: str, count: RoleCount) -> None:
        """Add what happened since the last report."""
        ...

    def levels(self, levels: dict[tuple[str, str], RoleLevel]) -> None:
        """Set how things are; what is absent is zero."""
        ...

    def blocked(self, role: str, seconds: float) -> None:
        """The loop was blocked for that long by an agent of the role."""
        ...

    def measured(self, name: str, value: float, labels: Mapping[str, str]) -> None:
        """Set what an agent has measured; labels of one name always have the same keys."""
        ...


class NoMetrics:
    """A sink that keeps nothing."""

    def counts(self, session: str, role: str, count: RoleCount) -> None:
        """Nothing."""

    def levels(self, levels: dict[tuple[str, str], RoleLevel]) -> None:
        """Nothing."""

    def blocked(self, role: str, seconds: float) -> None:
        """Nothing."""

    def measured(self, name: str, value: float, labels: Mapping[str, str]) -> None:
        """Nothing."""


class Meter:
    """Counts by (session, role): never by agent, for every series lives as long as its process."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], RoleCount] = {}

    def handled(self, session: str, role: str, seconds: float, failed: bool) -> None:
        """One message was handled."""
        count = self._counts.get((session, role))
        if count is None:
            count = self._counts[(session, role)] = RoleCount()
        count.handled += 1
        count.failed += failed
        count.seconds += seconds
        count.buckets[bisect_left(LATENCY_BOUNDS_S, seconds)] += 1

    def report(self, sink: MetricsSink) -> None:
        """Hand over what was counted and begin again."""
        counts, self._counts = self._counts, {}
        for (session, role), count in counts.items():
            sink.counts(session, role, count)
