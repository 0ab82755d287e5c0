"""The embedder that is built in: a static model of code, made for this. No network, no accelerator, no start-up.

A text's vector is the sum of its words' learned vectors, each times how much the word says (apart for questions and
documents), the fourth root of how often it is there, and how early it comes; then one small layer sees which words came
together. docs/embedder.md tells what it was trained on, how, and how good it is; ``training/embedder`` makes its file.

Sums are of whole numbers alone: weights are scaled so that no sum of theirs with 8-bit vectors reaches 2^24, below
which float32 is exact. So a text has the same vector on every machine, in whatever order it adds up. (How rare words
are where a question is asked comes from elsewhere, and is rounded.)
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sylk_ray.knowledge.embedding.embedder import Rarity, Vectors, rarest, to_units
from sylk_ray.knowledge.embedding.layer import Layer, to_unit
from sylk_ray.knowledge.embedding.model_file import DIMENSIONS, USUAL_UNIT, ModelFile, name_of, open_model
from sylk_ray.knowledge.embedding.one_thread import one_thread
from sylk_ray.knowledge.embedding.places import place_of
from sylk_ray.knowledge.embedding.shipped import NAME
from sylk_ray.knowledge.embedding.vocabulary import Vocabulary
from sylk_ray.knowledge.tokens import Expansion, Numbers, Spread, Tokens, batches, runs, tokens_of
from sylk_ray.knowledge.words import identifiers

MOST = 4096
"""Different words of a text that are looked at, and times of one that are counted."""
ASKED = 64
"""Words of a question that counterparts are looked for of."""
POWER = 0.75
"""To which the ratio of how rare a word is here to how rare it is in general counts, where there are many documents.
From 0.5 to 1 are as good."""
FEW = 100
"""Of so many documents, to half of that."""
RAREST = 1 << 6
"""What that word of a question counts that is rarest beside what is usual."""
SUMMED = 32
"""Texts whose words' vectors are added up together."""
_SUM = 1 << 17
"""What the weights of a text add up to at most: times 127, it is below 2^24."""
_ROOTS = np.floor(np.sqrt(np.sqrt(np.arange(MOST + 1))) * 256).astype(np.int64)
_PLACES = np.asarray([place_of(number) for number in range(MOST)])


class StaticEmbedder:
    """Texts to unit vectors. Threads may share it; its file is mapped when it is first used."""

    def __init__(self, path: Path | None = None) -> None:
        """``path`` is that of another model's file than the one that is shipped."""
        self._path = path
        self._name = NAME if path is None else ""

    @property
    def name(self) -> str:
        """Has the beginning of the file's checksum: what is trained anew is another model. Raises EmbedderUnavailable
        where another file than the shipped one cannot be read."""
        if self._path and not self._name:
            dimensions = self.dimensions
            self._name = name_of(self._path.read_bytes(), dimensions)
        return self._name

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has. Raises as ``name`` does."""
        return self._model.vectors.shape[1] if self._path else DIMENSIONS

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of documents, one a row; a text without words is a row of zeros. Raises EmbedderUnavailable."""
        if not texts:
            return np.zeros((0, self._model.vectors.shape[1]), np.float32)
        return np.concatenate([self.embed_tokens(tokens_of(texts[some])) for some in batches(texts)])

    def embed_tokens(self, tokens: Tokens) -> Vectors:
        """As ``embed``, for one who has the identifiers of the texts already."""
        model = self._model
        found = _counted(self._rows.of(tokens))
        rows = np.zeros((len(tokens.starts) - 1, model.vectors.shape[1]), np.float32)
        places = _PLACES[np.arange(len(found.rows)) - found.starts[found.texts]]
        weights = model.of_documents[found.rows] * _ROOTS[found.times] * model.places[places]
        with one_thread():
            _sum(weights, found, model.vectors, rows)
            return self._layer(rows)

    def embed_query(self, text: str, rarity: Rarity | None = None) -> Vectors:
        """The vector of a question. What is rarer where it is asked (``rarity``) than among code in general counts for
        more, and what is more common there for less. Raises EmbedderUnavailable."""
        model = self._model
        counts = Counter(row for identifier in identifiers(text) for row in self._vocabulary.rows_of(identifier))
        some = min(len(counts), MOST)
        found = np.fromiter(counts.keys(), np.int64, some)
        times = np.minimum(np.fromiter(counts.values(), np.int64, some), MOST)
        weights = model.of_questions[found] * _ROOTS[times] * model.places_asked[_PLACES[:some]]
        if rarity is not None and rarity.of:
            weights = weights * self._here(rarity, found)
        summed = _shares(weights, weights.sum())[None] @ model.vectors[found].astype(np.float32)
        return self._layer(to_unit(summed.astype(np.int64)))[0]

    def counterparts(self, question: str, texts: Sequence[str]) -> Vectors:
        """How well the words of a question are met by each text, [texts], within [0, 1]: of each word the cosine of the
        nearest one in the text, in the mean by what each says (MaxSim; Khattab and Zaharia, 2020). 0 for a text without
        words. Raises EmbedderUnavailable."""
        model = self._model
        met = np.zeros(len(texts), np.float32)
        asked = self._most_telling(question)
        found = self._rows.of(tokens_of(texts))
        told = np.flatnonzero(np.diff(found.starts))
        if not len(asked) or not len(told):
            return met
        different, places = np.unique(found.values, return_inverse=True)
        wanted, vectors = (model.vectors[rows].astype(np.float32) for rows in (asked, different))
        says = model.of_questions[asked] * np.linalg.norm(wanted, axis=1)
        with one_thread():
            cosines = to_units(wanted) @ to_units(vectors).T
        nearest = np.maximum.reduceat(cosines[:, places], found.starts[told], axis=1)
        met[told] = np.average(np.maximum(nearest, 0), axis=0, weights=says)
        return met

    def _here(self, rarity: Rarity, rows: Numbers) -> Numbers:
        """What each of these rows counts where it is so rare, in [1, RAREST]; of a row that several parts have, the
        most."""
        most = rarest(rarity.documents)
        power = POWER * rarity.documents / (rarity.documents + FEW)
        of_row: dict[int, float] = {}
        for part, rare in rarity.of.items():
            ratio = (min(rare, most) / min(self._usual(part), most)) ** power
            for row in self._vocabulary.rows_of_word(part):
                of_row[row] = max(ratio, of_row.get(row, 0.0))
        shares = np.asarray([of_row.get(row, 1.0) for row in rows.tolist()])
        return np.maximum(1, np.rint(RAREST * shares / shares.max(initial=1e-9))).astype(np.int64)

    def _usual(self, part: str) -> float:
        """How rare it is in general; what has no row of its own is as rare as can be."""
        row = self._vocabulary.row_of(part)
        return math.inf if row is None else max(1, int(self._model.usual[row])) / USUAL_UNIT

    def _most_telling(self, question: str) -> Numbers:
        """The rows of a question's words, each once; of a very long one those that say most."""
        rows = {row for identifier in identifiers(question) for row in self._vocabulary.rows_of(identifier)}
        some = np.asarray(sorted(rows), np.int64)
        return some[np.argsort(-self._model.of_questions[some], kind="stable")[:ASKED]]

    @cached_property
    def _model(self) -> ModelFile:
        return open_model(self._path)

    @cached_property
    def _layer(self) -> Layer:
        return Layer(self._model)

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        return Vocabulary(self._model.words)

    @cached_property
    def _rows(self) -> Expansion:
        return Expansion(self._vocabulary.rows_of)


