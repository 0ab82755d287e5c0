"""The collections of a domain: those that hold points, and the one that says which of them count."""

from __future__ import annotations

from typing import Any

import msgspec
import xxhash
from qdrant_client import models

from sylk_ray.knowledge.vectors.conditions import BOOL_FIELDS, KEYWORD_FIELDS, PATH_FIELD
from sylk_ray.knowledge.vectors.model import VectorSpace
from sylk_ray.knowledge.vectors.server_asking import Asking
from sylk_ray.knowledge.vectors.server_requests import (
    DENSE,
    FOLDERS,
    SCOPE,
    SPARSE,
    TENANT,
    id_of,
    quantisation_of,
    tenant_is,
)


class Tenant(msgspec.Struct, frozen=True, kw_only=True):
    """Which vectors of a scope count."""

    scope: str
    generation: int
    space: VectorSpace

    @property
    def name(self) -> str:
        return f"{self.generation}:{self.scope}"


class Collections:
    """Of one domain at a server."""

    def __init__(self, server: Asking, collection: str) -> None:
        self._server = server
        self.collection = collection
        self._made: set[str] = set()

    @property
    def registry(self) -> str:
        return f"{self.collection}.scopes"

    def name_of(self, space: VectorSpace) -> str:
        return f"{self.collection}.d{space.dimensions}"

    def tenants(self) -> dict[str, Tenant]:
        if not self._server.ask(lambda: self._server.client.collection_exists(self.registry)):
            self._server.create(self.registry, lambda: self._server.client.create_collection(self.registry, {}))
        read = [msgspec.convert(each.payload, Tenant) for each in self._server.scroll(self.registry, None, True)]
        return {each.scope: each for each in read}

    def make(self, space: VectorSpace) -> None:
        """The collection that its points go to, with its indexes."""
        name = self.name_of(space)
        if name in self._made:
            return
        if not self._server.ask(lambda: self._server.client.collection_exists(name)):
            quantised = quantisation_of(space)
            params = models.VectorParams(size=space.dimensions, distance=models.Distance.COSINE)
            sparse = models.SparseVectorParams(modifier=models.Modifier.IDF)
            self._server.create(
                name,
                lambda: self._server.client.create_collection(
                    name,
                    vectors_config={DENSE: params},
                    sparse_vectors_config={SPARSE: sparse},
                    quantization_config=quantised,
                    # Tenants are searched one at a time: a graph for each, and none over all of them.
                    hnsw_config=models.HnswConfigDiff(payload_m=16, m=0),
                ),
            )
        tenants = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True)
        indexes: dict[str, Any] = {TENANT: tenants}
        indexes |= dict.fromkeys((SCOPE, *KEYWORD_FIELDS, PATH_FIELD, FOLDERS), models.PayloadSchemaType.KEYWORD)
        indexes |= dict.fromkeys(BOOL_FIELDS, models.PayloadSchemaType.BOOL)
        for field, schema in indexes.items():
            self._server.ask(lambda f=field, s=schema: self._server.client.create_payload_index(name, f, s, wait=True))
        self._made.add(name)

    def register(self, tenant: Tenant) -> None:
        point = models.PointStruct(id=registered(tenant.scope), vector={}, payload=msgspec.to_builtins(tenant))
        self._server.ask(lambda: self._server.client.upsert(self.registry, [point], wait=True))

    def unregister(self, scope: str) -> None:
        gone = models.PointIdsList(points=[registered(scope)])
        self._server.ask(lambda: self._server.client.delete(self.registry, gone, wait=True))

    def remove_others(self, scope: str, keep: Tenant | None) -> None:
        """Points of the scope that count no longer, or never did, in any collection of this domain."""
        where = models.Filter(
            must=[models.FieldCondition(key=SCOPE, match=models.MatchValue(value=scope))],
            must_not=[] if keep is None else [tenant_is(keep.name)],
        )
        gone = models.FilterSelector(filter=where)
        for each in self._server.ask(lambda: self._server.client.get_collections()).collections:
            if each.name.startswith(f"{self.collection}.d"):
                self._server.ask(lambda name=each.name: self._server.client.delete(name, gone, wait=True))


def registered(scope: str) -> str:
    return id_of("scopes", xxhash.xxh3_64_intdigest(scope.encode()))
