"""How rare the words of a question are in what is searched.

A static model has learned what each word says in general. In one repository the word that it is named by is everywhere,
and says nothing; another one that is common elsewhere is rare there, and tells nearly all. BM25 has always known that
of its words, so the engine that ranks by it is asked: what it scores the best document of a single word with is the
word's rarity times the word's weight in that document.
"""

from __future__ import annotations

import math

import numpy as np

from sylk_ray.knowledge.embedding import Rarity
from sylk_ray.knowledge.lexical import dimension_of
from sylk_ray.knowledge.vectors import Query, Sparse, VectorStore
from sylk_ray.knowledge.words import identifiers, pieces

MOST = 64
"""Words of a question that are looked up: of a longer one none, as it has no few words that tell."""


def rarity(store: VectorStore, scope: str, text: str) -> Rarity | None:
    """Of the parts of the text's identifiers, in a scope; None if it has none of them, or there are too many."""
    dimensions = {part: dimension_of(part) for each in identifiers(text) for part in pieces(each)}
    if not 0 < len(dimensions) <= MOST:
        return None
    one = np.ones(1, np.float32)
    queries = [Query(sparse=Sparse(np.asarray([each], np.uint32), one), k=1) for each in dimensions.values()]
    best = [hits[0] if hits else None for hits in store.search_many(scope, queries)]
    points = {point.key: point for point in store.get(scope, {hit.key for hit in best if hit})}
    found: dict[str, float] = {}
    for (part, dimension), hit in zip(dimensions.items(), best, strict=True):
        sparse = points[hit.key].sparse if hit and hit.key in points else None
        if hit and sparse is not None and len(weight := sparse.values[sparse.indices == dimension]):
            found[part] = hit.score / float(weight[0])
    if not found:
        return None
    most = max(math.log(2 * store.count(scope) + 2), *found.values())
    return Rarity({part: found.get(part, most) for part in dimensions}, most)
