"""The Librarian's answers by intent: each holds until a file that it rests on changes, or its time is over."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import NamedTuple

import msgspec

from sylk_ray.errors import InputError
from sylk_ray.routing.answers import TOKENS, Answer, Answers, AnswerStatistics, Asked, Embedder, Entry, key_of
from sylk_ray.routing.bounded import Lru
from sylk_ray.routing.intents import INTENTS, LIBRARIAN, Intent

TTL_S: dict[Intent, float] = {
    Intent.LOCATE: float("inf"),
    Intent.PATTERN: 60 * 60,
    Intent.EXPLAIN: 30 * 60,
    Intent.GENERAL: 15 * 60,
}
"""How long an answer holds if no file changes (sylk.md, "Cache Invalidation by Intent")."""

MANY = 100
"""Files changed at once, above which all answers go: it is a checkout, not an edit."""

REMEMBERED = 10_000
"""Changed files whose hash is known, for answers that were begun before the change."""


class FileChange(msgspec.Struct, frozen=True):
    """A file is new, has new content, or is gone."""

    path: str
    content_hash: str
    """Empty when the file is gone."""
    added: bool = False


class _Heard(NamedTuple):
    """The last change of a file that was heard of, and its place among all changes."""

    number: int
    content_hash: str


class LibrarianCache:
    """Looked in before code is searched, by session, intent and subject.

    LOCATE and EXPLAIN end when a file that they rest on has another content; PATTERN when a file comes to or goes from
    a folder that it rests on. ``clock`` gives seconds; ``embed`` may come later, or never.
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
        self._changed: Lru[tuple[str | None, str], _Heard] = Lru(clock, max_entries=REMEMBERED)
        self._order = itertools.count()

    def get(self, asked: Asked) -> Answer | None:
        """The answer to the same question, else to a similar one."""
        return self._answers.find(asked, [(key_of(asked), "exact")])

    def put(
        self, asked: Asked, response: bytes, *, sources: Mapping[str, str] | None = None, tokens: int = TOKENS
    ) -> bool:
        """Keep an answer with the hash of each file that it rests on; ``tokens`` is what it took.

        An answer to LOCATE that rests on no file ("there is none") would never end, and gets the time of GENERAL.
        One that rests on a file that has changed since it was read is not kept.
        Raises InputError for an intent of another agent.
        """
        if asked.intent not in INTENTS[LIBRARIAN]:
            raise InputError(f"{asked.intent} is no intent of the Librarian")
        known = dict(sources or {})
        endless = asked.intent is Intent.LOCATE and not known
        ttl_s = TTL_S[Intent.GENERAL if endless else asked.intent]
        return self._answers.keep(
            asked,
            response,
            ttl_s=ttl_s,
            tokens=tokens,
            sources=known,
            still_good=lambda: not any(self._is_outdated(asked.session, path, read) for path, read in known.items()),
        )

    def file_changed(self, change: FileChange, *, session: str | None = None) -> int:
        """One file changed, for one session's worktree or (None) for all; how many answers that ends."""
        return self.files_changed([change], session=session)

    def files_changed(self, changes: list[FileChange], *, session: str | None = None) -> int:
        """Several files changed at once, as by a checkout; how many answers that ends."""
        hashes = {change.path: change.content_hash for change in changes}
        folders = {_folder(change.path) for change in changes if change.added or not change.content_hash}
        with self._answers.lock:
            for path, content_hash in hashes.items():
                self._changed.put((session, path), _Heard(next(self._order), content_hash))
            many = len(changes) > MANY
            return self._answers.drop(lambda entry: many or _is_stale(entry, hashes, folders), session)

    def session_closed(self, session: str) -> int:
        """All that a session has is forgotten."""
        return self._answers.forget(session)

    def statistics(self) -> AnswerStatistics:
        """As of now."""
        return self._answers.statistics()

    def _is_outdated(self, session: str, path: str, read: str) -> bool:
        """Whether the last that was heard of a file, for this session or for all, is another content than was read."""
        heard = [each for whose in (session, None) if (each := self._changed.peek((whose, path))) is not None]
        return bool(heard) and max(heard).content_hash != read


def _is_stale(entry: Entry, hashes: Mapping[str, str], folders: set[str]) -> bool:
    match entry.asked.intent:
        case Intent.LOCATE | Intent.EXPLAIN:
            return any(hashes.get(path, content_hash) != content_hash for path, content_hash in entry.sources.items())
        case Intent.PATTERN:
            return any(_folder(path) in folders for path in entry.sources)
        case _:
            return False


def _folder(path: str) -> str:
    return str(PurePosixPath(path).parent)
