"""How many tokens each session has used in all: what outlives leases, holders and a FairShare."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping


class TokenLedger:
    """Counts that only grow, one for each session and source (the life of a holder), of which the largest holds: a
    grow-only counter (Shapiro et al., "Conflict-free Replicated Data Types", SSS 2011). So a report may be lost, or
    come twice or late, and an old copy may be merged with new reports: nothing is counted twice.
    """

    def __init__(self) -> None:
        self._counts: defaultdict[str, dict[str, float]] = defaultdict(dict)
        self._changed: set[str] = set()

    def __contains__(self, session: str) -> bool:
        return session in self._counts

    def take_up(self, session: str, counts: Mapping[str, float]) -> None:
        """What was kept of a session; nothing of it need be kept again."""
        known = self._counts[session]
        for source, tokens in counts.items():
            known[source] = max(known.get(source, 0.0), tokens)

    def report(self, session: str, source: str, tokens: float) -> None:
        """A source has used so many tokens for a session, in all its life."""
        known = self._counts[session]
        if tokens > known.get(source, 0.0):
            known[source] = tokens
            self._changed.add(session)

    def total(self, session: str) -> float:
        """What a session has used."""
        return sum(self._counts[session].values()) if session in self._counts else 0.0

    def counts(self, session: str) -> dict[str, float]:
        """What is to be kept of a session, by source."""
        return dict(self._counts[session]) if session in self._counts else {}

    def take_changed(self) -> list[str]:
        """The sessions that are to be kept anew, since this was asked last."""
        changed, self._changed = sorted(self._changed), set()
        return changed

    def change(self, session: str) -> None:
        """It could not be kept: it is to be, next time."""
        if session in self._counts:
            self._changed.add(session)

    def forget(self, session: str) -> None:
        """The session is over."""
        self._counts.pop(session, None)
        self._changed.discard(session)
