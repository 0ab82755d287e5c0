"""A trained model as the file that is shipped: whole numbers alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sylk_ray.knowledge.embedding.layer import ONE
from sylk_ray.knowledge.embedding.model_file import (
    LARGEST_BIAS,
    LARGEST_GAIN,
    LARGEST_PLACE,
    LARGEST_WEIGHT,
    MOST_UNITS,
    TOP,
    USUAL_UNIT,
    packed,
)
from sylk_ray.knowledge.words import word_numbers

EXPECTED = 5.0
"""How many times as long as its row of ``inner`` a unit's sum can be, where a vector's numbers are 1 in the mean."""


class Learned(NamedTuple):
    """A model before it is quantised. [words, dimensions], [words], [words], [words], [PLACES], [PLACES]; and its
    layer, for vectors that are as long as the root of the dimensions: [units, dimensions], [units],
    [dimensions, units]."""

    usual: npt.NDArray[np.float32]
    """How rare each word is in general, BM25's inverse document frequency."""
    vectors: npt.NDArray[np.float32]
    of_questions: npt.NDArray[np.float32]
    of_documents: npt.NDArray[np.float32]
    places_asked: npt.NDArray[np.float32]
    places: npt.NDArray[np.float32]
    inner: npt.NDArray[np.float32]
    bias: npt.NDArray[np.float32]
    outer: npt.NDArray[np.float32]


def softened(learned: Learned, of_questions: float, of_documents: float) -> Learned:
    """Where each word adds to a text's sum a vector that is as long as before, to a power: below 1, words count more
    alike. Powers of 1 change nothing."""
    lengths = np.maximum(np.linalg.norm(learned.vectors, axis=1), 1e-9)

    def soft(weights: npt.NDArray[np.float32], power: float) -> npt.NDArray[np.float32]:
        return weights * (weights * lengths) ** (power - 1)

    return learned._replace(
        of_questions=soft(learned.of_questions, of_questions), of_documents=soft(learned.of_documents, of_documents)
    )


def as_file(learned: Learned, words: Sequence[str], metadata: Mapping[str, str]) -> bytes:
    """A row in units of its largest number by 127; the unit goes into the word's weights."""
    units = np.maximum(np.abs(learned.vectors).max(axis=1), 1e-9) / 127
    arrays = {
        "vectors": np.rint(learned.vectors / units[:, None]).astype(np.int8),
        "questions": _shares(learned.of_questions * units, LARGEST_WEIGHT),
        "documents": _shares(learned.of_documents * units, LARGEST_WEIGHT),
        "usual": np.clip(np.rint(_of_stems(learned.usual, words) * USUAL_UNIT), 1, 255).astype(np.uint8),
        "places_asked": _shares(learned.places_asked, LARGEST_PLACE),
        "places": _shares(learned.places, LARGEST_PLACE),
        **_layer(learned),
        "words": np.frombuffer("\n".join(words).encode(), np.uint8),
    }
    return packed(arrays, metadata)


def _of_stems(usual: npt.NDArray[np.float32], words: Sequence[str]) -> npt.NDArray[np.float32]:
    """What is searched is known by the stems of words: each is as common as the most common one of its stem."""
    _, stems = np.unique([word_numbers(word)[0] for word in words], return_inverse=True)
    least = np.full(len(words), np.inf, np.float32)
    np.minimum.at(least, stems, usual)
    return least[stems]


def _layer(learned: Learned) -> dict[str, npt.NDArray[np.int8 | np.int32]]:
    """Both tables in units of their own, which the two scales make up for; ``sylk_ray.knowledge.embedding.layer`` has
    what is done with them. As large a sum as ``inner`` can be expected to make is what a unit can just say. Raises
    ValueError for a layer that whole numbers cannot stand for."""
    within = ONE / np.sqrt(learned.vectors.shape[1])
    """A number of the vector, as it was trained with, in units of what the layer is given."""
    unit = _unit(learned.inner)
    largest = float((EXPECTED * np.linalg.norm(learned.inner, axis=1) + learned.bias).max()) * within / unit
    shift = int(np.ceil(np.log2(max(largest / TOP, 1.0))))
    gain = int(min(1 / (unit * _unit(learned.outer) * 2.0**shift), LARGEST_GAIN))
    if len(learned.bias) > MOST_UNITS:
        raise ValueError(f"a layer of {len(learned.bias)} units is not exact; at most {MOST_UNITS} are")
    if gain < 1:
        raise ValueError("what the layer adds is so much more than the vector that 8 bits do not hold both")
    return {
        "inner": np.rint(learned.inner / unit).astype(np.int8),
        "bias": np.clip(np.rint(learned.bias * within / unit), -LARGEST_BIAS, LARGEST_BIAS).astype(np.int32),
        "outer": np.rint(learned.outer * unit * 2.0**shift * gain).astype(np.int8),
        "scales": np.asarray([shift, gain], np.int32),
    }


def _unit(table: npt.NDArray[np.float32]) -> float:
    return max(float(np.abs(table).max()), 1e-9) / 127


def _shares(given: npt.NDArray[np.float32], largest: int) -> npt.NDArray[np.int32]:
    """Of the largest one; at least 1, so that no word says nothing. Only how they stand to each other matters."""
    return np.maximum(1, np.rint(given / given.max() * largest)).astype(np.int32)
