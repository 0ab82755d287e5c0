"""The shards of a store: which there are, which are open, who works on them, and which generation counts.

A shard is closed only when nobody works on it, and its files are removed only then; until then a scope that was
rebuilt or dropped goes on answering those who had begun to search it.
"""

from __future__ import annotations

import contextlib
import shutil
import threading
from collections import OrderedDict
from collections.abc import Collection, Generator
from pathlib import Path

import qdrant_edge as engine

from sylk_ray.errors import SylkError
from sylk_ray.knowledge.vectors import edge_folders as folders
from sylk_ray.knowledge.vectors.edge_folders import ScopeRecord
from sylk_ray.knowledge.vectors.edge_requests import new_shard
from sylk_ray.knowledge.vectors.errors import (
    RebuildOver,
    RebuildUnderWay,
    StoreClosed,
    StoreDamaged,
    VectorSpaceChanged,
    VectorStoreFailed,
)
from sylk_ray.knowledge.vectors.model import VectorSpace


class Opened:
    """A shard that the engine has opened, and how many work on it."""

    __slots__ = ("new", "path", "remove", "retired", "shard", "space", "users")

    def __init__(self, shard: engine.EdgeShard, path: Path, space: VectorSpace) -> None:
        self.shard = shard
        self.path = path
        self.space = space
        self.users = 0
        self.new = False
        """Whether its folders may not be on the disk yet: the engine flushes the files."""
        self.retired = False
        """It is closed when its last user leaves."""
        self.remove: Path | None = None
        """What is deleted then."""

    def flush(self) -> None:
        """All that was written is on the disk when it returns. Raises VectorStoreFailed."""
        try:
            self.shard.flush()
        except BaseException as error:
            raise failure(error, f"flushing {self.path}") from error
        if self.new:
            # With the folder of the scope, where its record is, and that of the store.
            folders.sync_tree(self.path.parent)
            folders.sync_directory(self.path.parent.parent)
            self.new = False

    def close(self) -> None:
        if self.remove is None:
            self.flush()
            self.shard.close()
            folders.seal(self.path)
        else:
            self.shard.close()
            shutil.rmtree(self.remove, ignore_errors=True)


class EdgeScope:
    """A scope and what goes on in it."""

    def __init__(self, name: str, folder: Path, record: ScopeRecord | None) -> None:
        self.name = name
        self.folder = folder
        self.record = record
        """None before it has any vectors that count."""
        self.writing = threading.Lock()
        self.building = False
        """Whether another generation is being built."""
        self.touched: set[int] | None = None
        """The keys that were written since that was begun from a copy of this one."""
        self.dropped = False

    def touch(self, keys: Collection[int]) -> None:
        """While ``writing`` is held."""
        if self.touched is not None:
            self.touched.update(keys)


