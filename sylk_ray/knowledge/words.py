"""Words of code and prose, the same for what is stored and for what is asked.

An identifier is a word whole, and each of its parts is one: ``parseHTTPRequest_v2`` gives ``parsehttprequest_v2``,
pars, http, request, v, 2. Case is folded and parts are stemmed (Snowball's English): "parsing requests" meets it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import lru_cache

import Stemmer

_IDENTIFIER = re.compile(r"\w+")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_A-Za-z]+")
LONGEST = 64
"""Characters of an identifier; what is longer is data."""
REMEMBERED = 200_000
"""Identifiers whose words are kept, some 40 MB at most."""

_SAYING_NOTHING = (
    "a an and are as at be been but by can could did do does done for from had has have how i if in into is it its"
    " may me my no not of on or our should so some such than that the their them then there these they this those to"
    " use used using was we were what when where which while who why will with would you your"
)
STOP_WORDS = frozenset(_SAYING_NOTHING.split())
"""Words that say nothing of what is asked for."""

_stem: Callable[[str], str] = Stemmer.Stemmer("english", 0).stemWord  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


def identifiers(text: str) -> list[str]:
    """The identifiers, plain words and numbers of a text, in order, as written."""
    return _IDENTIFIER.findall(text)


@lru_cache(maxsize=REMEMBERED)
def pieces(identifier: str) -> tuple[str, ...]:
    """The parts of an identifier in order, folded: ``parseHTTPRequest`` gives parse, http, request."""
    if len(identifier) > LONGEST:
        return ()
    return tuple(part.lower() for part in _PART.findall(identifier))


@lru_cache(maxsize=REMEMBERED)
def words_of(identifier: str) -> tuple[str, ...]:
    """The words of an identifier: itself, folded, when it has several parts, then each part's stem."""
    parts = pieces(identifier)
    stems = tuple(_stem(part) for part in parts)
    return (identifier.strip("_").lower(), *stems) if len(parts) > 1 else stems


def words(text: str) -> Counter[str]:
    """How often each word occurs in a text."""
    counted: Counter[str] = Counter()
    for identifier, times in Counter(identifiers(text)).items():
        for word in words_of(identifier):
            counted[word] += times
    return counted


def asked_words(text: str) -> list[str]:
    """The words of a question without those that say nothing, each once, in order; all if none is left."""
    every = [(part, word) for each in identifiers(text) for part, word in _with_parts(each)]
    told = [word for part, word in every if part not in STOP_WORDS]
    return list(dict.fromkeys(told or (word for _, word in every)))


def _with_parts(identifier: str) -> list[tuple[str, str]]:
    found, parts = words_of(identifier), pieces(identifier)
    whole = len(found) - len(parts)
    return [*((word, word) for word in found[:whole]), *zip(parts, found[whole:], strict=True)]