class _Counted(NamedTuple):
    """The different words of texts: those of the text n are ``[starts[n]:starts[n + 1]]``, as they come first."""

    rows: Numbers
    """Of the model."""
    times: Numbers
    """How often each is there."""
    texts: Numbers
    starts: Numbers


def _counted(spread: Spread) -> _Counted:
    texts, total = spread.texts, len(spread.values)
    rows = spread.values.astype(np.int64, copy=False)
    # Text, row and place in one number each: in order, the same words of a text are next to each other.
    places, width = total.bit_length(), int(rows.max(initial=0)).bit_length()
    keys = ((texts << width | rows) << places) | np.arange(total)
    keys.sort()
    words = keys >> places
    new = runs(words)
    times = np.zeros(total, np.int64)
    times[keys[new] & (1 << places) - 1] = np.diff(new, append=total)
    first = np.flatnonzero(times)
    starts = np.searchsorted(first, spread.starts)
    if np.diff(starts).max(initial=0) > MOST:
        first = first[np.arange(len(first)) - starts[texts[first]] < MOST]
        starts = np.searchsorted(first, spread.starts)
    return _Counted(rows[first], np.minimum(times[first], MOST), texts[first], starts)


def _sum(weights: Numbers, found: _Counted, vectors: npt.NDArray[np.int8], rows: Vectors) -> None:
    """The weighted sums, of length 1, into rows, one for each text."""
    added = np.concatenate([[0], np.cumsum(weights)])
    shares = _shares(weights, np.diff(added[found.starts])[found.texts])
    column = np.zeros(len(vectors), np.int64)
    seen = np.zeros(len(vectors), bool)
    for start in range(0, len(rows), SUMMED):
        some = rows[start : start + SUMMED]
        its = slice(found.starts[start], found.starts[start + len(some)])
        seen[found.rows[its]] = True
        different = np.flatnonzero(seen)
        seen[different] = False
        column[different] = np.arange(len(different))
        table = np.zeros((len(some), len(different)), np.float32)
        table[found.texts[its] - start, column[found.rows[its]]] = shares[its]
        some[:] = to_unit((table @ vectors[different].astype(np.float32)).astype(np.int64))


def _shares(weights: Numbers, totals: Numbers | np.int64) -> Vectors:
    return (weights * _SUM // np.maximum(totals, 1)).astype(np.float32)
