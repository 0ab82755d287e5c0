"""Vectors at a Qdrant server or cluster: a collection for each domain and length of vectors, a tenant for each scope.

A small collection beside them, ``NAME.scopes``, says of each scope which generation of its vectors counts; to replace
that one point is to swap them. This process is the only writer of its scopes, and has read that collection once.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from qdrant_client import QdrantClient, models

from sylk_ray.knowledge.vectors.conditions import Condition
from sylk_ray.knowledge.vectors.errors import (
    RebuildOver,
    RebuildUnderWay,
    StoreClosed,
    VectorSpaceChanged,
    VectorStoreFailed,
)
from sylk_ray.knowledge.vectors.model import Hit, Point, Query, Stats, VectorSpace, check_points, check_query
from sylk_ray.knowledge.vectors.retrying import Retrying
from sylk_ray.knowledge.vectors.server_asking import API_KEY, Asking
from sylk_ray.knowledge.vectors.server_collections import Collections, Tenant
from sylk_ray.knowledge.vectors.server_requests import (
    KEY,
    filter_of,
    hit_of,
    id_of,
    point_of,
    request_of,
    struct_of,
    tenant_is,
)
from sylk_ray.knowledge.vectors.store import Rebuild, VectorStore

BATCH = 256


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
        self._server = Asking(client, where, retrying or Retrying())
        self._collections = Collections(self._server, collection)
        self._lock = threading.RLock()
        self._writing: dict[str, threading.RLock] = {}
        self._building: set[str] = set()
        self._closed = False
        try:
            self._tenants = self._collections.tenants()
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
                self._collections.make(tenant.space)
                self._count_from_now(tenant)
            self._write(tenant, given)

    def delete(self, scope: str, keys: Iterable[int]) -> None:
        gone = list(keys)
        with self._alone(scope):
            tenant = self._tenants.get(scope)
            if tenant is not None:
                self._remove(tenant, gone)

    def _write(self, tenant: Tenant, points: list[Point]) -> None:
        name = self._collections.name_of(tenant.space)
        done: set[int] = set()
        for start in range(0, len(points), BATCH):
            batch = points[start : start + BATCH]
            structs = [struct_of(each, tenant.scope, tenant.name) for each in batch]
            try:
                self._server.ask(lambda structs=structs: self._server.client.upsert(name, structs, wait=True))
            except VectorStoreFailed as failed:
                failed.done = frozenset(done)
                raise
            done.update(each.key for each in batch)

    def _remove(self, tenant: Tenant, keys: list[int]) -> None:
        name = self._collections.name_of(tenant.space)
        for start in range(0, len(keys), BATCH):
            ids: list[Any] = [id_of(tenant.name, each) for each in keys[start : start + BATCH]]
            gone = models.PointIdsList(points=ids)
            self._server.ask(lambda gone=gone: self._server.client.delete(name, gone, wait=True))

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
        name = self._collections.name_of(tenant.space)
        found = iter(self._server.ask(lambda: self._server.client.query_batch_points(name, requests)) if asked else ())
        return [
            [hit_of(hit, each.with_payload) for hit in next(found).points] if any(each is one for one in asked) else []
            for each in queries
        ]

    def get(self, scope: str, keys: Iterable[int]) -> list[Point]:
        tenant = self._tenant(scope)
        if tenant is None:
            return []
        wanted = list(dict.fromkeys(keys))
        name = self._collections.name_of(tenant.space)
        found: dict[int, Point] = {}
        for start in range(0, len(wanted), BATCH):
            ids = [id_of(tenant.name, each) for each in wanted[start : start + BATCH]]
            for each in self._server.ask(lambda ids=ids: self._server.client.retrieve(name, ids, True, True)):
                point = point_of(each)
                found[point.key] = point
        return [found[key] for key in wanted if key in found]

    def keys(self, scope: str) -> Iterator[int]:
        tenant = self._tenant(scope)
        if tenant is None:
            return iter(())
        where = models.Filter(must=[tenant_is(tenant.name)])
        name = self._collections.name_of(tenant.space)
        return iter(sorted((each.payload or {})[KEY] for each in self._server.scroll(name, where, [KEY])))

    def count(self, scope: str, where: Condition | None = None) -> int:
        tenant = self._tenant(scope)
        if tenant is None:
            return 0
        name = self._collections.name_of(tenant.space)
        must: list[Any] = [tenant_is(tenant.name)]
        if where is not None:
            must.append(filter_of(where, tenant.name))
        counted = self._server.ask(lambda: self._server.client.count(name, models.Filter(must=must), exact=True))
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
                self._collections.unregister(scope)
                with self._lock:
                    del self._tenants[scope]
            self._building.discard(scope)
            self._collections.remove_others(scope, None)

    def stats(self, scope: str) -> Stats:
        """The server counts what is indexed for all scopes together: here, at most as many as there are points."""
        tenant = self._tenant(scope)
        if tenant is None:
            return Stats(points=0, indexed=0, bytes_on_disk=0)
        points = self.count(scope)
        info = self._server.ask(lambda: self._server.client.get_collection(self._collections.name_of(tenant.space)))
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
            self._collections.remove_others(scope, current)
            self._collections.make(tenant.space)
            self._building.add(scope)
            return _ServerRebuild(self, tenant)

    def close(self) -> None:
        with self._lock:
            if not self._closed:
                self._closed = True
                self._server.client.close()

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
            self._collections.remove_others(tenant.scope, tenant)

    def give_up(self, tenant: Tenant) -> None:
        with self._alone(tenant.scope):
            if tenant.scope in self._building:
                self._building.discard(tenant.scope)
                self._collections.remove_others(tenant.scope, self._tenants.get(tenant.scope))

    def _check_building(self, tenant: Tenant) -> None:
        if tenant.scope not in self._building:
            raise RebuildOver(f"the rebuild of {tenant.scope!r} is over", hint="begin another one")

    # What is known

    def _count_from_now(self, tenant: Tenant) -> None:
        self._collections.register(tenant)
        with self._lock:
            self._tenants[tenant.scope] = tenant

    def _check_spaces(self) -> None:
        for each in self._tenants.values():
            if not self.space.holds(each.space):
                raise VectorSpaceChanged(
                    f"the vectors of {each.scope!r} at {self._server.where} are of {each.space.dimensions} dimensions "
                    f"by {each.space.model or 'an unnamed model'}, and it was opened for {self.space.dimensions} by "
                    f"{self.space.model or 'an unnamed model'}",
                    hint="open it with serve_changed and rebuild, or use the model that they were made with",
                )

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
            raise StoreClosed(f"the vector store at {self._server.where} was closed")


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
