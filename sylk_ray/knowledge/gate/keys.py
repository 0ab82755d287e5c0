"""Texts as sets of 64-bit keys: what of a text must be in a document for it to be found by its words.

A text is cut into identifiers; each gives a key for itself, for every word in it (``parseHTTPConfig_v2`` holds parse,
http, config, v and 2) and one, marked as exact, for itself as written but for its case. Words lose the plural's s, by
Harman's rules ("How effective is suffixing?", JASIS 42, 1991). Writings without spaces give a key a character. Keys are
xxh3-64 of the word in UTF-8, the same in every process and version.

**What a No proves.** That a filter holds none of ``QueryKeys.any`` proves that no document whose ``document_keys`` were
put into it has any word of the query, stop words aside. That it lacks one of ``QueryKeys.exact`` proves that no
document has that quoted name. It proves nothing of documents that mean the same in other words.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable

import msgspec
import xxhash

_STOP_WORDS = """
a about an and any are as at be by can could did do does for from had has have how i if in into is it its me my no not
of on or our please should so some than that the their them then there these they this those to us was we were what
when where which who why will with would you your
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
"""What says nothing of what is looked for. It is no key of a document, nor of a query."""

_IDENTIFIER = re.compile(r"\w+")
_QUOTED = re.compile(r"\"([^\"]+)\"|`([^`]+)`")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
CACHED_IDENTIFIERS = 1 << 16


class QueryKeys(msgspec.Struct, frozen=True):
    """A document can match only if it has one of ``any``, unless that is empty, and all of ``exact``."""

    any: frozenset[int]
    exact: frozenset[int]

    @property
    def says_nothing(self) -> bool:
        """There are only stop words: nothing can be proved."""
        return not self.any and not self.exact


def document_keys(text: str) -> set[int]:
    """All keys that a query may ask of it."""
    keys: set[int] = set()
    for identifier in set(_IDENTIFIER.findall(_normal(text))):
        keys.update(_keys_of(identifier))
    return keys


@functools.lru_cache(maxsize=1024)
def query_keys(text: str) -> QueryKeys:
    """What is between ``"`` or backquotes must be there exactly, in any case; of the rest, one word."""
    normal = _normal(text)
    exact: set[int] = set()
    rest = normal
    if '"' in normal or "`" in normal:
        for match in _QUOTED.finditer(normal):
            exact.update(exact_key(each) for each in _IDENTIFIER.findall(match[1] or match[2]))
        rest = _QUOTED.sub(" ", normal)
    words = {key for each in _IDENTIFIER.findall(rest) for key in _keys_of(each)[1:]}
    return QueryKeys(frozenset(words), frozenset(exact))


def words_of(identifier: str) -> set[str]:
    """The words that an identifier is found by, itself among them; none for a stop word."""
    if identifier.islower() and identifier.isalpha() and identifier.isascii():
        return set() if identifier in STOP_WORDS else {stem(identifier)}
    parts: Iterable[str] = _WORD.findall(identifier)
    words = {part.lower() for part in parts}
    words.add(identifier.strip("_").lower())
    words |= {each for each in identifier if _UNSPACED.match(each)}
    return {stem(word) for word in words if word and word not in STOP_WORDS}


def stem(word: str) -> str:
    """Without the ending of the plural."""
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us")):
        return word
    if word.endswith("ies") and not word.endswith(("eies", "aies")):
        return f"{word[:-3]}y"
    return word[:-1]


def word_key(word: str) -> int:
    return xxhash.xxh3_64_intdigest(word.encode())


def exact_key(identifier: str) -> int:
    return xxhash.xxh3_64_intdigest(f"={identifier.lower()}".encode())


@functools.lru_cache(maxsize=CACHED_IDENTIFIERS)
def _keys_of(identifier: str) -> tuple[int, ...]:
    return (exact_key(identifier), *map(word_key, words_of(identifier)))


def _normal(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFKC", text)
