"""Words of code and prose, the same for what is stored and for what is asked.

An identifier is a word whole, and each of its parts is one: ``parseHTTPRequest_v2`` gives ``parsehttprequest_v2``,
pars, http, request, v, 2. Case is folded and parts are stemmed (Snowball's English): "parsing requests" meets it. Of
writings without spaces each character is a word as well. The sparse vectors and the gate go by the same words, so each
has one number: xxh3-64 of it in UTF-8, the same in every process and version.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache

import Stemmer
import xxhash

_IDENTIFIER = re.compile(r"\w+")
_SPACED = "".join(mark if mark.isalnum() or mark == "_" else " " for mark in map(chr, range(128)))
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_A-Za-z]+")
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
"""Of a class of a pattern, writings without spaces between words: Thai, Lao, Myanmar, Khmer, kana and Han."""
_UNSPACED = re.compile(f"[{UNSPACED}]")
LONGEST = 64
"""Characters of an identifier; what is longer is data, unless it is a name of many words."""
LONGEST_NAME, LONGEST_WORD = 256, 24
"""Characters of such a name, and of each of its words."""
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
    """The identifiers, plain words and numbers of a text, in order, as written but for what NFKC makes the same."""
    if text.isascii():
        # Three times as fast as the pattern, and the same.
        return text.translate(_SPACED).split()
    return _IDENTIFIER.findall(unicodedata.normalize("NFKC", text))


@lru_cache(maxsize=REMEMBERED)
def pieces(identifier: str) -> tuple[str, ...]:
    """The parts of an identifier in order, folded: ``parseHTTPRequest`` gives parse, http, request."""
    if len(identifier) > LONGEST_NAME:
        return ()
    parts = tuple(map(str.lower, _PART.findall(identifier)))
    return parts if len(identifier) <= LONGEST or _is_of_words(identifier, parts) else ()


def _is_of_words(identifier: str, parts: Sequence[str]) -> bool:
    """Whether a long identifier is a name, as those of tests are, and no data: hardly more parts than it has between
    underscores, or in small letters for the most part and with few digits, which base64 has not, nor base32 or hex."""
    if not parts or max(map(len, parts)) > LONGEST_WORD:
        return False
    between = [piece for piece in identifier.split("_") if piece]
    if len(between) > 2:
        return len(parts) <= 1.5 * len(between) and len(identifier) >= 3 * len(parts)
    small, digits = (sum(map(of, identifier)) / len(identifier) for of in (str.islower, str.isdigit))
    return small >= 0.7 and digits <= 0.1 and len(identifier) >= 4 * len(parts)


@lru_cache(maxsize=REMEMBERED)
def words_of(identifier: str) -> tuple[str, ...]:
    """The words of an identifier: itself, folded, when it has several parts, then each part's stem, then each character
    of a writing without spaces."""
    return tuple(word for _, word in _with_parts(identifier))


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


def says_nothing(text: str) -> bool:
    """Whether a question has no words but those that say nothing."""
    return all(part in STOP_WORDS for each in identifiers(text) for part, _ in _with_parts(each))


def word_number(word: str) -> int:
    """Of 64 bits."""
    return xxhash.xxh3_64_intdigest(word.encode())


def name_number(identifier: str) -> int:
    """Of an identifier as written but for its case; another one than that of the same word."""
    return xxhash.xxh3_64_intdigest(f"={identifier.lower()}".encode())


def word_numbers(identifier: str) -> tuple[int, ...]:
    """Of an identifier's words."""
    if not identifier.isascii():
        return tuple(map(word_number, words_of(identifier)))
    parts = pieces(identifier)
    numbers = tuple(map(_stem_number, parts))
    return numbers if len(parts) < 2 else (word_number(_whole(identifier)), *numbers)


@lru_cache(maxsize=REMEMBERED)
def _stem_number(part: str) -> int:
    """Many identifiers are made of few parts."""
    return word_number(_stem(part))


def _whole(identifier: str) -> str:
    return identifier.strip("_").lower()


def _with_parts(identifier: str) -> list[tuple[str, str]]:
    """Each word with what of the identifier it was made of."""
    parts = pieces(identifier)
    found = [(part, _stem(part)) for part in parts]
    if len(parts) > 1:
        whole = _whole(identifier)
        found.insert(0, (whole, whole))
    if not identifier.isascii() and len(identifier) > 1:
        found += ((each, each) for each in _UNSPACED.findall(identifier))
    return found
