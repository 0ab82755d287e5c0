"""A text as the rules look at it: lower case, contractions spelt out, typos corrected, no polite opening."""

from __future__ import annotations

import re

from sylk_ray.routing.rules import RuleBook
from sylk_ray.routing.typos import Typos

LONGEST = 2_000
"""Characters that are looked at: what is wanted is said early, and patterns must not meet a whole log file."""

QUOTED = re.compile(r'"[^"]*"|`[^`]*`|(?<!\w)\'[^\']{2,}\'(?!\w)')
_WORD = re.compile(r"[^\W\d_][^\W_']*(?:'[^\W_]+)?")
_PLAIN = re.compile(r"[^\W\d_]+")
_CURLY = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"'})  # noqa: RUF001


def straightened(text: str) -> str:
    """With plain quotes and single spaces, and no longer than what is looked at."""
    return " ".join(text[:LONGEST].translate(_CURLY).split())


class Normal:
    """Prepares texts for one book of rules."""

    def __init__(self, book: RuleBook, typos: Typos) -> None:
        self._contractions = book.contractions
        self._openings = book.openings
        self._typos = typos

    def of(self, text: str) -> str:
        """``Hey, could you tell me wheres the "x" modul?`` becomes ``where is the "" module?``"""
        plain = _WORD.sub(self._spelt, QUOTED.sub('""', straightened(text)).lower())
        while True:
            rest = self._openings.sub("", plain, count=1) if self._openings.match(plain) else plain
            if rest == plain or not rest.strip(" ,.!?"):
                return plain
            plain = rest

    def _spelt(self, found: re.Match[str]) -> str:
        word = found.group()
        spelt = self._contractions.get(word)
        if spelt is not None:
            return spelt
        return self._typos.corrected(word) if _PLAIN.fullmatch(word) else word
