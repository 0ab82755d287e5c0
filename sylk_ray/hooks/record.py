"""What a hook has cost and done, for people to watch."""

from __future__ import annotations

import msgspec


class HookStatistics(msgspec.Struct):
    """Of one hook, since it was added. Counted in place; who asks gets a copy."""

    name: str
    point: str
    enabled: bool = True
    """When it was asked for."""
    count: int = 0
    """How often it ran; changes, aborts and errors are of these."""
    changed: int = 0
    aborts: int = 0
    errors: int = 0
    total_s: float = 0.0
    max_s: float = 0.0
    last_error: str = ""
    stuck: int = 0
    """Runs that were given up at their deadline and had not ended when it was asked for."""

    def ran(self, seconds: float) -> None:
        self.count += 1
        self.total_s += seconds
        self.max_s = max(self.max_s, seconds)

    def failed(self, error: str) -> None:
        self.errors += 1
        self.last_error = error
