"""Maps that stay small: the least recently used entry goes first, and each lives only so long."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import Generic, TypeVar

from sylk_ray.errors import InputError

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

Clock = Callable[[], float]
"""Seconds, of any origin that stays."""


class _Kept(Generic[V]):
    __slots__ = ("expires_at", "size", "value")

    def __init__(self, value: V, expires_at: float, size: int) -> None:
        self.value = value
        self.expires_at = expires_at
        self.size = size


def hit_rate(hits: int, misses: int) -> float:
    """The share of what was looked for that was found; 0 when nothing was."""
    return hits / (hits + misses) if hits + misses else 0.0


class Lru(Generic[K, V]):
    """One map, oldest use first, of ``max_entries`` at most; without, who bounds it calls ``make_room``.

    What has expired is no longer found, and goes when it is looked for or when room is needed.
    """

    def __init__(self, clock: Clock, *, max_entries: int | None = None) -> None:
        if max_entries is not None and max_entries < 1:
            raise InputError(f"a cache of {max_entries} entries holds nothing", hint="give 1 or more")
        self._clock = clock
        self._max_entries = max_entries
        self._kept: OrderedDict[K, _Kept[V]] = OrderedDict()
        self._soonest = float("inf")
        """Before this time nothing expires."""
        self.size = 0
        """The sum of what ``put`` was told."""
        self.evictions = 0
        """What ``put`` dropped to keep the bound, and had not expired."""

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: K) -> V | None:
        """The value, which is from now on the most recently used; None if there is none, or it has expired."""
        value = self.peek(key)
        if value is None:
            self.discard(key)
        else:
            self._kept.move_to_end(key)
        return value

    def peek(self, key: K) -> V | None:
        """As ``get``, and changes nothing."""
        kept = self._kept.get(key)
        return None if kept is None or kept.expires_at <= self._clock() else kept.value

    def put(self, key: K, value: V, *, ttl_s: float = float("inf"), size: int = 1) -> None:
        self.discard(key)
        kept = self._kept[key] = _Kept(value, self._clock() + ttl_s, size)
        self._soonest = min(self._soonest, kept.expires_at)
        self.size += size
        while self._max_entries is not None and len(self) > self._max_entries:
            self.evictions += self.make_room()

    def discard(self, key: K) -> bool:
        """Whether there was such a key."""
        kept = self._kept.pop(key, None)
        if kept is not None:
            self.size -= kept.size
        return kept is not None

    def make_room(self) -> bool:
        """Drop what has expired, else the one that was used the longest time ago; whether one went that had not
        expired. Raises KeyError when it is empty."""
        if self._drop_expired():
            return False
        _, kept = self._kept.popitem(last=False)
        self.size -= kept.size
        return True

    def newest(self) -> Iterator[tuple[K, V]]:
        """What has not expired, the most recently used first."""
        now = self._clock()
        return ((key, kept.value) for key, kept in reversed(self._kept.items()) if kept.expires_at > now)

    def _drop_expired(self) -> int:
        now = self._clock()
        if now < self._soonest:
            return 0
        expired = [key for key, kept in self._kept.items() if kept.expires_at <= now]
        dropped = sum(map(self.discard, expired))
        self._soonest = min((kept.expires_at for kept in self._kept.values()), default=float("inf"))
        return dropped


class SessionLru(Generic[K, V]):
    """Maps of several sessions under one bound: what goes first is the oldest of the session that has the most.

    So a busy session lives on its own entries, and those of a quiet one stay.
    """

    def __init__(self, clock: Clock, *, max_entries: int, max_bytes: int) -> None:
        if max_entries < 1 or max_bytes < 1:
            raise InputError(
                f"a cache of {max_entries} entries and {max_bytes} bytes holds nothing", hint="give 1 or more"
            )
        self._clock = clock
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._sessions: dict[str, Lru[K, V]] = {}
        self._nothing: Lru[K, V] = Lru(clock)
        self.evictions = 0

    def __len__(self) -> int:
        return sum(map(len, self._sessions.values()))

    @property
    def size(self) -> int:
        """In bytes."""
        return sum(each.size for each in self._sessions.values())

    @property
    def sessions(self) -> tuple[str, ...]:
        return tuple(self._sessions)

    def of(self, session: str) -> Lru[K, V]:
        """The session's own map, to read and to discard from."""
        return self._sessions.get(session, self._nothing)

    def put(self, session: str, key: K, value: V, *, ttl_s: float, size: int) -> bool:
        """Whether it was kept: a value that is larger than the bound is not."""
        if size > self._max_bytes:
            return False
        self._sessions.setdefault(session, Lru(self._clock)).put(key, value, ttl_s=ttl_s, size=size)
        while len(self) > self._max_entries:
            self.evictions += max(self._sessions.values(), key=len).make_room()
        while self.size > self._max_bytes:
            self.evictions += max(self._sessions.values(), key=lambda each: each.size).make_room()
        self._sessions = {name: each for name, each in self._sessions.items() if each}
        return True

    def forget(self, session: str) -> int:
        """Drop all of a session's; how many there were."""
        return len(self._sessions.pop(session, ()))
