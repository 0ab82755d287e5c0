"""What a hook has cost and done, for people to watch."""

from __future__ import annotations

import msgspec


class HookStatistics(msgspec.Struct, frozen=True):
    """Of one hook, since it was added."""

    name: str
    point: str
    enabled: bool
    count: int
    """How often it ran; changes, aborts and errors are of these."""
    changed: int
    aborts: int
    errors: int
    total_s: float
    max_s: float
    last_error: str
    stuck: int
    """Runs that were given up at their deadline and have not ended yet."""


class Record:
    """The counters behind it."""

    __slots__ = ("aborts", "changed", "count", "errors", "last_error", "max_s", "total_s")

    def __init__(self) -> None:
        self.count = self.changed = self.aborts = self.errors = 0
        self.total_s = self.max_s = 0.0
        self.last_error = ""

    def ran(self, seconds: float) -> None:
        self.count += 1
        self.total_s += seconds
        self.max_s = max(self.max_s, seconds)

    def failed(self, error: str) -> None:
        self.errors += 1
        self.last_error = error
