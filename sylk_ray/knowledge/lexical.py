"""Texts as sparse vectors of their words, so that a vector engine ranks by BM25.

BM25 (Robertson and Zaragoza, 2009) is a sum over the words of a question of how rare a word is, times how much a
document says it. The second factor is the document's weight for the word, and is computed here; the first is the
engine's, which knows the other documents (Qdrant's ``idf`` modifier). The typical length is a constant, as documents
come and go.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from sylk_ray.knowledge.tokens import WORDS, Tokens, runs, tokens_of
from sylk_ray.knowledge.vectors import Sparse
from sylk_ray.knowledge.words import STOP_WORDS, asked_words, pieces, word_number, word_numbers

K1 = 1.2
"""How soon saying a word again stops to count."""
B = 0.75
"""How much a long document is discounted."""
TYPICAL_LENGTH = 180.0
"""Words of a document of code, each identifier counted with its parts."""
_HALF = np.uint64(32)
_DIMENSION = 0xFFFFFFFF


def document_vectors(tokens: Tokens) -> list[Sparse]:
    """The weights of documents' words. A word's dimension is the lower 32 bits of its number."""
    spread = WORDS.of(tokens)
    # Text and dimension in one number each: in order, the same words of a text are next to each other.
    keys = spread.texts.astype(np.uint64) << _HALF | spread.values.astype(np.uint32)
    keys.sort()
    # Two words of one dimension are one word: once in four thousand million pairs.
    new = runs(keys)
    times = np.diff(new, append=len(keys)).astype(np.float64)
    texts = (keys[new] >> _HALF).astype(np.int64)
    norms = K1 * (1 - B + B * np.diff(spread.starts) / TYPICAL_LENGTH)
    weights = (times * (K1 + 1) / (times + norms[texts])).astype(np.float32)
    dimensions = keys[new].astype(np.uint32)
    cuts = np.searchsorted(new, spread.starts).tolist()
    return [Sparse(dimensions[start:end], weights[start:end]) for start, end in pairwise(cuts)]


def document_vector(text: str) -> Sparse:
    """The weights of one document's words."""
    return document_vectors(tokens_of([text]))[0]


def query_vector(text: str) -> Sparse | None:
    """One for each word of a question; None for one without words."""
    asked = {word_number(word) & _DIMENSION for word in asked_words(text)}
    if not asked:
        return None
    return Sparse(np.asarray(sorted(asked), np.uint32), np.ones(len(asked), np.float32))


def dimensions_of(identifier: str) -> list[tuple[str, int]]:
    """The parts of an identifier that say something, each with its word's dimension."""
    parts = pieces(identifier)
    # The whole of several parts is the first of its words.
    first = 1 if len(parts) > 1 else 0
    numbers = word_numbers(identifier)[first : first + len(parts)]
    return [(part, number & _DIMENSION) for part, number in zip(parts, numbers, strict=True) if part not in STOP_WORDS]
