"""A circuit breaker: who has failed again and again is left alone for a while."""

from __future__ import annotations

from typing import Literal

FAILURES = 5
OPEN_S = 15.0
LONGEST_OPEN_S = 300.0


class Breaker:
    """Closed while all is well; open after ``failures`` in a row; then half open, when one call may try.

    It has no clock: it is told the time, in seconds. Source: Nygard, "Release It!", "Circuit Breaker".
    """

    def __init__(
        self, *, failures: int = FAILURES, open_s: float = OPEN_S, longest_open_s: float = LONGEST_OPEN_S
    ) -> None:
        """It stays open for ``open_s``, and each time that the trial fails twice as long, to ``longest_open_s``."""
        self._most = failures
        self._first_open_s = self._open_s = open_s
        self._longest_open_s = longest_open_s
        self._failed = 0
        self._opened_at: float | None = None
        self._trying = False

    def state(self, now: float) -> Literal["closed", "open", "half_open"]:
        """How it stands."""
        if self._opened_at is None:
            return "closed"
        return "half_open" if now >= self._opened_at + self._open_s else "open"

    def opens_in(self, now: float) -> float:
        """Seconds until a call may try; 0 when it may now."""
        return 0.0 if self._opened_at is None else max(0.0, self._opened_at + self._open_s - now)

    def admit(self, now: float) -> bool:
        """Whether a call may be made. Each one that may must end in ``succeeded``, ``failed`` or ``abandoned``."""
        state = self.state(now)
        if state == "half_open" and not self._trying:
            self._trying = True
            return True
        return state == "closed"

    def succeeded(self) -> None:
        """A call was answered, if only with a refusal."""
        self._failed = 0
        self._opened_at = None
        self._open_s = self._first_open_s
        self._trying = False

    def failed(self, now: float) -> None:
        """A call found the provider unwell."""
        self._failed += 1
        if self._trying:
            self._open_s = min(self._open_s * 2, self._longest_open_s)
            self._opened_at = now
            self._trying = False
        elif self._opened_at is None and self._failed >= self._most:
            self._opened_at = now

    def abandoned(self) -> None:
        """A call was given up by whoever made it, and says nothing of the provider."""
        self._trying = False
