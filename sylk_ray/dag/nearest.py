"""The known names that a misspelt one most likely stood for."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def closest(name: str, known: Iterable[str], at_most: int) -> list[str]:
    """The similar ones of ``known``, the most similar first; of those with one plain form the first."""
    by_plain = {plain(each): each for each in reversed(list(known))}
    return [by_plain[each] for each in get_close_matches(plain(name), by_plain, n=at_most, cutoff=0.6)]


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The most similar of ``known``; None when none is close."""
    return next(iter(closest(name, known, 1)), None)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint for the person, empty when nothing is close."""
    found = nearest(name, known)
    return f'did you mean "{found}"?' if found is not None else ""


def plain(name: str) -> str:
    """A name without what people mistake in it: case, and ``-`` for ``_``."""
    return name.casefold().replace("-", "_")
