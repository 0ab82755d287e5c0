"""How good an order of answers is: NDCG, MRR and recall at 10, with what is relevant given as a set."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from benchmarks.search_quality.asked import Place, Question

AT = 10


class Score(msgspec.Struct, frozen=True):
    """Each in [0, 1]."""

    ndcg: float
    mrr: float
    recall: float


def of_hits(hits: Sequence[bool], relevant: int) -> Score:
    """``hits`` tells of each answer, the best first, whether it is one of the ``relevant``; none may be there twice.

    NDCG with a gain of 1 (Järvelin and Kekäläinen, 2002).
    """
    top = hits[:AT]
    gained = sum(1 / math.log2(place + 2) for place, hit in enumerate(top) if hit)
    ideal = sum(1 / math.log2(place + 2) for place in range(min(AT, relevant)))
    first = next((place for place, hit in enumerate(top) if hit), None)
    return Score(gained / ideal, 0.0 if first is None else 1 / (first + 1), sum(top) / relevant)


def of_files(question: Question, found: Sequence[Place]) -> Score:
    """By file, each counted where it comes first."""
    paths = list(dict.fromkeys(each.path for each in found))
    return of_hits([path in question.files for path in paths], len(question.files))


def of_definitions(question: Question, found: Sequence[Place]) -> Score | None:
    """By the line at which the definition begins; None for a question about a file."""
    if not question.line:
        return None
    right = [each.path in question.files and each.start <= question.line <= each.end for each in found]
    first = next((place for place, hit in enumerate(right) if hit), len(right))
    return of_hits([place == first for place in range(len(right))], 1)


def mean(scores: Sequence[Score]) -> Score:
    """Of several questions."""
    count = len(scores)
    return Score(
        sum(each.ndcg for each in scores) / count,
        sum(each.mrr for each in scores) / count,
        sum(each.recall for each in scores) / count,
    )
