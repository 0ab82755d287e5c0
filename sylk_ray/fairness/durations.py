"""How long a session's work of one kind usually takes, learnt from what it did."""

from __future__ import annotations

from sylk_ray.fairness.pool import Demand

FIRST_GUESS_S = 1.0
_NEWEST = 0.3
"""The part of the newest duration in the moving average."""
_MOST_KINDS = 64


class Durations:
    """An exponentially weighted moving average for each kind of demand, of the kinds that ended last."""

    def __init__(self) -> None:
        self._average: dict[Demand, float] = {}

    def estimate_s(self, demand: Demand) -> float:
        return self._average.get(demand, FIRST_GUESS_S)

    def learn(self, demand: Demand, took_s: float) -> None:
        before = self._average.pop(demand, None)
        self._average[demand] = took_s if before is None else before + _NEWEST * (took_s - before)
        if len(self._average) > _MOST_KINDS:
            del self._average[next(iter(self._average))]
