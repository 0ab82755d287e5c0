"""What every embedder does."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from sylk_ray.errors import SylkError

Vectors = npt.NDArray[np.float32]


class EmbedderUnavailable(SylkError):
    """An embedder's files cannot be read, or its service does not answer."""

    code = "embedder_unavailable"


class Rarity(NamedTuple):
    """How rare words are where something is searched: BM25's inverse document frequency."""

    of: Mapping[str, float]
    """Of parts of a question's identifiers (``words.pieces``), above 0. Others are taken for as rare as in general."""
    documents: int
    """How many there are: of few, little is said by it."""


def rarest(documents: int) -> float:
    """The inverse document frequency of a word that none of so many documents has."""
    return math.log(2 * documents + 2)


class Embedder(Protocol):
    """Texts to vectors whose cosine says how alike they are. Threads may use one together."""

    @property
    def name(self) -> str:
        """Tells this model, and this way of using it, from every other."""
        ...

    @property
    def dimensions(self) -> int:
        """Of a vector."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Documents to unit rows, [texts, dimensions]; a text that says nothing to the model is a row of zeros.

        Raises EmbedderUnavailable.
        """
        ...

    def embed_query(self, text: str) -> Vectors:
        """A question to a unit vector, [dimensions]. Raises EmbedderUnavailable."""
        ...


def to_units(rows: Vectors) -> Vectors:
    """Rows of length 1, in place; rows of zeros stay."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, lengths, out=rows, where=lengths > 0)
