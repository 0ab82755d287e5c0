"""Vectors of a domain, by scope: dense ones by meaning, sparse ones by words, filtered by what their points are::

    with open_vectors(home / "vectors", "code", VectorSpace(dimensions=256, model="sylk-code")) as vectors:
        vectors.upsert("/repo", [Point(key=7, dense=embedded, payload={"language": "python", "path": "src/a.py"})])
        hits = vectors.search("/repo", Query(dense=asked, k=10, where=Within("src")))

In a directory they are kept by Qdrant's embedded engine, which one process opens at a time; at a URL by a Qdrant server
or cluster. Both do the same.
"""

from sylk_ray.knowledge.vectors.conditions import (
    All,
    AnyOf,
    Condition,
    Equals,
    KeyIn,
    NoneOf,
    Not,
    Some,
    Within,
    holds,
)
from sylk_ray.knowledge.vectors.errors import (
    InvalidVector,
    RebuildOver,
    RebuildUnderWay,
    StoreClosed,
    StoreDamaged,
    StoreInUse,
    StoreUnavailable,
    VectorServerRefused,
    VectorServerUnreachable,
    VectorSpaceChanged,
    VectorStoreFailed,
)
from sylk_ray.knowledge.vectors.model import Hit, Point, Quantisation, Query, Sparse, Stats, VectorSpace
from sylk_ray.knowledge.vectors.opening import open_vectors
from sylk_ray.knowledge.vectors.store import Rebuild, VectorStore

__all__ = [
    "All",
    "AnyOf",
    "Condition",
    "Equals",
    "Hit",
    "InvalidVector",
    "KeyIn",
    "NoneOf",
    "Not",
    "Point",
    "Quantisation",
    "Query",
    "Rebuild",
    "RebuildOver",
    "RebuildUnderWay",
    "Some",
    "Sparse",
    "Stats",
    "StoreClosed",
    "StoreDamaged",
    "StoreInUse",
    "StoreUnavailable",
    "VectorServerRefused",
    "VectorServerUnreachable",
    "VectorSpace",
    "VectorSpaceChanged",
    "VectorStore",
    "VectorStoreFailed",
    "Within",
    "holds",
    "open_vectors",
]
