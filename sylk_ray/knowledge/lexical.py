"""Texts as sparse vectors of their words, so that a vector engine ranks by BM25.

BM25 (Robertson and Zaragoza, 2009) is a sum over the words of a question of how rare a word is, times how much a
document says it. The second factor is the document's weight for the word, and is computed here; the first is the
engine's, which knows the other documents (Qdrant's ``idf`` modifier). The typical length is a constant, as documents
come and go.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import numpy.typing as npt

from sylk_ray.knowledge.vectors import Sparse
from sylk_ray.knowledge.words import Terms, asked_words, terms, word_number

K1 = 1.2
"""How soon saying a word again stops to count."""
B = 0.75
"""How much a long document is discounted."""
TYPICAL_LENGTH = 180.0
"""Words of a document of code, each identifier counted with its parts."""


def document_vector(text: str) -> Sparse:
    """The weights of a document's words."""
    return weighted(terms(text))


def weighted(found: Terms) -> Sparse:
    """The weights of a document's words that were counted already."""
    times = np.fromiter(found.words.values(), np.float64, len(found.words))
    norm = K1 * (1 - B + B * times.sum() / TYPICAL_LENGTH)
    return _sparse(found.words, (times * (K1 + 1) / (times + norm)).astype(np.float32))


def query_vector(text: str) -> Sparse | None:
    """One for each word of a question; None for one without words."""
    asked = [word_number(word) for word in asked_words(text)]
    return _sparse(asked, np.ones(len(asked), np.float32)) if asked else None


def _sparse(words: Collection[int], weights: npt.NDArray[np.float32]) -> Sparse:
    """A word's dimension is the lower 32 bits of its number."""
    dimensions = np.fromiter(words, np.uint64, len(words)).astype(np.uint32)
    ordered = np.argsort(dimensions, kind="stable")
    dimensions, weights = dimensions[ordered], weights[ordered]
    same = dimensions[1:] == dimensions[:-1]
    if same.any():
        # Two words of one dimension are one word: once in four thousand million pairs.
        first = np.flatnonzero(np.concatenate([[True], ~same]))
        return Sparse(dimensions[first], np.maximum.reduceat(weights, first))
    return Sparse(dimensions, weights)
