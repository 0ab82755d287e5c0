"""Texts as sparse vectors of their words, so that a vector engine ranks by BM25.

BM25 (Robertson and Zaragoza, 2009) is a sum over the words of a question of how rare a word is, times how much a
document says it. The second factor is the document's weight for the word, and is computed here; the first is the
engine's, which knows the other documents (Qdrant's ``idf`` modifier). The typical length is a constant, as documents
come and go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import xxhash

from sylk_ray.knowledge.vectors import Sparse
from sylk_ray.knowledge.words import asked_words, words

K1 = 1.2
"""How soon saying a word again stops to count."""
B = 0.75
"""How much a long document is discounted."""
TYPICAL_LENGTH = 180.0
"""Words of a document of code, each identifier counted with its parts."""


def word_number(word: str) -> int:
    """The dimension of a word: 32 bits of xxh3, the same everywhere."""
    return xxhash.xxh3_64_intdigest(word.encode()) & 0xFFFFFFFF


def document_vector(text: str) -> Sparse:
    """The weights of a document's words."""
    counted = words(text)
    length = counted.total()
    norm = K1 * (1 - B + B * length / TYPICAL_LENGTH)
    return _sparse({word: times * (K1 + 1) / (times + norm) for word, times in counted.items()})


def query_vector(text: str) -> Sparse | None:
    """One for each word of a question; None for one without words."""
    asked = asked_words(text)
    return _sparse(dict.fromkeys(asked, 1.0)) if asked else None


def _sparse(weights: Mapping[str, float]) -> Sparse:
    # Two words of one number are one word: once in four thousand million pairs.
    merged: dict[int, float] = {}
    for number, weight in zip(_numbers(weights), weights.values(), strict=True):
        merged[number] = max(weight, merged.get(number, 0.0))
    return Sparse(np.fromiter(merged, np.uint32, len(merged)), np.fromiter(merged.values(), np.float32, len(merged)))


def _numbers(words: Iterable[str]) -> list[int]:
    return [word_number(word) for word in words]
