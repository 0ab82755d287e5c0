"""Who wants to hear of what: subscriptions with filters, in a table that many may publish through at once.

::

    table = Subscriptions()
    table.add(Subscription("w1", "session.*.orchestrator.status", watcher, Filter(at_least=Lane.HIGH)))
    table.matching(Publication("session.s-7f3a.orchestrator.status", "TaskFailed", "s-7f3a", Lane.HIGH))
"""

from __future__ import annotations

import threading
from typing import Literal
from zlib import crc32

import msgspec

from sylk_ray.errors import InputError
from sylk_ray.fairness import Lane
from sylk_ray.messaging.address import Address
from sylk_ray.messaging.topics import ANY, TAIL, TopicTrie, pattern_segments, topic_segments

SHARDS = 32
BOUND = 1000

Overflow = Literal["block", "drop_oldest"]


class Filter(msgspec.Struct, frozen=True):
    """What of the topics a subscriber wants: of all sessions and kinds, and however urgent, unless it says so."""

    sessions: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset()
    at_least: Lane = Lane.BACKGROUND
    """The least urgent lane."""

    def admits(self, publication: Publication) -> bool:
        """Whether the subscriber wants it."""
        return (
            publication.priority <= self.at_least
            and (not self.sessions or publication.session in self.sessions)
            and (not self.kinds or publication.kind in self.kinds)
        )


class Publication(msgspec.Struct, frozen=True):
    """What filters look at of something that is published; ``session`` is empty on global topics."""

    topic: str
    kind: str
    session: str = ""
    priority: Lane = Lane.NORMAL


class Subscription(msgspec.Struct, frozen=True):
    """One subscriber's wish. Of what it has not taken yet, ``bound`` are kept: beyond it either the publisher waits
    (``block``), or the oldest is dropped and counted."""

    id: str
    pattern: str
    subscriber: Address
    filter: Filter = Filter()
    overflow: Overflow = "drop_oldest"
    bound: int = BOUND

    def __post_init__(self) -> None:
        pattern_segments(self.pattern)
        if self.bound < 1:
            raise InputError(f"subscription {self.id} has a bound of {self.bound}", hint="it keeps at least one")


class Subscriptions:
    """In shards by what a pattern begins with, as far as that has no wildcard: so all of a session's own are together,
    and changes to others do not hold them up. Matching takes no lock."""

    def __init__(self, shards: int = SHARDS) -> None:
        """``shards`` is a power of two."""
        if shards < 1 or shards & (shards - 1):
            raise InputError(f"{shards} shards: their number must be a power of two")
        self._shards = [_Shard() for _ in range(shards)]
        self._anywhere = _Shard()
        self._places: dict[str, tuple[_Shard, Subscription]] = {}
        self._lock = threading.Lock()
        self._mask = shards - 1

    def __len__(self) -> int:
        return len(self._places)

    def add(self, subscription: Subscription) -> None:
        """Begin; another one of the same id is replaced."""
        shard = self._shard(pattern_segments(subscription.pattern))
        with self._lock:
            before = self._places.get(subscription.id)
            self._places[subscription.id] = (shard, subscription)
        shard.add(subscription)
        if before is not None and before[1] != subscription:
            before[0].discard(before[1])

    def remove(self, id_: str) -> Subscription | None:
        """End; None when there is none of that id."""
        with self._lock:
            known = self._places.pop(id_, None)
        if known is None:
            return None
        known[0].discard(known[1])
        return known[1]

    def remove_of(self, subscriber: Address) -> list[Subscription]:
        """End all of a subscriber's."""
        with self._lock:
            ended = [each for _, each in self._places.values() if each.subscriber == subscriber]
        for each in ended:
            self.remove(each.id)
        return ended

    def matching(self, publication: Publication) -> list[Subscription]:
        """Who is to get it. Raises InvalidTopic."""
        topic = publication.topic
        shard = self._shard(topic_segments(topic))
        found = [] if shard is self._anywhere else shard.trie.match(topic)
        if len(self._anywhere.trie):
            found += self._anywhere.trie.match(topic)
        return [each for each in found if each.filter.admits(publication)]

    def _shard(self, segments: tuple[str, ...]) -> _Shard:
        if len(segments) < 2:
            # "shared" or "#": a topic of one segment is only matched by patterns that are looked through for all.
            return self._anywhere
        first, second = segments[0], segments[1]
        if first in (ANY, TAIL) or second in (ANY, TAIL):
            return self._anywhere
        return self._shards[crc32(f"{first}.{second}".encode()) & self._mask]


class _Shard:
    __slots__ = ("lock", "trie")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.trie: TopicTrie[Subscription] = TopicTrie()

    def add(self, subscription: Subscription) -> None:
        with self.lock:
            self.trie.add(subscription.pattern, subscription)

    def discard(self, subscription: Subscription) -> None:
        with self.lock:
            self.trie.discard(subscription.pattern, subscription)
