"""Answers of an agent by what was asked for, not by how it was said: what both intent caches are made of."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from operator import mul
from threading import RLock
from typing import Literal, NamedTuple

import msgspec

from sylk_ray.routing.bounded import SessionLru, hit_rate
from sylk_ray.routing.intents import CONFIDENT, Intent, Route

SIMILAR = 0.80
"""The cosine similarity from which two questions of one intent are taken for the same."""
_ROUNDING = 1e-9
COMPARED = 500
"""Entries that a question is compared with at most, the most recently used first."""
TOKENS = 3_000
"""What an answer costs a model, when nobody says (the spec's estimate)."""

Embedder = Callable[[str], Sequence[float]]
"""A text as a vector; any length, always the same."""
How = Literal["exact", "broad", "similar"]


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A question as the Guide has understood it."""

    session: str
    query: str
    intent: Intent
    subject: str = ""
    time_scope: str = ""
    confidence: float = 1.0

    @classmethod
    def of(cls, session: str, query: str, route: Route) -> Asked:
        """The question of a text that was routed."""
        return cls(
            session=session,
            query=query,
            intent=route.intent,
            subject=route.subject,
            time_scope=route.time_scope,
            confidence=route.confidence,
        )


class Key(NamedTuple):
    """What two questions have in common to share an answer, within a session."""

    intent: Intent
    subject: str
    time_scope: str
    words: str = ""
    """The question itself, where intent and subject do not tell it from others."""


def key_of(asked: Asked) -> Key:
    """By meaning, if it is known well enough; else by the words.

    GENERAL questions on one subject are different questions, a guessed intent or subject is none, and without a
    subject only what is about everything ("what changed", "where were we") is understood.
    """
    about_all = asked.intent in (Intent.ACTIVITY, Intent.RESUME)
    by_meaning = asked.confidence >= CONFIDENT and asked.intent is not Intent.GENERAL and (asked.subject or about_all)
    words = "" if by_meaning else " ".join(asked.query.casefold().split()).rstrip(" ?!.")
    return Key(asked.intent, asked.subject, asked.time_scope, words)


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What was found, and how."""

    response: bytes
    how: How
    created_at: float
    hits: int
    """How often it was found, this time too."""


class IntentCounts(msgspec.Struct, kw_only=True):
    """What became of the questions of one intent."""

    hits: int = 0
    broad: int = 0
    """Of the hits, those by a broader time."""
    similar: int = 0
    """Of the hits, those by similarity."""
    misses: int = 0
    invalidations: int = 0

    @property
    def hit_rate(self) -> float:
        return hit_rate(self.hits, self.misses)


class AnswerStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """What a cache has done since it was made."""

    by_intent: dict[Intent, IntentCounts]
    entries: int
    bytes: int
    evictions: int
    tokens_saved: int

    @property
    def hit_rate(self) -> float:
        counts = self.by_intent.values()
        return hit_rate(sum(each.hits for each in counts), sum(each.misses for each in counts))


class Entry(msgspec.Struct, kw_only=True):
    """A kept answer."""

    asked: Asked
    response: bytes
    created_at: float
    tokens: int
    vector: tuple[float, ...] = ()
    """Of length 1; empty without an embedder."""
    sources: dict[str, str] = {}
    """The files that it rests on, with the hash of each."""
    hits: int = 0

    @property
    def size(self) -> int:
        """Bytes, about."""
        texts = len(self.asked.query) + len(self.asked.subject) + sum(len(path) + 64 for path in self.sources)
        return len(self.response) + texts + 8 * len(self.vector) + 500


class Answers:
    """Bounded, apart by session, and safe to be used from several threads.

    ``clock`` gives seconds. Without ``embed`` only the same meaning, or the same words, are found.
    """

    def __init__(self, clock: Callable[[], float], *, embed: Embedder | None, max_entries: int, max_bytes: int) -> None:
        self.lock = RLock()
        self._clock = clock
        self._embed = embed
        self._entries: SessionLru[Key, Entry] = SessionLru(clock, max_entries=max_entries, max_bytes=max_bytes)
        self._counts: dict[Intent, IntentCounts] = defaultdict(IntentCounts)
        self._tokens_saved = 0

    def find(self, asked: Asked, keys: Iterable[tuple[Key, How]]) -> Answer | None:
        """By the first of the keys that is there, else by similarity; the hit or miss is counted."""
        with self.lock:
            for key, how in keys:
                entry = self._entries.of(asked.session).get(key)
                if entry is not None:
                    return self._hit(entry, how)
        vector = self._vector(asked.query)
        with self.lock:
            entry = self._similar(asked, vector) if vector else None
            if entry is not None:
                return self._hit(entry, "similar")
            self._counts[asked.intent].misses += 1
            return None

    def keep(
        self,
        asked: Asked,
        response: bytes,
        *,
        ttl_s: float,
        tokens: int,
        sources: dict[str, str],
        still_good: Callable[[], bool] = lambda: True,
    ) -> bool:
        """Whether it was kept: one that is larger than the whole cache may be is not.

        ``still_good`` is asked under the lock, once the vector is there: an embedder may take its time, and what an
        answer rests on may change meanwhile.
        """
        vector = self._vector(asked.query)
        with self.lock:
            if not still_good():
                return False
            entry = Entry(
                asked=asked,
                response=response,
                created_at=self._clock(),
                tokens=tokens,
                vector=vector,
                sources=sources,
            )
            return self._entries.put(asked.session, key_of(asked), entry, ttl_s=ttl_s, size=entry.size)

    def drop(self, unwanted: Callable[[Entry], bool], session: str | None = None) -> int:
        """Invalidate what is unwanted, in one session or in all; how many there were."""
        with self.lock:
            dropped = 0
            for name in self._entries.sessions if session is None else (session,):
                entries = self._entries.of(name)
                for key, entry in [each for each in entries.newest() if unwanted(each[1])]:
                    dropped += entries.discard(key)
                    self._counts[entry.asked.intent].invalidations += 1
            return dropped

    def forget(self, session: str) -> int:
        """Drop what a session has that is closed."""
        with self.lock:
            return self._entries.forget(session)

    def statistics(self) -> AnswerStatistics:
        """As of now."""
        with self.lock:
            return AnswerStatistics(
                by_intent={intent: msgspec.structs.replace(counts) for intent, counts in self._counts.items()},
                entries=len(self._entries),
                bytes=self._entries.size,
                evictions=self._entries.evictions,
                tokens_saved=self._tokens_saved,
            )

    def _hit(self, entry: Entry, how: How) -> Answer:
        entry.hits += 1
        counts = self._counts[entry.asked.intent]
        counts.hits += 1
        counts.broad += how == "broad"
        counts.similar += how == "similar"
        self._tokens_saved += entry.tokens
        return Answer(response=entry.response, how=how, created_at=entry.created_at, hits=entry.hits)

    def _similar(self, asked: Asked, vector: tuple[float, ...]) -> Entry | None:
        """The most similar of the same intent and time: a place is no answer to how something works."""
        best, found = SIMILAR - _ROUNDING, None
        for _, entry in islice(self._entries.of(asked.session).newest(), COMPARED):
            same = entry.asked.intent is asked.intent and entry.asked.time_scope == asked.time_scope
            if same and len(entry.vector) == len(vector):
                likeness = sum(map(mul, entry.vector, vector))
                if likeness > best:
                    best, found = likeness, entry
        return found

    def _vector(self, text: str) -> tuple[float, ...]:
        if self._embed is None:
            return ()
        vector = tuple(self._embed(text))
        length = math.sqrt(math.fsum(each * each for each in vector))
        return tuple(each / length for each in vector) if length else ()
