"""The Archivalist's answers by intent: what is past stays, what is recent does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sylk_ray.errors import InputError
from sylk_ray.routing.answers import TOKENS, Answer, Answers, AnswerStatistics, Asked, Embedder, How, Key, key_of
from sylk_ray.routing.intents import ARCHIVALIST, INTENTS, Intent

TTL_S: dict[Intent, float] = {
    Intent.HISTORICAL: 60 * 60,
    Intent.ACTIVITY: 5 * 60,
    Intent.OUTCOME: 30 * 60,
    Intent.SIMILAR: 45 * 60,
    Intent.RESUME: 60,
    Intent.GENERAL: 15 * 60,
}
"""How long an answer holds (sylk.md, "Intent-Specific TTLs")."""


class ArchivalistCache:
    """Looked in before the archive is asked, by session, intent, subject and time.

    Besides its time an answer ends with what makes it wrong: ACTIVITY when something on its subject is stored, RESUME
    when its session does anything. ``clock`` gives seconds; ``embed`` may come later, or never.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        *,
        embed: Embedder | None = None,
        max_entries: int = 2_000,
        max_bytes: int = 32_000_000,
    ) -> None:
        self._answers = Answers(clock, embed=embed, max_entries=max_entries, max_bytes=max_bytes)

    def get(self, asked: Asked) -> Answer | None:
        """The answer for that time, else the one for no time in particular, else that to a similar question."""
        return self._answers.find(asked, _keys(asked))

    def put(self, asked: Asked, response: bytes, *, tokens: int = TOKENS) -> bool:
        """Keep an answer; ``tokens`` is what it took. Raises InputError for an intent of another agent."""
        if asked.intent not in INTENTS[ARCHIVALIST]:
            raise InputError(f"{asked.intent} is no intent of the Archivalist")
        return self._answers.keep(asked, response, ttl_s=TTL_S[asked.intent], tokens=tokens, sources={})

    def entry_stored(self, subject: str, session: str) -> int:
        """Something was stored: what it makes wrong is dropped, ACTIVITY in all sessions, since history is shared."""
        return self._answers.drop(
            lambda entry: (
                (entry.asked.intent is Intent.ACTIVITY and _touches(subject, entry.asked.subject))
                or (entry.asked.intent is Intent.RESUME and entry.asked.session == session)
            )
        )

    def session_active(self, session: str) -> int:
        """A session did something, so where it was left off is no longer where it is."""
        return self._answers.drop(lambda entry: entry.asked.intent is Intent.RESUME, session)

    def session_closed(self, session: str) -> int:
        """All that a session has is forgotten."""
        return self._answers.forget(session)

    def statistics(self) -> AnswerStatistics:
        """As of now."""
        return self._answers.statistics()


def _keys(asked: Asked) -> Iterator[tuple[Key, How]]:
    key = key_of(asked)
    yield key, "exact"
    if key.time_scope and not key.words:
        yield key._replace(time_scope=""), "broad"


def _touches(stored: str, subject: str) -> bool:
    """Whether one subject is part of the other, by whole words; no subject is about everything."""
    ours, theirs = set(stored.split("_")), set(subject.split("_"))
    return not stored or not subject or ours <= theirs or theirs <= ours
