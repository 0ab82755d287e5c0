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


class Lru(Generic[K, V]):
    """One map, oldest use first. It counts what expires; who bounds it calls ``drop_oldest``."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._kept: OrderedDict[K, _Kept[V]] = OrderedDict()
        self.size = 0
        """The sum of what ``put`` was told."""

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
        self._kept[key] = _Kept(value, self._clock() + ttl_s, size)
        self.size += size

    def discard(self, key: K) -> bool:
        """Whether there was such a key."""
        kept = self._kept.pop(key, None)
        if kept is not None:
            self.size -= kept.size
        return kept is not None

    def drop_oldest(self) -> None:
        """The one that was used the longest time ago. Raises KeyError when there is none."""
        _, kept = self._kept.popitem(last=False)
        self.size -= kept.size

    def drop_expired(self) -> int:
        """How many there were."""
        now = self._clock()
        expired = [key for key, kept in self._kept.items() if kept.expires_at <= now]
        return sum(map(self.discard, expired))

    def newest(self) -> Iterator[tuple[K, V]]:
        """What has not expired, the most recently used first."""
        now = self._clock()
        return ((key, kept.value) for key, kept in reversed(self._kept.items()) if kept.expires_at > now)


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
            self._evict(max(self._sessions.values(), key=len))
        while self.size > self._max_bytes:
            self._evict(max(self._sessions.values(), key=lambda each: each.size))
        self._sessions = {name: each for name, each in self._sessions.items() if each}
        return True

    def forget(self, session: str) -> int:
        """Drop all of a session's; how many there were."""
        return len(self._sessions.pop(session, ()))

    def _evict(self, largest: Lru[K, V]) -> None:
        if not largest.drop_expired():
            largest.drop_oldest()
            self.evictions += 1
