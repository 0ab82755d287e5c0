"""Who holds keys, and when each of them was last heard of."""

from __future__ import annotations

LEASE_S = 4.0
"""Seconds of silence after which a holder's leases return: within 5 s, with a tick each second."""


class Holders:
    """Holders (cells) by when they last said anything, and the keys that each holds or waits for."""

    def __init__(self) -> None:
        self._seen: dict[str, float] = {}
        self._keys: dict[str, set[str]] = {}

    def heard(self, holder: str, now: float) -> None:
        self._seen[holder] = max(now, self._seen.get(holder, now))

    def give(self, holder: str, key: str) -> None:
        self._keys.setdefault(holder, set()).add(key)

    def take(self, holder: str, key: str) -> None:
        keys = self._keys.get(holder)
        if keys is not None:
            keys.discard(key)
            if not keys:
                del self._keys[holder]

    def keys_of(self, holder: str) -> list[str]:
        """Sorted."""
        return sorted(self._keys.get(holder, ()))

    def silent(self, now: float) -> list[str]:
        """Those whose leases are over, sorted."""
        return sorted(holder for holder, seen in self._seen.items() if now - seen >= LEASE_S)

    def forget(self, holder: str) -> None:
        self._seen.pop(holder, None)

    def next_silence(self) -> float | None:
        """When the first of them that has any keys will be over, if it says nothing more."""
        return min((self._seen[holder] + LEASE_S for holder in self._keys if holder in self._seen), default=None)
