"""How rare the words of a question are in what is searched.

A static model has learned what each word says in general. In one repository the word that it is named by is everywhere,
and says nothing; another one that is common elsewhere is rare there, and tells nearly all. BM25 has always known that
of its words, so the engine that ranks by it is asked: what it scores the best document of a single word with is the
word's inverse document frequency times the word's weight in that document.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import islice

import numpy as np

from sylk_ray.knowledge.embedding.embedder import Rarity, rarest
from sylk_ray.knowledge.lexical import K1, dimensions_of
from sylk_ray.knowledge.vectors import Point, Query, Sparse, VectorStore
from sylk_ray.knowledge.words import identifiers

MOST = 64
"""Words of a question that are looked up."""


def rarity(store: VectorStore, scope: str, text: str) -> Rarity | None:
    """Of the parts of the text's identifiers that say something, in a scope; None if it has none of them."""
    every = dict(each for identifier in identifiers(text) for each in dimensions_of(identifier))
    dimensions = dict(islice(every.items(), MOST))
    if not dimensions:
        return None
    rare = _rare(store, scope, dimensions.values())
    if all(map(math.isinf, rare.values())):
        return None
    documents = store.count(scope)
    most = rarest(documents)
    found = ((part, rare.get(dimension)) for part, dimension in dimensions.items())
    return Rarity({part: min(each, most) for part, each in found if each is not None}, documents)


def most_said(store: VectorStore, scope: str, words: Sparse) -> float:
    """What BM25 gives any document of a scope less than, however often it says these words: how rare each is, times
    ``K1 + 1``. Those that are nowhere count as the rarest."""
    most = rarest(store.count(scope))
    return (K1 + 1) * sum(min(each, most) for each in _rare(store, scope, words.indices[:MOST].tolist()).values())


def _rare(store: VectorStore, scope: str, dimensions: Iterable[int]) -> dict[int, float]:
    """The inverse document frequency of each word, infinite where it is nowhere. Of what was changed between the two
    questions it is not known."""
    asked, one = list(dimensions), np.ones(1, np.float32)
    queries = [Query(sparse=Sparse(np.asarray([each], np.uint32), one), k=1) for each in asked]
    best = [hits[0] if hits else None for hits in store.search_many(scope, queries)]
    points = {point.key: point for point in store.get(scope, {hit.key for hit in best if hit})}
    found: dict[int, float] = {}
    for dimension, hit in zip(asked, best, strict=True):
        if hit is None:
            found[dimension] = math.inf
        elif (weight := _weight(points.get(hit.key), dimension)) > 0 and hit.score > 0:
            found[dimension] = hit.score / weight
    return found


def _weight(point: Point | None, dimension: int) -> float:
    """Of a word in a document; 0 where it is not in it any more."""
    if point is None or point.sparse is None:
        return 0.0
    return float(point.sparse.values[point.sparse.indices == dimension].sum())
