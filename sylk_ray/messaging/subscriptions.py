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
from sylk_ray.messaging.topics import ANY, TAIL, TopicTrie, matches, pattern_segments, reaches, topic_segments

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
    (``block``), or the oldest is dropped and counted. ``after`` is the number of the last event that the subscriber
    has of a session's history, and None to begin with what comes next."""

    id: str
    pattern: str
    subscriber: Address
    filter: Filter = Filter()
    overflow: Overflow = "drop_oldest"
    bound: int = BOUND
    after: int | None = None

    def __post_init__(self) -> None:
        pattern_segments(self.pattern)
        if self.bound < 1:
            raise InputError(f"subscription {self.id} has a bound of {self.bound}", hint="it keeps at least one")

    def wants(self, publication: Publication) -> bool:
        """Whether it is of these topics and passes the filter. Raises InvalidTopic."""
        return matches(self.pattern, publication.topic) and self.filter.admits(publication)

    def may_want(self, session: str) -> bool:
        """Whether anything of that session's topics could ever be wanted."""
        return (not self.filter.sessions or session in self.filter.sessions) and reaches(self.pattern, session)


class Subscriptions:
    """In shards by what a pattern begins with, as far as that has no wildcard: so a topic is looked up among its own
    session's patterns and those that begin with a wildcard. Changes are made one at a time; matching takes no lock."""

    def __init__(self, shards: int = SHARDS) -> None:
        """``shards`` is a power of two."""
        if shards < 1 or shards & (shards - 1):
            raise InputError(f"{shards} shards: their number must be a power of two")
        self._shards: list[TopicTrie[Subscription]] = [TopicTrie() for _ in range(shards)]
        self._anywhere: TopicTrie[Subscription] = TopicTrie()
        self._known: dict[str, Subscription] = {}
        # Of the table and the tries together: were they changed one after the other, an add and a remove of one id
        # could each undo half of the other's.
        self._changing = threading.Lock()
        self._mask = shards - 1

    def __len__(self) -> int:
        return len(self._known)

    def get(self, id_: str) -> Subscription | None:
        """The subscription of that id."""
        return self._known.get(id_)

    def all(self) -> list[Subscription]:
        """Every one of them."""
        with self._changing:
            return list(self._known.values())

    def add(self, subscription: Subscription) -> None:
        """Begin; another one of the same id is replaced."""
        with self._changing:
            before = self._known.get(subscription.id)
            self._known[subscription.id] = subscription
            self._trie(pattern_segments(subscription.pattern)).add(subscription.pattern, subscription)
            if before is not None and before != subscription:
                self._discard(before)

    def remove(self, id_: str) -> Subscription | None:
        """End; None when there is none of that id."""
        with self._changing:
            known = self._known.pop(id_, None)
            if known is not None:
                self._discard(known)
            return known

    def matching(self, publication: Publication) -> list[Subscription]:
        """Who is to get it. Raises InvalidTopic."""
        topic = publication.topic
        trie = self._trie(topic_segments(topic))
        found = [] if trie is self._anywhere else trie.match(topic)
        if len(self._anywhere):
            found += self._anywhere.match(topic)
        return [each for each in found if each.filter.admits(publication)]

    def _discard(self, subscription: Subscription) -> None:
        self._trie(pattern_segments(subscription.pattern)).discard(subscription.pattern, subscription)

    def _trie(self, segments: tuple[str, ...]) -> TopicTrie[Subscription]:
        if len(segments) < 2:
            # "shared" or "#": a topic of one segment is only matched by patterns that are looked through for all.
            return self._anywhere
        first, second = segments[0], segments[1]
        if first in (ANY, TAIL) or second in (ANY, TAIL):
            return self._anywhere
        return self._shards[crc32(f"{first}.{second}".encode()) & self._mask]
