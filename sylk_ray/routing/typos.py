"""Words that are one letter away from a known one, made right."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

SHORTEST = 5
"""Of the words that are corrected; in shorter ones a letter is too much of the word."""
SHORTEST_CHANGED = 7
"""Of the words in which one letter stands for another, as it does in many pairs of right words."""


class Typos:
    """Finds the known word that is one letter away, by symmetric deletes (Garbe, SymSpell, 2012)."""

    def __init__(self, known: Iterable[str], not_typos: Iterable[str] = ()) -> None:
        self._right = frozenset(known) | frozenset(not_typos)
        self._known = frozenset(word for word in known if len(word) >= SHORTEST)
        self._shortened: dict[str, list[str]] = defaultdict(list)
        for word in sorted(self._known):
            for shorter in _without_one(word):
                self._shortened[shorter].append(word)

    def corrected(self, word: str) -> str:
        """The known word, or the word itself when it is right, short, or like none."""
        if len(word) < SHORTEST or word in self._right or _inflected(word) & self._right:
            return word
        for candidate in self._candidates(word):
            if candidate[0] == word[0] or sorted(candidate[:2]) == sorted(word[:2]):
                return candidate
        return word

    def _candidates(self, word: str) -> Iterable[str]:
        yield from self._shortened.get(word, ())
        shorter = _without_one(word)
        yield from (each for each in shorter if each in self._known)
        for each in shorter:
            for candidate in self._shortened.get(each, ()):
                if sorted(candidate) == sorted(word) or len(word) >= SHORTEST_CHANGED:
                    yield candidate


def _without_one(word: str) -> list[str]:
    return [word[:index] + word[index + 1 :] for index in range(len(word))]


def _inflected(word: str) -> set[str]:
    """Forms of the same word, which are no typos of each other."""
    stem = word.removesuffix("ing")
    longer = (word + ending for ending in ("s", "d", "ed"))
    shorter = (word.removesuffix(ending) for ending in ("s", "d", "ed"))
    return {*longer, *shorter, stem, stem + "e"}
