"""The known name that a misspelt one most likely stood for."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The most similar of ``known``, ignoring case and ``-`` against ``_``; None when none is close."""
    plain = {_plain(each): each for each in reversed(list(known))}
    found = get_close_matches(_plain(name), plain, n=1, cutoff=0.6)
    return plain[found[0]] if found else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint for the person, empty when nothing is close."""
    found = nearest(name, known)
    return f'did you mean "{found}"?' if found is not None else ""


def _plain(name: str) -> str:
    return name.casefold().replace("-", "_")
