"""Words as rows of a model: those it knows, and others as the likeliest sequence of known parts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain

from sylk_ray.knowledge.words import pieces

REMEMBERED = 200_000
"""Identifiers whose rows are kept."""


class Vocabulary:
    """Words, the most frequent first. Those of one character stand for what nothing else does."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)
        self._rows = {word: row for row, word in enumerate(self.words)}
        # By Zipf's law the rank tells how likely a word is.
        self._costs = [math.log(2 + row) for row in range(len(self.words))]
        self._longest = max(map(len, self.words), default=0)
        self.rows_of = lru_cache(maxsize=REMEMBERED)(self._rows_of)
        self.rows_of_word = lru_cache(maxsize=REMEMBERED)(self._rows_of_word)

    def row_of(self, word: str) -> int | None:
        """The row that it has to itself."""
        return self._rows.get(word)

    def _rows_of(self, identifier: str) -> tuple[int, ...]:
        """The rows of an identifier's words, in order."""
        return tuple(chain.from_iterable(map(self.rows_of_word, pieces(identifier))))

    def _rows_of_word(self, word: str) -> Sequence[int]:
        """Its own row, or those of its parts; none where even its characters are not known."""
        row = self._rows.get(word)
        return self._cut(word) if row is None else (row,)

    def _cut(self, word: str) -> list[int]:
        """The likeliest sequence of parts (Viterbi), characters that are not known left out."""
        best: list[tuple[float, int, int]] = [(0.0, 0, -1)]
        for end in range(1, len(word) + 1):
            cost, start, row = best[end - 1][0] + 100.0, end - 1, -1
            for begin in range(max(0, end - self._longest), end):
                found = self._rows.get(word[begin:end])
                if found is not None and best[begin][0] + self._costs[found] < cost:
                    cost, start, row = best[begin][0] + self._costs[found], begin, found
            best.append((cost, start, row))
        rows: list[int] = []
        at = len(word)
        while at:
            _, start, row = best[at]
            if row >= 0:
                rows.append(row)
            at = start
        return rows[::-1]
