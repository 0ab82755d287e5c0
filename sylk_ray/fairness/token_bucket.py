"""A rate of tokens a minute, as a bucket that fills steadily and may go into debt."""

from __future__ import annotations

_ENOUGH = 1.0
"""Tokens that must be in the bucket for a request to start."""


class TokenBucket:
    """Holds at most a minute's worth, full at first.

    A request starts when the bucket is positive and takes its whole estimate, so that large requests cannot starve;
    the debt delays the next ones. Over any time the tokens taken are at most those of the rate, plus a minute's
    worth, plus what the last request took beyond zero.
    """

    def __init__(self, per_minute: float, now: float) -> None:
        self.per_minute = per_minute
        self._level = self._size
        self._at = now

    @property
    def _size(self) -> float:
        return max(self.per_minute, _ENOUGH)

    def change(self, per_minute: float, now: float) -> None:
        """Another rate from now on; debts stay."""
        self._fill(now)
        self.per_minute = per_minute
        self._level = min(self._level, self._size)

    def take(self, tokens: float, now: float) -> None:
        """Tokens were used, or (below 0) had been taken and were not used."""
        self._fill(now)
        self._level = min(self._level - tokens, self._size)

    def positive(self, now: float) -> bool:
        self._fill(now)
        return self._level >= _ENOUGH - 1e-6

    def positive_at(self, now: float) -> float:
        """When a request can start if nothing is taken before; ``now`` if it can already, and never is infinite."""
        if self.positive(now):
            return now
        return now + (_ENOUGH - self._level) * 60 / self.per_minute if self.per_minute > 0 else float("inf")

    def level(self, now: float) -> float:
        """Tokens there are; below 0 is a debt."""
        self._fill(now)
        return self._level

    def _fill(self, now: float) -> None:
        if now > self._at:
            self._level = min(self._size, self._level + (now - self._at) * self.per_minute / 60)
            self._at = now
