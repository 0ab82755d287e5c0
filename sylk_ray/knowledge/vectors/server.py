"""Vectors at a Qdrant server or cluster: a collection for each domain and length of vectors, a tenant for each scope.

A small collection beside them, ``NAME.scopes``, says of each scope which generation of its vectors counts; to replace
that one point is to swap them. This process is the only writer of its scopes, and has read that collection once.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import msgspec
import xxhash
from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import UnexpectedResponse

from sylk_ray.knowledge.vectors.conditions import BOOL_FIELDS, KEYWORD_FIELDS, PATH_FIELD, Condition
from sylk_ray.knowledge.vectors.errors import (
    RebuildOver,
    RebuildUnderWay,
    StoreClosed,
    VectorServerRefused,
    VectorServerUnreachable,
    VectorSpaceChanged,
    VectorStoreFailed,
)
from sylk_ray.knowledge.vectors.model import Hit, Point, Query, Stats, VectorSpace, check_points, check_query
from sylk_ray.knowledge.vectors.retrying import Failure, Retrying
from sylk_ray.knowledge.vectors.server_failures import failure_of
from sylk_ray.knowledge.vectors.server_requests import (
    DENSE,
    FOLDERS,
    KEY,
    SCOPE,
    SPARSE,
    TENANT,
    filter_of,
    hit_of,
    id_of,
    point_of,
    quantisation_of,
    request_of,
    struct_of,
    tenant_is,
)
from sylk_ray.knowledge.vectors.store import Rebuild, VectorStore

BATCH = 256
PAGE = 5_000
API_KEY = "QDRANT_API_KEY"

T = TypeVar("T")


class Tenant(msgspec.Struct, frozen=True, kw_only=True):
    """Which vectors of a scope count."""

    scope: str
    generation: int
    space: VectorSpace

    @property
    def name(self) -> str:
        return f"{self.generation}:{self.scope}"


def connect(
    url: str,
    collection: str,
    space: VectorSpace,
    *,
    serve_changed: bool = False,
    timeout_s: float = 10.0,
    retrying: Retrying | None = None,
    api_key_variable: str = API_KEY,
) -> ServerVectors:
    """Raises VectorServerUnreachable, VectorServerRefused, VectorSpaceChanged."""
    client = QdrantClient(
        url=url,
        api_key=os.environ.get(api_key_variable) or None,
        prefer_grpc=False,
        timeout=max(1, round(timeout_s)),
        check_compatibility=False,
    )
    return ServerVectors(client, collection, space, where=url, serve_changed=serve_changed, retrying=retrying)


class ServerVectors(VectorStore):
    """What a client of Qdrant reaches; ``where`` names it in errors. Closing the store closes the client."""

    def __init__(
        self,
        client: QdrantClient,
        collection: str,
        space: VectorSpace,
        *,
        where: str = "the vector server",
        serve_changed: bool = False,
        retrying: Retrying | None = None,
    ) -> None:
        self.collection = collection
        self.space = space
        self._client = client
        self._where = where
        self._retrying = retrying or Retrying()
        self._lock = threading.RLock()
        self._writing: dict[str, threading.RLock] = {}
        self._made: set[str] = set()
        self._building: set[str] = set()
        self._closed = False
        try:
            self._tenants = self._read_tenants()
            if not serve_changed:
                self._check_spaces()
        except BaseException:
            client.close()
            raise

    # Writing

    def upsert(self, scope: str, points: Sequence[Point]) -> None:
        given = list(points)
        if not given:
            return
        check_points(given, self.space_of(scope))
        with self._alone(scope):
            tenant = self._tenants.get(scope)
            if tenant is None:
                tenant = Tenant(scope=scope, generation=1, space=self.space)
                self._begin(tenant)
                self._count_from_now(tenant)
            self._write(tenant, given)

    def delete(self, scope: str, keys: Iterable[int]) -> None:
        gone = list(keys)
        with self._alone(scope):
            tenant = self._tenants.get(scope)
            if tenant is not None:
                self._remove(tenant, gone)

    def _write(self, tenant: Tenant, points: list[Point]) -> None:
        name = self._collection_of(tenant.space)
        done: set[int] = set()
        for start in range(0, len(points), BATCH):
            batch = points[start : start + BATCH]
            structs = [struct_of(each, tenant.scope, tenant.name) for each in batch]
            try:
                self._ask(lambda structs=structs: self._client.upsert(name, structs, wait=True))
            except VectorStoreFailed as failed:
                failed.done = frozenset(done)
                raise
            done.update(each.key for each in batch)

    def _remove(self, tenant: Tenant, keys: list[int]) -> None:
        name = self._collection_of(tenant.space)
        for start in range(0, len(keys), BATCH):
            ids: list[Any] = [id_of(tenant.name, each) for each in keys[start : start + BATCH]]
            gone = models.PointIdsList(points=ids)
            self._ask(lambda gone=gone: self._client.delete(name, gone, wait=True))

    # Reading

    def search(self, scope: str, query: Query) -> list[Hit]:
        return self.search_many(scope, [query])[0]

    def search_many(self, scope: str, queries: Sequence[Query]) -> list[list[Hit]]:
        tenant = self._tenant(scope)
        if tenant is None or not queries:
            return [[] for _ in queries]
        for each in queries:
            check_query(each, tenant.space)
        # A sparse vector without words hits nothing, and the server takes it for a mistake.
        asked = [each for each in queries if each.sparse is None or len(each.sparse.indices)]
        requests = [request_of(each, tenant.name) for each in asked]
        name = self._collection_of(tenant.space)
        found = iter(self._ask(lambda: self._client.query_batch_points(name, requests)) if asked else ())
        return [
            [hit_of(hit, each.with_payload) for hit in next(found).points] if any(each is one for one in asked) else []
            for each in queries
        ]

    def get(self, scope: str, keys: Iterable[int]) -> list[Point]:
        tenant = self._tenant(scope)
        if tenant is None:
            return []
        wanted = list(dict.fromkeys(keys))
        name = self._collection_of(tenant.space)
        found: dict[int, Point] = {}
        for start in range(0, len(wanted), BATCH):
            ids = [id_of(tenant.name, each) for each in wanted[start : start + BATCH]]
            for each in self._ask(lambda ids=ids: self._client.retrieve(name, ids, True, True)):
                point = point_of(each)
                found[point.key] = point
        return [found[key] for key in wanted if key in found]

    def keys(self, scope: str) -> Iterator[int]:
        tenant = self._tenant(scope)
        if tenant is None:
            return iter(())
        where = models.Filter(must=[tenant_is(tenant.name)])
        name = self._collection_of(tenant.space)
        return iter(sorted((each.payload or {})[KEY] for each in self._scroll(name, where, [KEY])))

    def count(self, scope: str, where: Condition | None = None) -> int:
        tenant = self._tenant(scope)
        if tenant is None:
            return 0
        name = self._collection_of(tenant.space)
        must: list[Any] = [tenant_is(tenant.name)]
        if where is not None:
            must.append(filter_of(where, tenant.name))
        counted = self._ask(lambda: self._client.count(name, models.Filter(must=must), exact=True))
        return counted.count

    # Scopes

    def flush(self, scope: str) -> None:
        """Nothing to do: a server has every write in its log before it answers."""
        self._tenant(scope)

    def optimize(self, scope: str) -> bool:
        """A server builds its indexes when it sees fit."""
        self._tenant(scope)
        return False

    def scopes(self) -> list[str]:
        self._check_open()
        return sorted(self._tenants)

    def space_of(self, scope: str) -> VectorSpace:
        tenant = self._tenants.get(scope)
        return self.space if tenant is None else tenant.space

    def drop(self, scope: str) -> None:
        with self._alone(scope):
            tenant = self._tenants.get(scope)
            if tenant is not None:
                gone = models.PointIdsList(points=[_registered(scope)])
                self._ask(lambda: self._client.delete(self._registry, gone, wait=True))
                with self._lock:
                    del self._tenants[scope]
            self._building.discard(scope)
            self._remove_others(scope, None)

    def stats(self, scope: str) -> Stats:
        """The server counts what is indexed for all scopes together: here, at most as many as there are points."""
        tenant = self._tenant(scope)
        if tenant is None:
            return Stats(points=0, indexed=0, bytes_on_disk=0)
        points = self.count(scope)
        info = self._ask(lambda: self._client.get_collection(self._collection_of(tenant.space)))
        return Stats(points=points, indexed=min(points, info.indexed_vectors_count or 0), bytes_on_disk=0)

    def begin_rebuild(self, scope: str, space: VectorSpace | None = None) -> Rebuild:
        with self._alone(scope):
            if scope in self._building:
                raise RebuildUnderWay(
                    f"the vectors of {scope!r} are being rebuilt already", hint="wait until that is over"
                )
            current = self._tenants.get(scope)
            # 1 is left to a scope that is begun meanwhile by its first point.
            generation = 2 if current is None else current.generation + 1
            tenant = Tenant(scope=scope, generation=generation, space=space or self.space)
            self._remove_others(scope, current)
            self._begin(tenant)
            self._building.add(scope)
            return _ServerRebuild(self, tenant)

    def close(self) -> None:
        with self._lock:
            if not self._closed:
                self._closed = True
                self._client.close()

    # What a rebuild does

    def into(self, tenant: Tenant, points: list[Point]) -> None:
        with self._alone(tenant.scope):
            self._check_building(tenant)
            check_points(points, tenant.space)
            self._write(tenant, points)

    def out_of(self, tenant: Tenant, keys: list[int]) -> None:
        with self._alone(tenant.scope):
            self._check_building(tenant)
            self._remove(tenant, keys)

    def swap(self, tenant: Tenant) -> None:
        with self._alone(tenant.scope):
            self._check_building(tenant)
            self._count_from_now(tenant)
            self._building.discard(tenant.scope)
            self._remove_others(tenant.scope, tenant)

    def give_up(self, tenant: Tenant) -> None:
        with self._alone(tenant.scope):
            if tenant.scope in self._building:
                self._building.discard(tenant.scope)
                self._remove_others(tenant.scope, self._tenants.get(tenant.scope))

    def _check_building(self, tenant: Tenant) -> None:
        if tenant.scope not in self._building:
            raise RebuildOver(f"the rebuild of {tenant.scope!r} is over", hint="begin another one")

    # Collections

    @property
    def _registry(self) -> str:
        return f"{self.collection}.scopes"

    def _collection_of(self, space: VectorSpace) -> str:
        return f"{self.collection}.d{space.dimensions}"

    def _read_tenants(self) -> dict[str, Tenant]:
        if not self._ask(lambda: self._client.collection_exists(self._registry)):
            self._ask(lambda: self._create(self._registry, lambda: self._client.create_collection(self._registry, {})))
        read = [msgspec.convert(each.payload, Tenant) for each in self._scroll(self._registry, None, True)]
        return {each.scope: each for each in read}

    def _check_spaces(self) -> None:
        for each in self._tenants.values():
            if not self.space.holds(each.space):
                raise VectorSpaceChanged(
                    f"the vectors of {each.scope!r} at {self._where} are of {each.space.dimensions} dimensions by "
                    f"{each.space.model or 'an unnamed model'}, and it was opened for {self.space.dimensions} by "
                    f"{self.space.model or 'an unnamed model'}",
                    hint="open it with serve_changed and rebuild, or use the model that they were made with",
                )

    def _begin(self, tenant: Tenant) -> None:
        """The collection that its points go to, with its indexes."""
        name = self._collection_of(tenant.space)
        if name in self._made:
            return
        if not self._ask(lambda: self._client.collection_exists(name)):
            quantised = quantisation_of(tenant.space)
            params = models.VectorParams(size=tenant.space.dimensions, distance=models.Distance.COSINE)
            sparse = models.SparseVectorParams(modifier=models.Modifier.IDF)
            self._ask(
                lambda: self._create(
                    name,
                    lambda: self._client.create_collection(
                        name,
                        vectors_config={DENSE: params},
                        sparse_vectors_config={SPARSE: sparse},
                        quantization_config=quantised,
                        # Tenants are searched one at a time: a graph for each, and none over all of them.
                        hnsw_config=models.HnswConfigDiff(payload_m=16, m=0),
                    ),
                )
            )
        tenants = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True)
        indexes: dict[str, Any] = {TENANT: tenants}
        indexes |= dict.fromkeys((SCOPE, *KEYWORD_FIELDS, PATH_FIELD, FOLDERS), models.PayloadSchemaType.KEYWORD)
        indexes |= dict.fromkeys(BOOL_FIELDS, models.PayloadSchemaType.BOOL)
        for field, schema in indexes.items():
            self._ask(lambda f=field, s=schema: self._client.create_payload_index(name, f, s, wait=True))
        self._made.add(name)

    def _create(self, name: str, create: Callable[[], object]) -> None:
        """A repetition of what was done, and its answer lost, is no error."""
        try:
            create()
        except UnexpectedResponse as error:
            if error.status_code != 409 and not self._client.collection_exists(name):
                raise

    def _count_from_now(self, tenant: Tenant) -> None:
        point = models.PointStruct(id=_registered(tenant.scope), vector={}, payload=msgspec.to_builtins(tenant))
        self._ask(lambda: self._client.upsert(self._registry, [point], wait=True))
        with self._lock:
            self._tenants[tenant.scope] = tenant

    def _remove_others(self, scope: str, keep: Tenant | None) -> None:
        """Points of the scope that count no longer, or never did, in any collection of this domain."""
        where = models.Filter(
            must=[models.FieldCondition(key=SCOPE, match=models.MatchValue(value=scope))],
            must_not=[] if keep is None else [tenant_is(keep.name)],
        )
        gone = models.FilterSelector(filter=where)
        for each in self._ask(lambda: self._client.get_collections()).collections:
            if each.name.startswith(f"{self.collection}.d"):
                self._ask(lambda name=each.name: self._client.delete(name, gone, wait=True))

    def _scroll(self, name: str, where: models.Filter | None, payload: Any) -> Iterator[models.Record]:
        offset: Any = None

        def page() -> tuple[list[models.Record], Any]:
            return self._client.scroll(name, where, limit=PAGE, offset=offset, with_payload=payload, with_vectors=False)

        while True:
            records, offset = self._ask(page)
            yield from records
            if offset is None:
                return

    # Asking

    def _tenant(self, scope: str) -> Tenant | None:
        self._check_open()
        return self._tenants.get(scope)

    def _alone(self, scope: str) -> threading.RLock:
        """Held by who writes to the scope."""
        self._check_open()
        with self._lock:
            return self._writing.setdefault(scope, threading.RLock())

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed(f"the vector store at {self._where} was closed")

    def _ask(self, do: Callable[[], T]) -> T:
        done = self._retrying.run(do, failure_of)
        if not isinstance(done, Failure):
            return done
        if done.refused:
            raise VectorServerRefused(
                f"{self._where} does not let us in: {done.why}", hint=f"give its key in the environment as {API_KEY}"
            )
        if done.again:
            raise VectorServerUnreachable(
                f"{self._where} does not answer: {done.why}",
                hint="see whether it runs and can be reached from here; nothing is lost, what was not written is again",
            )
        raise VectorStoreFailed(f"{self._where} could not do it: {done.why}", hint="the server's log says more")


class _ServerRebuild(Rebuild):
    def __init__(self, store: ServerVectors, tenant: Tenant) -> None:
        self.scope = tenant.scope
        self.space = tenant.space
        self._store = store
        self._tenant = tenant
        self._over = False

    def upsert(self, points: Sequence[Point]) -> None:
        self._check()
        self._store.into(self._tenant, list(points))

    def delete(self, keys: Iterable[int]) -> None:
        self._check()
        self._store.out_of(self._tenant, list(keys))

    def finish(self) -> None:
        self._check()
        self._store.swap(self._tenant)
        self._over = True

    def abandon(self) -> None:
        if not self._over:
            self._over = True
            self._store.give_up(self._tenant)

    def _check(self) -> None:
        if self._over:
            raise RebuildOver(f"the rebuild of {self.scope!r} is over", hint="begin another one")


def _registered(scope: str) -> str:
    return id_of("scopes", xxhash.xxh3_64_intdigest(scope.encode()))