class Shards:
    """All of one directory. Every method may be called from any thread."""

    def __init__(
        self, directory: Path, space: VectorSpace, max_open: int, index_from: int, *, serve_changed: bool
    ) -> None:
        self._directory = directory
        self._space = space
        self._max_open = max_open
        self.index_from = index_from
        self._lock = threading.RLock()
        self._scopes: dict[str, EdgeScope] = {}
        self._open: OrderedDict[str, Opened] = OrderedDict()
        self._unreadable: dict[Path, StoreDamaged] = {}
        self._closed = False
        for each in sorted(directory.iterdir()):
            if each.is_dir():
                self._find(each)
        changed = [each for each in self._scopes.values() if each.record and not space.holds(each.record.space)]
        if changed and not serve_changed and changed[0].record:
            stored = changed[0].record.space
            raise VectorSpaceChanged(
                f"the vectors of {len(changed)} scope(s) in {directory}, of {changed[0].name!r} among them, are of "
                f"{stored.dimensions} dimensions by {stored.model or 'an unnamed model'}, and it was opened for "
                f"{space.dimensions} by {space.model or 'an unnamed model'}",
                hint="open it with serve_changed and rebuild these scopes, or use the model that they were made with",
            )

    def _find(self, folder: Path) -> None:
        if folder.name.startswith(folders.REMOVED):
            shutil.rmtree(folder, ignore_errors=True)
            return
        try:
            record = folders.read_record(folder)
        except StoreDamaged as error:
            self._unreadable[folder] = error
            return
        if record is None:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            folders.remove_leftovers(folder, record.generation)
            self._scopes[record.scope] = EdgeScope(record.scope, folder, record)

    # Which there are

    def names(self) -> list[str]:
        with self._lock:
            self._check_open()
            return sorted(name for name, each in self._scopes.items() if each.record is not None)

    def space_of(self, name: str) -> VectorSpace:
        with self._lock:
            scope = self._scopes.get(name)
            return scope.record.space if scope is not None and scope.record is not None else self._space

    def folder(self, name: str) -> Path:
        return folders.folder_of(self._directory, name)

    # Working on them

    def use(self, name: str) -> Opened | None:
        """The shard that counts, which stays open until ``release``. Raises StoreDamaged, StoreClosed."""
        with self._lock:
            opened = self._open.get(name)
            if opened is None:
                self._check_open()
                opened = self._load(name)
                if opened is None:
                    return None
            else:
                self._open.move_to_end(name)
            opened.users += 1
            if len(self._open) > self._max_open:
                self._close_oldest()
            return opened

    def release(self, opened: Opened) -> None:
        with self._lock:
            opened.users -= 1
            if opened.retired and not opened.users:
                opened.close()

    @contextlib.contextmanager
    def writing(self, name: str, *, create: bool = False) -> Generator[tuple[EdgeScope, Opened] | None]:
        """Alone among the writers of the scope; None when there is no such scope and none is made."""
        while True:
            scope = self._scope(name, create=create)
            if scope is None:
                yield None
                return
            with scope.writing:
                if scope.dropped:
                    continue
                if create and scope.record is None:
                    self._begin(scope)
                opened = self.use(name)
                try:
                    yield None if opened is None else (scope, opened)
                finally:
                    if opened is not None:
                        self.release(opened)
                return

    def _scope(self, name: str, *, create: bool) -> EdgeScope | None:
        with self._lock:
            self._check_open()
            scope = self._scopes.get(name)
            if scope is None:
                folder = self.folder(name)
                self._check_readable(folder)
                if not create:
                    return None
                scope = self._scopes[name] = EdgeScope(name, folder, None)
            return scope

    def _begin(self, scope: EdgeScope) -> None:
        """The first generation, with nothing in it, unless one is being built: then it counts beside that."""
        folders.check_room(self._directory)
        record = ScopeRecord(scope=scope.name, space=self._space, generation=1)
        path = folders.generation_of(scope.folder, 1)
        path.mkdir(parents=True)
        try:
            shard = new_shard(str(path), self._space, self.index_from)
        except BaseException as error:
            shutil.rmtree(path, ignore_errors=True)
            raise failure(error, f"beginning the vectors of {scope.name!r}") from error
        folders.begin_record(scope.folder, record)
        with self._lock:
            scope.record = record
            opened = self._open[scope.name] = Opened(shard, path, self._space)
            opened.new = True

    def _load(self, name: str) -> Opened | None:
        scope = self._scopes.get(name)
        if scope is None or scope.record is None:
            self._check_readable(self.folder(name))
            return None
        path = folders.generation_of(scope.folder, scope.record.generation)
        opened = self._open[name] = Opened(load_shard(path, name), path, scope.record.space)
        return opened

    def _close_oldest(self) -> None:
        for name, opened in list(self._open.items()):
            if len(self._open) <= self._max_open:
                return
            if not opened.users:
                del self._open[name]
                opened.close()

    # Another generation

    def begin_building(self, name: str) -> tuple[EdgeScope, int, Path]:
        """The scope, the number of its next generation, and where that belongs. Raises RebuildUnderWay."""
        scope = self._scope(name, create=True)
        assert scope is not None
        with self._lock:
            if scope.building:
                raise RebuildUnderWay(
                    f"the vectors of {name!r} are being rebuilt or optimized already", hint="wait until that is over"
                )
            scope.building = True
            # 1 is left to a scope that is begun meanwhile by its first point.
            generation = 2 if scope.record is None else scope.record.generation + 1
        path = folders.generation_of(scope.folder, generation)
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        return scope, generation, path

    def swap(self, scope: EdgeScope, record: ScopeRecord, opened: Opened) -> None:
        """From here on the other generation counts; ``scope.writing`` is held. Raises RebuildOver."""
        with self._lock:
            if self._closed or scope.dropped:
                raise RebuildOver(f"{scope.name!r} was dropped, or its store closed, while it was built anew")
            folders.write_record(scope.folder, record)
            before, was = self._open.pop(scope.name, None), scope.record
            scope.record = record
            self._open[scope.name] = opened
            if before is not None:
                self._retire(before, before.path)
            elif was is not None:
                shutil.rmtree(folders.generation_of(scope.folder, was.generation), ignore_errors=True)

    def end_building(self, scope: EdgeScope) -> None:
        with self._lock:
            scope.building, scope.touched = False, None

    # Ending

    def drop(self, name: str) -> None:
        """Also what cannot be read."""
        with self._lock:
            self._check_open()
            scope = self._scopes.get(name)
            folder = self.folder(name)
            self._unreadable.pop(folder, None)
        if scope is None:
            if folder.is_dir():
                shutil.rmtree(folders.set_aside(folder), ignore_errors=True)
            return
        with scope.writing, self._lock:
            scope.dropped = True
            if self._scopes.get(name) is scope:
                del self._scopes[name]
            aside = folders.set_aside(folder) if folder.is_dir() else None
            opened = self._open.pop(name, None)
            if opened is not None:
                self._retire(opened, aside or opened.path)
            elif aside is not None:
                shutil.rmtree(aside, ignore_errors=True)

    def close(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._closed = True
            opened, self._open = list(self._open.values()), OrderedDict()
            for each in opened:
                self._retire(each, None)

    def _retire(self, opened: Opened, remove: Path | None) -> None:
        opened.retired, opened.remove = True, remove
        if not opened.users:
            opened.close()

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed(f"the vector store in {self._directory} was closed")

    def _check_readable(self, folder: Path) -> None:
        error = self._unreadable.get(folder)
        if error is not None:
            raise StoreDamaged(error.message, hint=error.hint)


def load_shard(path: Path, name: str) -> engine.EdgeShard:
    """Raises StoreDamaged, and VectorStoreFailed where there is no room to open it."""
    folders.check_room(path.parent)
    folders.break_seal(path)
    try:
        return engine.EdgeShard.load(str(path))
    except BaseException as error:
        told = failure(error, f"opening the vectors of {name!r}")
        raise StoreDamaged(told.message, hint=folders.HINT) from error


def write(shard: engine.EdgeShard, path: Path, operation: engine.UpdateOperation) -> None:
    """All that is written to a shard, at its path. Raises VectorStoreFailed where there is no room, and what the engine
    raises."""
    folders.check_room(path)
    shard.update(operation)


def failure(error: BaseException, doing: str, done: Collection[int] = ()) -> SylkError:
    """What to raise for what the engine raised: its own errors are plain, and it panics with a BaseException."""
    if isinstance(error, SylkError):
        return error
    if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
        raise error
    hint = f"see whether the disk is full, and try again; else {folders.HINT}"
    failed = VectorStoreFailed(f"{doing}: {error}", hint=hint)
    failed.done = frozenset(done)
    return failed
