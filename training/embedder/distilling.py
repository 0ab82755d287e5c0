"""MiniLM as a teacher: how alike it finds the questions and documents of some pairs.

The student learns the teacher's distribution over a question's documents, and over a document's questions (Hinton et
al., 2015), not the vectors, which may then be of any width.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch.nn import functional

from sylk_ray.knowledge.embedding.embedder import Vectors
from training.embedder import preparing
from training.embedder.minilm import MiniLM
from training.embedder.packages import Package
from training.embedder.preparing import learned_as, training_pairs
from training.embedder.whole_files import named_by, whole

PAIRS = 16_000
"""That the teacher reads, of the first sentences of documentation: five minutes on two processors."""
CERTAINTY = 0.05
"""The temperature of the teacher's distribution."""


class Taught(NamedTuple):
    """What a teacher makes of some pairs."""

    pairs: Sequence[int]
    """Their numbers among those that are learned from."""
    questions: Vectors
    """[pairs, dimensions], of length 1, as the documents are."""
    documents: Vectors


def taught_by_minilm(packages: Sequence[Package], cache: Path) -> Taught:
    """Kept until the pairs are others."""
    path = named_by(cache / "taught.npz", preparing.choice_of(packages), PAIRS)
    if not path.exists():
        made = _taught(packages, cache)
        with whole(path) as file:
            np.savez(file, **made._asdict())
    with np.load(path) as found:
        return Taught(*(found[name] for name in Taught._fields))


def _taught(packages: Sequence[Package], cache: Path) -> Taught:
    documented = list(_documented(packages, cache))
    step = max(1, len(documented) // PAIRS)
    some = documented[::step][:PAIRS]
    teacher = MiniLM()
    numbers, questions, documents = zip(*some, strict=True)
    return Taught(numbers, teacher.embed(questions), teacher.embed(documents))


def _documented(packages: Sequence[Package], cache: Path) -> Iterator[tuple[int, str, str]]:
    for number, pair in enumerate(chain.from_iterable(training_pairs(packages, cache))):
        if pair.kind == "doc":
            yield number, pair.query, learned_as(pair)


def disagreement(similar: torch.Tensor, questions: torch.Tensor, documents: torch.Tensor) -> torch.Tensor:
    """How far the student's likenesses, [pairs, pairs] and divided by its temperature, are from those of the teacher's
    vectors: the cross entropy, both ways."""
    told = questions @ documents.T / CERTAINTY
    from_questions = functional.cross_entropy(similar, torch.softmax(told, dim=1))
    from_documents = functional.cross_entropy(similar.T, torch.softmax(told.T, dim=1))
    return (from_questions + from_documents) / 2
