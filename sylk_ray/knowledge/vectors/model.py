"""What is stored and asked: points in a vector space, queries, and what they hit."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from sylk_ray.knowledge.vectors.conditions import Condition
from sylk_ray.knowledge.vectors.errors import InvalidVector

Dense: TypeAlias = npt.NDArray[np.float32]
Payload: TypeAlias = dict[str, str | int | bool]

MAX_KEY = 2**63 - 1
_HALF = np.uint64(32)


class Quantisation(StrEnum):
    """How vectors are kept in memory beside the originals, which are asked again for the best ones found."""

    NONE = "none"
    INT8 = "int8"
    """A quarter of the memory; hardly anything is lost."""
    BINARY = "binary"
    """A 32nd; for 1,000 dimensions and more."""


class VectorSpace(msgspec.Struct, frozen=True, kw_only=True):
    """What vectors can be compared: those of one model. The distance is the cosine's."""

    dimensions: int
    model: str = ""
    """Its name and version; vectors of two models are no neighbours even if they are as long."""
    quantisation: Quantisation = Quantisation.NONE
    """Of a scope from its beginning or its last rebuild on; takes effect where an index is built."""

    def holds(self, other: VectorSpace) -> bool:
        """Whether vectors of the other can be compared with those of this."""
        return (self.dimensions, self.model) == (other.dimensions, other.model)


class Sparse(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A vector that is zero nearly everywhere: words' numbers, each once, and their weights."""

    indices: npt.NDArray[np.uint32]
    """[n], in any order."""
    values: npt.NDArray[np.float32]
    """[n]."""


class Point(msgspec.Struct, frozen=True, kw_only=True, eq=False, gc=False):
    """What is stored under a key. Points read back have unit length: the cosine needs no more."""

    key: int
    """From 1 to 2**63 - 1."""
    dense: Dense | None = None
    """[dimensions]."""
    sparse: Sparse | None = None
    payload: Payload = {}
    """The fields that a search is filtered by: ``conditions.FIELDS``."""


class Query(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """The nearest ``k`` points to a vector: to a dense or to a sparse one, which of them is given."""

    dense: Dense | None = None
    sparse: Sparse | None = None
    k: int = 10
    where: Condition | None = None
    min_score: float | None = None
    """The cosine in [-1, 1] for dense; for sparse, the sum of products weighted by the words' rarity."""
    with_payload: bool = False


class Hit(msgspec.Struct, frozen=True):
    """A point that a query found."""

    key: int
    score: float
    payload: Payload | None = None


class Stats(msgspec.Struct, frozen=True, kw_only=True):
    """How large a scope is."""

    points: int
    indexed: int
    """Vectors, dense and sparse, that are in an index that was built; the others are compared one by one."""
    bytes_on_disk: int
    """0 where a server keeps them."""


def check_points(points: list[Point], space: VectorSpace) -> None:
    """Raises InvalidVector that names the first point that does not fit."""
    dense = [each.dense for each in points if each.dense is not None]
    if dense:
        shape = (space.dimensions,)
        wrong = next((each for each in points if each.dense is not None and each.dense.shape != shape), None)
        if wrong is not None and wrong.dense is not None:
            raise InvalidVector(
                f"point {wrong.key} has a vector of shape {wrong.dense.shape}, and the space has {space.dimensions}",
                hint="embed it with the model that the store was opened for",
            )
        if not np.isfinite(np.stack(dense)).all():
            wrong = next(each for each in points if each.dense is not None and not np.isfinite(each.dense).all())
            raise InvalidVector(f"the vector of point {wrong.key} is not finite")
    for each in points:
        if not 0 < each.key <= MAX_KEY:
            raise InvalidVector(f"{each.key} is no key", hint="keys are from 1 to 2**63 - 1")
    sparse = [each for each in points if each.sparse is not None]
    if not _are_sound([each.sparse for each in sparse if each.sparse is not None]):
        for each in sparse:
            if each.sparse is not None:
                check_sparse(each.sparse, f"point {each.key}")


def _are_sound(vectors: list[Sparse]) -> bool:
    """As ``check_sparse`` says it of each, looked at together: a tenth of the time."""
    lengths = [len(each.indices) for each in vectors]
    if lengths != [len(each.values) for each in vectors]:
        return False
    if not vectors:
        return True
    # Vector and index in one number each: in order, an index that comes twice is next to itself.
    keys = np.repeat(np.arange(len(vectors), dtype=np.uint64) << _HALF, lengths)
    keys |= np.concatenate([each.indices for each in vectors]).astype(np.uint32)
    keys.sort()
    return bool((keys[1:] != keys[:-1]).all() and np.isfinite(np.concatenate([each.values for each in vectors])).all())


def check_sparse(sparse: Sparse, whose: str) -> None:
    indices = sparse.indices.tolist()
    if len(indices) != len(sparse.values) or len(set(indices)) != len(indices):
        raise InvalidVector(f"the sparse vector of {whose} has an index twice, or not as many values as indices")
    if indices and not np.isfinite(sparse.values).all():
        raise InvalidVector(f"the sparse vector of {whose} is not finite")


def check_query(query: Query, space: VectorSpace) -> None:
    """Raises InvalidVector."""
    if (query.dense is None) == (query.sparse is None):
        raise InvalidVector("a query has one vector, dense or sparse", hint="ask both with search_many and fuse them")
    if query.k < 1:
        raise InvalidVector(f"k is {query.k}", hint="ask for 1 or more")
    if query.dense is not None:
        if query.dense.shape != (space.dimensions,):
            raise InvalidVector(
                f"the query has a vector of shape {query.dense.shape}, and the space has {space.dimensions}",
                hint="embed it with the model that the store was opened for",
            )
    elif query.sparse is not None:
        check_sparse(query.sparse, "the query")


def space_of(read: Any) -> VectorSpace:
    """What was written of a space, read again. Raises msgspec.ValidationError."""
    return msgspec.convert(read, VectorSpace)
