"""Numbers for people to watch: waits, processing times, counts. All of them bounded in memory."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque

import msgspec

from sylk_ray.fairness.model import Lane

HISTOGRAM_BOUNDS_S = (0.01, 0.05, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)
"""The upper bounds of the histogram of processing times, each included; one more bar holds what is longer."""
_WINDOW = 256


class WaitStatistics(msgspec.Struct, frozen=True):
    """Seconds from a request's ``at`` to its grant. The percentiles are of the last 256."""

    count: int = 0
    mean: float = 0.0
    p50: float = 0.0
    p99: float = 0.0


class Totals(msgspec.Struct, frozen=True):
    """How requests and leases ended. A restored or moved lease is no new grant."""

    granted: int = 0
    refused: int = 0
    withdrawn: int = 0
    released: int = 0
    returned: int = 0
    """Leases and waiting requests that were taken back because their holder fell silent."""
    restored: int = 0


class Waits:
    """The waits of one lane."""

    def __init__(self) -> None:
        self._last: deque[float] = deque(maxlen=_WINDOW)
        self._count = 0
        self._sum = 0.0

    def add(self, seconds: float) -> None:
        self._last.append(seconds)
        self._count += 1
        self._sum += seconds

    def statistics(self) -> WaitStatistics:
        if not self._count:
            return WaitStatistics()
        last = sorted(self._last)
        return WaitStatistics(self._count, self._sum / self._count, _percentile(last, 0.5), _percentile(last, 0.99))


class Record:
    """What happened to one session's requests, or to everyone's."""

    def __init__(self) -> None:
        self.counts = dict.fromkeys(Totals.__struct_fields__, 0)
        self.histogram = [0] * (len(HISTOGRAM_BOUNDS_S) + 1)
        self._waits: dict[Lane, Waits] = {}

    def count(self, what: str) -> None:
        """One more of a field of Totals."""
        self.counts[what] += 1

    def waited(self, lane: Lane, seconds: float) -> None:
        waits = self._waits.get(lane)
        if waits is None:
            waits = self._waits[lane] = Waits()
        waits.add(seconds)

    def processed(self, seconds: float) -> None:
        self.histogram[bisect_left(HISTOGRAM_BOUNDS_S, seconds)] += 1

    def totals(self) -> Totals:
        return Totals(**self.counts)

    def waits(self) -> dict[str, WaitStatistics]:
        """By the name of the lane, of those lanes that were used."""
        return {lane.name.lower(): waits.statistics() for lane, waits in sorted(self._waits.items())}


def _percentile(ordered: list[float], part: float) -> float:
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]
