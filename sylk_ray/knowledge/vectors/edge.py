"""Vectors in the embedded engine: a shard for each scope, in this process.

What was measured of the engine, and is relied upon: an update is in its log when it returns, so that a SIGKILL loses
nothing; a search sees what is in no index yet, and compares it one by one; updates and searches let other threads run,
building an index does not, so that is done in a process of its own, on a copy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import qdrant_edge as engine

from sylk_ray.knowledge.vectors import edge_folders as folders
from sylk_ray.knowledge.vectors.conditions import Condition
from sylk_ray.knowledge.vectors.edge_rebuild import EdgeRebuild, build_indexes
from sylk_ray.knowledge.vectors.edge_requests import (
    DENSE,
    SPARSE,
    delete_of,
    filter_of,
    hits_of,
    point_of,
    request_of,
    upsert_of,
)
from sylk_ray.knowledge.vectors.edge_shards import Shards, failure, write
from sylk_ray.knowledge.vectors.errors import StoreUnavailable
from sylk_ray.knowledge.vectors.model import Hit, Point, Query, Stats, VectorSpace, check_points, check_query
from sylk_ray.knowledge.vectors.owning import Ownership
from sylk_ray.knowledge.vectors.store import Rebuild, VectorStore

BATCH = 1000
PAGE = 10_000
MAX_OPEN = 32
OPTIMIZE_FROM = 20_000


class EdgeVectors(VectorStore):
    """The store in a directory, which this process owns until it closes it.

    ``max_open`` shards are kept open, those that were used last. ``optimize`` does nothing before ``optimize_from``
    vectors are in no index. With ``serve_changed``, scopes of another vector space are no error: they are searched as
    they are until they are rebuilt.

    Raises StoreInUse, StoreUnavailable and VectorSpaceChanged when it is opened; StoreDamaged when a scope is used that
    cannot be read, after which it can be dropped.
    """

    def __init__(
        self,
        directory: Path,
        collection: str,
        space: VectorSpace,
        *,
        max_open: int = MAX_OPEN,
        optimize_from: int = OPTIMIZE_FROM,
        serve_changed: bool = False,
    ) -> None:
        self.collection = collection
        self.space = space
        self._optimize_from = optimize_from
        try:
            self._ownership = Ownership(directory / collection)
        except OSError as problem:
            raise StoreUnavailable(
                f"the vectors in {directory / collection} cannot be used: {problem.strerror}",
                hint="Look at the folder and its permissions.",
            ) from problem
        try:
            self._shards = Shards(directory / collection, space, max_open, optimize_from, serve_changed=serve_changed)
        except BaseException:
            self._ownership.release()
            raise

    def prepare(self, scope: str) -> None:
        """Its shard is made, which on a busy disk takes a second."""
        with self._shards.writing(scope, create=True):
            pass

    def upsert(self, scope: str, points: Sequence[Point]) -> None:
        given = list(points)
        if not given:
            return
        check_points(given, self._shards.space_of(scope))
        with self._shards.writing(scope, create=True) as held:
            assert held is not None
            of, opened = held
            done: list[int] = []
            try:
                for start in range(0, len(given), BATCH):
                    batch = given[start : start + BATCH]
                    keys = [each.key for each in batch]
                    of.touch(keys)
                    write(opened.shard, opened.path, upsert_of(batch))
                    done += keys
            except BaseException as error:
                raise failure(error, f"storing points of {scope!r}", done) from error

    def delete(self, scope: str, keys: Iterable[int]) -> None:
        gone = list(keys)
        with self._shards.writing(scope) as held:
            if held is None or not gone:
                return
            of, opened = held
            of.touch(gone)
            try:
                write(opened.shard, opened.path, delete_of(gone))
            except BaseException as error:
                raise failure(error, f"deleting points of {scope!r}") from error

    def search(self, scope: str, query: Query) -> list[Hit]:
        opened = self._shards.use(scope)
        if opened is None:
            return []
        try:
            check_query(query, opened.space)
            return hits_of(opened.shard.query(request_of(query)), query.with_payload)
        except BaseException as error:
            raise failure(error, f"searching {scope!r}") from error
        finally:
            self._shards.release(opened)

    def search_many(self, scope: str, queries: Sequence[Query]) -> list[list[Hit]]:
        opened = self._shards.use(scope) if queries else None
        if opened is None:
            return [[] for _ in queries]
        try:
            for each in queries:
                check_query(each, opened.space)
            found = opened.shard.query_batch(engine.QueryBatchRequest([request_of(each) for each in queries]))
            return [hits_of(hits, query.with_payload) for hits, query in zip(found, queries, strict=True)]
        except BaseException as error:
            raise failure(error, f"searching {scope!r}") from error
        finally:
            self._shards.release(opened)

    def get(self, scope: str, keys: Iterable[int]) -> list[Point]:
        wanted = list(dict.fromkeys(keys))
        opened = self._shards.use(scope)
        if opened is None:
            return []
        try:
            found = {each.id: each for each in opened.shard.retrieve(list(wanted), True, True)}
            return [point_of(found[key]) for key in wanted if key in found]
        except BaseException as error:
            raise failure(error, f"reading points of {scope!r}") from error
        finally:
            self._shards.release(opened)

    def keys(self, scope: str) -> Iterator[int]:
        following: object = None
        while True:
            opened = self._shards.use(scope)
            if opened is None:
                return
            try:
                asked = engine.ScrollRequest(
                    offset=following,  # pyright: ignore[reportArgumentType]
                    limit=PAGE,
                    with_payload=False,
                    with_vector=False,
                )
                page, following = opened.shard.scroll(asked)
            except BaseException as error:
                raise failure(error, f"reading the keys of {scope!r}") from error
            finally:
                self._shards.release(opened)
            for each in page:
                yield each.id  # pyright: ignore[reportReturnType]
            if following is None:
                return

    def count(self, scope: str, where: Condition | None = None) -> int:
        return self._count(scope, None if where is None else filter_of(where))

    def _count(self, scope: str, where: engine.Filter | None) -> int:
        opened = self._shards.use(scope)
        if opened is None:
            return 0
        try:
            return opened.shard.count(engine.CountRequest(exact=True, filter=where))
        except BaseException as error:
            raise failure(error, f"counting points of {scope!r}") from error
        finally:
            self._shards.release(opened)

    def flush(self, scope: str) -> None:
        with self._shards.writing(scope) as held:
            if held is not None:
                held[1].flush()

    def optimize(self, scope: str) -> bool:
        """Raises RebuildUnderWay."""
        vectors = sum(
            self._count(scope, engine.Filter(must=[engine.HasVectorCondition(name)])) for name in (DENSE, SPARSE)
        )
        if not vectors or vectors - self.stats(scope).indexed < self._optimize_from:
            return False
        build_indexes(self._shards, scope)
        return True

    def scopes(self) -> list[str]:
        return self._shards.names()

    def space_of(self, scope: str) -> VectorSpace:
        return self._shards.space_of(scope)

    def drop(self, scope: str) -> None:
        self._shards.drop(scope)

    def stats(self, scope: str) -> Stats:
        opened = self._shards.use(scope)
        if opened is None:
            return Stats(points=0, indexed=0, bytes_on_disk=0)
        try:
            info = opened.shard.info()
            return Stats(
                points=opened.shard.count(engine.CountRequest()),
                indexed=info.indexed_vectors_count,
                bytes_on_disk=folders.bytes_on_disk(self._shards.folder(scope)),
            )
        except BaseException as error:
            raise failure(error, f"asking for the size of {scope!r}") from error
        finally:
            self._shards.release(opened)

    def begin_rebuild(self, scope: str, space: VectorSpace | None = None) -> Rebuild:
        return EdgeRebuild(self._shards, scope, space or self.space)

    def close(self) -> None:
        self._shards.close()
        self._ownership.release()
