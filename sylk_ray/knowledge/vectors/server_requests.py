"""Our points, queries and conditions in the server's words. All scopes of a domain share a collection there, so each
point says whose it is, and its id is a hash of that and its key."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import numpy as np
import xxhash
from qdrant_client import models

from sylk_ray.knowledge.vectors.conditions import (
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
    ancestors,
)
from sylk_ray.knowledge.vectors.model import Hit, Point, Quantisation, Query, Sparse, VectorSpace

DENSE = "dense"
SPARSE = "lexical"
TENANT = "_tenant"
"""The scope, and which generation of its vectors."""
SCOPE = "_scope"
KEY = "_key"
FOLDERS = "_folders"
"""The path and every folder above it, so that any version of the server can look below a folder."""
OURS = frozenset({TENANT, SCOPE, KEY, FOLDERS})


def id_of(tenant: str, key: int) -> str:
    """Made as a random UUID is, of 122 bits of the hash."""
    return str(UUID(bytes=xxhash.xxh3_128_digest(f"{tenant}\0{key}".encode()), version=4))


def struct_of(point: Point, scope: str, tenant: str) -> models.PointStruct:
    vectors: dict[str, Any] = {}
    if point.dense is not None:
        vectors[DENSE] = point.dense.tolist()
    if point.sparse is not None:
        vectors[SPARSE] = sparse_of(point.sparse)
    payload: dict[str, Any] = {**point.payload, TENANT: tenant, SCOPE: scope, KEY: point.key}
    path = point.payload.get(PATH_FIELD)
    if isinstance(path, str):
        payload[FOLDERS] = ancestors(path)
    return models.PointStruct(id=id_of(tenant, point.key), vector=vectors, payload=payload)


def sparse_of(sparse: Sparse) -> models.SparseVector:
    return models.SparseVector(indices=sparse.indices.tolist(), values=sparse.values.tolist())


def point_of(record: models.Record) -> Point:
    vectors: Any = record.vector or {}
    payload: dict[str, Any] = dict(record.payload or {})
    dense, sparse = vectors.get(DENSE), vectors.get(SPARSE)
    return Point(
        key=payload[KEY],
        dense=None if dense is None else np.asarray(dense, dtype=np.float32),
        sparse=None
        if sparse is None
        else Sparse(np.asarray(sparse.indices, dtype=np.uint32), np.asarray(sparse.values, dtype=np.float32)),
        payload={name: value for name, value in payload.items() if name not in OURS},
    )


def hit_of(found: models.ScoredPoint, with_payload: bool) -> Hit:
    payload: dict[str, Any] = dict(found.payload or {})
    shown = {name: value for name, value in payload.items() if name not in OURS} if with_payload else None
    return Hit(payload[KEY], found.score, shown)


def request_of(query: Query, tenant: str) -> models.QueryRequest:
    corpus = models.Filter(must=[tenant_is(tenant)])
    where = corpus if query.where is None else models.Filter(must=[tenant_is(tenant), filter_of(query.where, tenant)])
    asked: Any = sparse_of(query.sparse) if query.sparse is not None else None
    if query.dense is not None:
        asked = query.dense.tolist()
    # How rare a word is, is counted in the scope alone, as the embedded engine does.
    params = models.SearchParams(idf=models.IdfCorpusParams(corpus=corpus)) if query.sparse is not None else None
    return models.QueryRequest(
        query=asked,
        using=DENSE if query.sparse is None else SPARSE,
        filter=where,
        params=params,
        limit=query.k,
        score_threshold=query.min_score,
        with_payload=True if query.with_payload else [KEY],
    )


def tenant_is(tenant: str) -> models.FieldCondition:
    return _equals(TENANT, tenant)


def filter_of(condition: Condition, tenant: str) -> models.Filter:
    match condition:
        case Equals(field, value):
            return models.Filter(must=[_equals(field, value)])
        case AnyOf(field, values):
            return models.Filter(must=[_any_of(field, values)]) if values else _nothing()
        case NoneOf(field, values):
            return models.Filter(must_not=[_any_of(field, values)]) if values else models.Filter()
        case KeyIn(keys):
            return models.Filter(must=[models.HasIdCondition(has_id=[id_of(tenant, each) for each in sorted(keys)])])
        case Within(path):
            folder = path.rstrip("/")
            if not folder:
                empty = models.IsEmptyCondition(is_empty=models.PayloadField(key=PATH_FIELD))
                return models.Filter(must_not=[empty])
            return models.Filter(must=[_equals(FOLDERS, folder)])
        case All(parts):
            return models.Filter(must=[filter_of(each, tenant) for each in parts])
        case Some(parts):
            return models.Filter(should=[filter_of(each, tenant) for each in parts]) if parts else _nothing()
        case Not(part):
            return models.Filter(must_not=[filter_of(part, tenant)])


def quantisation_of(space: VectorSpace) -> Any:
    if space.quantisation is Quantisation.INT8:
        return models.ScalarQuantization(
            scalar=models.ScalarQuantizationConfig(type=models.ScalarType.INT8, quantile=0.99, always_ram=True)
        )
    if space.quantisation is Quantisation.BINARY:
        return models.BinaryQuantization(binary=models.BinaryQuantizationConfig(always_ram=True))
    return None


def _equals(field: str, value: str | int | bool) -> models.FieldCondition:
    return models.FieldCondition(key=field, match=models.MatchValue(value=value))


def _any_of(field: str, values: Any) -> models.FieldCondition:
    return models.FieldCondition(key=field, match=models.MatchAny(any=list(values)))


def _nothing() -> models.Filter:
    return models.Filter(must=[models.HasIdCondition(has_id=[])])
