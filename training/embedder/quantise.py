"""A trained model as the file that is shipped: whole numbers alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sylk_ray.knowledge.embedding.model_file import packed

LARGEST_WEIGHT = 1 << 20
PLACE_UNIT = 1 << 8


class Learned(NamedTuple):
    """A model before it is quantised. [words, dimensions], [words], [words], [PLACES]."""

    vectors: npt.NDArray[np.float32]
    of_questions: npt.NDArray[np.float32]
    of_documents: npt.NDArray[np.float32]
    places: npt.NDArray[np.float32]


def as_file(learned: Learned, words: Sequence[str], metadata: Mapping[str, str]) -> bytes:
    """A row in units of its largest number by 127; the unit goes into the word's weights."""
    units = np.maximum(np.abs(learned.vectors).max(axis=1), 1e-9) / 127
    arrays = {
        "vectors": np.rint(learned.vectors / units[:, None]).astype(np.int8),
        "questions": _weights(learned.of_questions * units),
        "documents": _weights(learned.of_documents * units),
        "places": np.rint(learned.places / learned.places.max() * PLACE_UNIT).astype(np.int32),
        "words": np.frombuffer("\n".join(words).encode(), np.uint8),
    }
    return packed(arrays, metadata)


def _weights(given: npt.NDArray[np.float32]) -> npt.NDArray[np.int32]:
    """At least 1, so that no word says nothing; only how they stand to each other matters."""
    return np.maximum(1, np.rint(given / given.max() * LARGEST_WEIGHT)).astype(np.int32)
