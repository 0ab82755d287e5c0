"""Our points, queries and conditions in the embedded engine's own words, and its answers in ours."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import qdrant_edge as engine

from sylk_ray.knowledge.vectors.conditions import (
    BOOL_FIELDS,
    KEYWORD_FIELDS,
    PATH_FIELD,
    All,
    AnyOf,
    Condition,
    Equals,
    KeyIn,
    NoneOf,
    Not,
    Some,
    Within,
)
from sylk_ray.knowledge.vectors.model import Hit, Payload, Point, Quantisation, Query, Sparse, VectorSpace

DENSE = "dense"
SPARSE = "lexical"
MAX_KEPT = 256
LARGEST_KEPT = 4096
"""In bytes, encoded: lists of keys hardly come twice."""
TRUTH = {True: "\x01true", False: "\x01false"}
"""What is written for a truth value: asked for one, the engine's Python interface asks for a number, and finds none."""


def config_of(space: VectorSpace, index_from: int) -> engine.EdgeConfig:
    quantisation: Any = None
    if space.quantisation is Quantisation.INT8:
        quantisation = engine.ScalarQuantizationConfig(type=engine.ScalarType.Int8, quantile=0.99, always_ram=True)
    elif space.quantisation is Quantisation.BINARY:
        quantisation = engine.BinaryQuantizationConfig(always_ram=True)
    # In KB, and well below so many vectors, dense and sparse: what is optimized has an index afterwards.
    threshold = max(1, index_from * space.dimensions * 4 // 1024 // 4)
    return engine.EdgeConfig(
        vectors={
            DENSE: engine.EdgeVectorParams(
                size=space.dimensions, distance=engine.Distance.Cosine, quantization_config=quantisation
            )
        },
        sparse_vectors={SPARSE: engine.EdgeSparseVectorParams(modifier=engine.Modifier.Idf)},
        optimizers=engine.EdgeOptimizersConfig(indexing_threshold=threshold, default_segment_number=1),
        wal_enabled=True,
    )


def new_shard(path: str, space: VectorSpace, index_from: int) -> engine.EdgeShard:
    """With the indexes of its payloads, and nothing in it; those of vectors are built from so many of them on."""
    shard = engine.EdgeShard.create(path, config_of(space, index_from))
    for field in (*KEYWORD_FIELDS, *BOOL_FIELDS):
        shard.update(engine.UpdateOperation.create_field_index(field, engine.PayloadSchemaType.Keyword))
    shard.update(engine.UpdateOperation.create_field_index(PATH_FIELD, engine.KeywordIndexParams(prefix=True)))
    shard.flush()
    return shard


def upsert_of(points: list[Point]) -> engine.UpdateOperation:
    made: list[engine.Point] = []
    for each in points:
        vectors: Any = {}
        if each.dense is not None:
            # What has the buffer's numbers is taken faster than a list, and that twice as fast as an array.
            vectors[DENSE] = np.ascontiguousarray(each.dense, np.float32).data
        if each.sparse is not None:
            indices: Any = np.ascontiguousarray(each.sparse.indices, np.uint32).data
            values: Any = np.ascontiguousarray(each.sparse.values, np.float32).data
            vectors[SPARSE] = engine.SparseVector(indices, values)
        made.append(engine.Point(each.key, vectors, _written(each.payload)))
    return engine.UpdateOperation.upsert_points(made)


def delete_of(keys: list[int]) -> engine.UpdateOperation:
    return engine.UpdateOperation.delete_points(list[Any](keys))


def point_of(record: engine.Record) -> Point:
    vectors: Any = record.vector or {}
    dense, sparse = vectors.get(DENSE), vectors.get(SPARSE)
    return Point(
        key=int(str(record.id)),
        dense=None if dense is None else np.asarray(dense, dtype=np.float32),
        sparse=None
        if sparse is None
        else Sparse(np.asarray(sparse.indices, dtype=np.uint32), np.asarray(sparse.values, dtype=np.float32)),
        payload=_read(record.payload),
    )


def request_of(query: Query) -> engine.QueryRequest:
    if query.sparse is None:
        asked = engine.Query.Nearest(query.dense, DENSE)  # pyright: ignore[reportArgumentType]
    else:
        vector = engine.SparseVector(query.sparse.indices, query.sparse.values)  # pyright: ignore[reportArgumentType]
        asked = engine.Query.Nearest(vector, SPARSE)
    return engine.QueryRequest(
        limit=query.k,
        query=asked,
        filter=None if query.where is None else filter_of(query.where),
        score_threshold=query.min_score,
        with_payload=query.with_payload,
    )


def hits_of(found: list[engine.ScoredPoint], with_payload: bool) -> list[Hit]:
    if with_payload:
        return [Hit(each.id, each.score, _read(each.payload)) for each in found]  # pyright: ignore[reportArgumentType]
    return [Hit(each.id, each.score) for each in found]  # pyright: ignore[reportArgumentType]


def filter_of(condition: Condition) -> engine.Filter:
    """Those that were asked for lately are kept: to make one takes as long as to search with it."""
    encoded = _encode(condition)
    if len(encoded) > LARGEST_KEPT:
        return _filter_of(condition)
    kept = _kept.get(encoded)
    if kept is None:
        if len(_kept) >= MAX_KEPT:
            _kept.clear()
        kept = _kept[encoded] = _filter_of(condition)
    return kept


# By their encoding, not by themselves: Python takes True for 1.
_encode = msgspec.msgpack.Encoder().encode
_kept: dict[bytes, engine.Filter] = {}


def _filter_of(condition: Condition) -> engine.Filter:
    match condition:
        case Equals(field, value):
            written = TRUTH[value] if isinstance(value, bool) else value
            return _must(engine.FieldCondition(field, match=engine.MatchValue(written)))
        case AnyOf(field, values):
            if not values:
                return _NOTHING
            return _must(engine.FieldCondition(field, match=engine.MatchAny(list[Any](values))))
        case NoneOf(field, values):
            if not values:
                return _must()
            # Not MatchExcept: that leaves out the points without the field.
            return engine.Filter(must_not=[engine.FieldCondition(field, match=engine.MatchAny(list[Any](values)))])
        case KeyIn(keys):
            return _must(engine.HasIdCondition(set[Any](keys)))
        case Within(path):
            folder = path.rstrip("/")
            if not folder:
                return engine.Filter(must_not=[engine.IsEmptyCondition(PATH_FIELD)])
            itself = engine.FieldCondition(PATH_FIELD, match=engine.MatchValue(folder))
            below = engine.FieldCondition(PATH_FIELD, match=engine.MatchPrefix(f"{folder}/"))
            return engine.Filter(should=[itself, below])
        case All(parts):
            return engine.Filter(must=[_filter_of(each) for each in parts])
        case Some(parts):
            return engine.Filter(should=[_filter_of(each) for each in parts]) if parts else _NOTHING
        case Not(part):
            return engine.Filter(must_not=[_filter_of(part)])


def _written(payload: Payload) -> Payload:
    return {name: TRUTH[value] if value is True or value is False else value for name, value in payload.items()}


def _read(payload: Payload | None) -> Payload:
    return {name: _FALSE_OR_TRUE.get(value, value) for name, value in (payload or {}).items()}


_FALSE_OR_TRUE: dict[str | int | bool, bool] = {written: value for value, written in TRUTH.items()}


def _must(*conditions: Any) -> engine.Filter:
    return engine.Filter(must=list(conditions))


_NOTHING = _must(engine.HasIdCondition(set()))
