"""Another generation of a scope's vectors: filled by the caller, or made from this one with its indexes built."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Generator, Iterable, Sequence
from pathlib import Path

from sylk_ray.knowledge.vectors import edge_folders as folders
from sylk_ray.knowledge.vectors.edge_folders import ScopeRecord
from sylk_ray.knowledge.vectors.edge_requests import delete_of, new_shard, point_of, upsert_of
from sylk_ray.knowledge.vectors.edge_shards import EdgeScope, Opened, Shards, failure, load_shard, write
from sylk_ray.knowledge.vectors.errors import RebuildOver, VectorStoreFailed
from sylk_ray.knowledge.vectors.model import Point, VectorSpace, check_points
from sylk_ray.knowledge.vectors.store import Rebuild

BUILD = Path(__file__).with_name("edge_build.py")
BATCH = 1000


class EdgeRebuild(Rebuild):
    """In the next generation's folder, which counts from ``finish`` on."""

    def __init__(self, shards: Shards, scope: str, space: VectorSpace) -> None:
        self.scope = scope
        self.space = space
        self._shards = shards
        self._lock = threading.Lock()
        self._over = False
        self._of, generation, self._path = shards.begin_building(scope)
        self._record = ScopeRecord(scope=scope, space=space, generation=generation)
        try:
            folders.check_room(self._path)
            self._shard = new_shard(str(self._path), space, shards.index_from)
        except BaseException as error:
            self._end()
            raise failure(error, f"rebuilding the vectors of {scope!r}") from error

    def upsert(self, points: Sequence[Point]) -> None:
        all_points = list(points)
        check_points(all_points, self.space)
        with self._working():
            for start in range(0, len(all_points), BATCH):
                write(self._shard, self._path, upsert_of(all_points[start : start + BATCH]))

    def delete(self, keys: Iterable[int]) -> None:
        with self._working():
            write(self._shard, self._path, delete_of(list(keys)))

    def finish(self) -> None:
        with self._working():
            self._shard.flush()
            with self._of.writing:
                self._shards.swap(self._of, self._record, Opened(self._shard, self._path, self.space))
            self._over = True
            self._shards.end_building(self._of)

    def abandon(self) -> None:
        with self._lock:
            if not self._over:
                self._shard.close()
                self._end()

    def _end(self) -> None:
        self._over = True
        shutil.rmtree(self._path, ignore_errors=True)
        self._shards.end_building(self._of)

    @contextlib.contextmanager
    def _working(self) -> Generator[None]:
        with self._lock:
            if self._over or self._of.dropped:
                raise RebuildOver(f"the rebuild of {self.scope!r} is over", hint="begin another one")
            try:
                yield
            except BaseException as error:
                raise failure(error, f"rebuilding the vectors of {self.scope!r}") from error


def build_indexes(shards: Shards, name: str) -> None:
    """Copy the shard, have its indexes built by another process, write again what was written meanwhile, and swap.

    Raises RebuildUnderWay, RebuildOver when the scope was dropped or the store closed meanwhile.
    """
    scope, generation, path = shards.begin_building(name)
    try:
        with shards.writing(name) as held:
            if held is None:
                return
            space = held[1].space
            _engine_flush(held[1], name)
            folders.copy_shard(held[1].path, path)
            scope.touched = set()
        _build(path)
        with shards.writing(name) as held:
            if held is None or held[0] is not scope:
                raise RebuildOver(f"{name!r} was dropped while its indexes were built")
            built = Opened(load_shard(path, name), path, space)
            try:
                _write_again(scope, held[1], built, name)
                shards.swap(scope, ScopeRecord(scope=name, space=space, generation=generation), built)
            except BaseException:
                built.shard.close()
                raise
    except BaseException:
        shutil.rmtree(path, ignore_errors=True)
        raise
    finally:
        shards.end_building(scope)


def _build(path: Path) -> None:
    command = [sys.executable, "-I", str(BUILD), str(path), str(os.getpid())]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"])[-1]
        raise VectorStoreFailed(
            f"building the indexes in {path} failed: {said}",
            hint="searches go on without; is the disk full?",
        )


def _write_again(scope: EdgeScope, before: Opened, built: Opened, name: str) -> None:
    touched = sorted(scope.touched or ())
    try:
        for start in range(0, len(touched), BATCH):
            keys = touched[start : start + BATCH]
            points = [point_of(each) for each in before.shard.retrieve(list(keys), True, True)]
            built.shard.update(delete_of(keys))
            built.shard.update(upsert_of(points))
        built.shard.flush()
    except BaseException as error:
        raise failure(error, f"building the indexes of {name!r}") from error


def _engine_flush(opened: Opened, name: str) -> None:
    try:
        opened.flush()
    except BaseException as error:
        raise failure(error, f"flushing the vectors of {name!r}") from error
