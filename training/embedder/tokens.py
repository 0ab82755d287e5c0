"""Pairs as rows of the vocabulary, in flat arrays: what training reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sylk_ray.knowledge.embedding.places import PLACES
from sylk_ray.knowledge.embedding.vocabulary import Vocabulary
from sylk_ray.knowledge.words import identifiers

LEAST = 0.001
"""The part of the texts that something can be learned of."""
MOST = 224
"""Different words of a document that training looks at."""


class Bags(NamedTuple):
    """Texts as rows of a vocabulary: those of the text n are ``rows[starts[n]:starts[n + 1]]``, in order."""

    rows: npt.NDArray[np.uint16]
    times: npt.NDArray[np.uint8]
    """How often each is there."""
    starts: npt.NDArray[np.int64]


def counted_rows(text: str, vocabulary: Vocabulary) -> dict[int, int]:
    """How often each row's word is in a text, in the order in which they come first."""
    return Counter(row for identifier in identifiers(text) for row in vocabulary.rows_of(identifier))


def bags(texts: Iterable[str], vocabulary: Vocabulary) -> Bags:
    """At most ``MOST`` rows of each text."""
    rows: list[npt.NDArray[np.uint16]] = []
    times: list[npt.NDArray[np.uint8]] = []
    starts = [0]
    for text in texts:
        found = counted_rows(text, vocabulary)
        some = min(len(found), MOST)
        rows.append(np.fromiter(found.keys(), np.uint16, some))
        times.append(np.fromiter((min(each, 255) for each in found.values()), np.uint8, some))
        starts.append(starts[-1] + some)
    empty = np.zeros(0, np.uint16)
    return Bags(
        np.concatenate([*rows, empty]),
        np.concatenate([*times, empty.astype(np.uint8)]),
        np.asarray(starts, np.int64),
    )


def carried_on(places: npt.NDArray[np.float32], bags: Bags) -> npt.NDArray[np.float32]:
    """What words count by their places, [PLACES]. Of those that hardly a text is long enough for nothing was learned,
    and they count as the last one before."""
    lengths = np.diff(bags.starts)
    begins = [0, *(1 << place for place in range(PLACES - 1))]
    learned = sum(np.mean(lengths > begin) > LEAST for begin in begins)
    return np.where(np.arange(PLACES) < learned, places, places[learned - 1])


def usual(bags: Bags, words: int) -> npt.NDArray[np.float32]:
    """How rare each of so many words is among texts: BM25's inverse document frequency, [words]."""
    times = np.bincount(bags.rows, minlength=words)
    return np.log(len(bags.starts) / (times + 0.5)).astype(np.float32)


def only(bags: Bags, kept: npt.NDArray[np.bool_]) -> Bags:
    """The texts that are kept, [texts]."""
    lengths = np.diff(bags.starts)
    rows = np.repeat(kept, lengths)
    return Bags(bags.rows[rows], bags.times[rows], np.concatenate([[0], np.cumsum(lengths[kept])]).astype(np.int64))


def joined(some: Sequence[Bags]) -> Bags:
    """Several one after another."""
    offsets = np.cumsum([0, *(int(each.starts[-1]) for each in some)])
    starts = [each.starts[:-1] + offset for each, offset in zip(some, offsets, strict=False)]
    return Bags(
        np.concatenate([each.rows for each in some]),
        np.concatenate([each.times for each in some]),
        np.concatenate([*starts, offsets[-1:]]),
    )
