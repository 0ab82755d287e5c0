"""The embedder that is built in: a static model of code, made for this. No network, no accelerator, no start-up.

A text's vector is the sum of its words' learned vectors, each times how much the word says (apart for questions and
documents), the root of how often it is there, and for a document how early it comes. docs/embedder.md tells what it was
trained on, how, and how good it is; ``training/embedder`` makes its file.

Everything up to the last division is done with whole numbers: weights are scaled so that no sum of theirs with 8-bit
vectors reaches 2^24, below which float32 is exact. So a text has the same vector on every machine, in whatever order it
adds up.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sylk_ray.knowledge.embedding.embedder import Vectors
from sylk_ray.knowledge.embedding.model_file import DIMENSIONS, NAME, ModelFile, name_of, open_model
from sylk_ray.knowledge.embedding.places import place_of
from sylk_ray.knowledge.embedding.vocabulary import Vocabulary
from sylk_ray.knowledge.words import counted_identifiers

MOST = 4096
"""Different words of a text that are looked at, and times of one that are counted."""
_SUM = 1 << 17
"""What the weights of a text add up to at most: times 127, it is below 2^24."""
_ROOTS = np.floor(np.sqrt(np.arange(MOST + 1)) * 256).astype(np.int64)
_PLACES = np.asarray([place_of(number) for number in range(MOST)])


class StaticEmbedder:
    """Texts to unit vectors. Threads may share it; its file is mapped when it is first used."""

    dimensions = DIMENSIONS

    def __init__(self, path: Path | None = None) -> None:
        """``path`` is that of another model's file than the one that is shipped."""
        self._path = path
        self._name = NAME if path is None else ""

    @property
    def name(self) -> str:
        """Has the beginning of the file's checksum: what is trained anew is another model."""
        if self._path and not self._name:
            self._name = name_of(self._path.read_bytes())
        return self._name

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of documents, one a row; a text without words is a row of zeros. Raises EmbedderUnavailable."""
        model = self._model
        rows = np.zeros((len(texts), model.vectors.shape[1]), np.float32)
        for row, text in zip(rows, texts, strict=True):
            found, times = self._counted(text)
            if len(found):
                weights = model.of_documents[found] * _ROOTS[times] * model.places[_PLACES[: len(found)]]
                _sum(weights, model.vectors[found], row)
        return rows

    def embed_query(self, text: str) -> Vectors:
        """The vector of a question. Raises EmbedderUnavailable."""
        model = self._model
        row = np.zeros(model.vectors.shape[1], np.float32)
        found, times = self._counted(text)
        if len(found):
            _sum(model.of_questions[found] * _ROOTS[times], model.vectors[found], row)
        return row

    def _counted(self, text: str) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The words of a text as rows of the model in the order in which they come first, and how often each does."""
        counts: dict[int, int] = {}
        rows_of = self._vocabulary.rows_of
        for identifier, times in counted_identifiers(text).items():
            for row in rows_of(identifier):
                counts[row] = counts.get(row, 0) + times
        some = min(len(counts), MOST)
        found = np.fromiter(counts.keys(), np.int64, some)
        return found, np.minimum(np.fromiter(counts.values(), np.int64, some), MOST)

    @cached_property
    def _model(self) -> ModelFile:
        return open_model(self._path)

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        return Vocabulary(self._model.words())


def _sum(weights: npt.NDArray[np.int64], vectors: npt.NDArray[np.int8], row: Vectors) -> None:
    """The weighted sum, of length 1, into a row."""
    shares = (weights * _SUM // max(int(weights.sum()), 1)).astype(np.float32)
    summed = (shares @ vectors.astype(np.float32)).astype(np.int64)
    # Whole numbers up to here, and the root and the division are exact to the last bit by IEEE 754.
    length = np.sqrt(np.float64(np.dot(summed, summed)))
    if length:
        row[:] = summed / length
