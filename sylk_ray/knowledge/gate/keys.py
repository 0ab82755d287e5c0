"""Texts as sets of 64-bit keys: what of a text must be in a document for it to be found by its words.

The keys of a document are the numbers of its words, as ``knowledge.words`` finds them, and of its identifiers as
written but for their case.

**What a No proves.** That a filter holds none of ``QueryKeys.any`` proves that no document whose ``document_keys`` were
put into it has any word of the query, stop words aside. That it lacks one of ``QueryKeys.exact`` proves that no
document has that quoted name. It proves nothing of documents that mean the same in other words.
"""

from __future__ import annotations

import functools
import re

import msgspec
import numpy as np

from sylk_ray.knowledge.tokens import WORDS, Expansion, Tokens, tokens_of
from sylk_ray.knowledge.words import asked_words, identifiers, name_number, says_nothing, word_number

_QUOTED = re.compile(r"\"([^\"]+)\"|`([^`]+)`")
_NAMES = Expansion(lambda identifier: (name_number(identifier),), np.uint64)


class QueryKeys(msgspec.Struct, frozen=True):
    """A document can match only if it has one of ``any``, unless that is empty, and all of ``exact``."""

    any: frozenset[int]
    exact: frozenset[int]

    @property
    def says_nothing(self) -> bool:
        """There are only stop words: nothing can be proved."""
        return not self.any and not self.exact


def document_keys(*texts: str) -> set[int]:
    """All keys that a query may ask of them."""
    return keys_of(tokens_of(texts))


def keys_of(tokens: Tokens) -> set[int]:
    """As ``document_keys``, of texts whose identifiers were found already."""
    return WORDS.all_of(tokens) | _NAMES.all_of(tokens)


@functools.lru_cache(maxsize=1024)
def query_keys(text: str) -> QueryKeys:
    """What is between ``"`` or backquotes must be there exactly, in any case; of the rest, one word."""
    exact: set[int] = set()
    rest = text
    if '"' in text or "`" in text:
        for match in _QUOTED.finditer(text):
            exact.update(name_number(each) for each in identifiers(match[1] or match[2]))
        rest = _QUOTED.sub(" ", text)
    any_of = () if says_nothing(rest) else map(word_number, asked_words(rest))
    return QueryKeys(frozenset(any_of), frozenset(exact))
