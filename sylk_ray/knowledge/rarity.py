"""How rare the words of a question are in what is searched.

A static model has learned what each word says in general. In one repository the word that it is named by is everywhere,
and says nothing; another one that is common elsewhere is rare there, and tells nearly all. BM25 has always known that
of its words, so the engine that ranks by it is asked: what it scores the best document of a single word with is the
word's inverse document frequency times the word's weight in that document.
"""

from __future__ import annotations

import math
from itertools import islice

import numpy as np

from sylk_ray.knowledge.embedding import Rarity
from sylk_ray.knowledge.lexical import dimensions_of
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
    one = np.ones(1, np.float32)
    queries = [Query(sparse=Sparse(np.asarray([each], np.uint32), one), k=1) for each in dimensions.values()]
    best = [hits[0] if hits else None for hits in store.search_many(scope, queries)]
    if not any(best):
        return None
    documents = store.count(scope)
    points = {point.key: point for point in store.get(scope, {hit.key for hit in best if hit})}
    found: dict[str, float] = {}
    for (part, dimension), hit in zip(dimensions.items(), best, strict=True):
        if hit is None:
            found[part] = math.log(2 * documents + 2)
        # What was changed between the two questions is not known.
        elif (weight := _weight(points.get(hit.key), dimension)) > 0 and hit.score > 0:
            found[part] = hit.score / weight
    return Rarity(found, documents)


def _weight(point: Point | None, dimension: int) -> float:
    """Of a word in a document; 0 where it is not in it any more."""
    if point is None or point.sparse is None:
        return 0.0
    return float(point.sparse.values[point.sparse.indices == dimension].sum())
