"""One SQLite file: many threads that read, one at a time that writes."""

from __future__ import annotations

import sqlite3
import threading
import weakref
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sylk_ray.knowledge.store.errors import fault_of
from sylk_ray.knowledge.store.schema import migrate
from sylk_ray.transactions import transaction

BUSY_SECONDS = 10.0
LOG_PAGES = 4096
"""Of 4 KB in the write-ahead log before it is folded into the file, with two fsyncs that a writer waits for."""
VARIABLES = 500
"""Values in one ``IN (…)``; SQLite's own limit is far above."""

Row = tuple[Any, ...]


class _Connection(sqlite3.Connection):
    """One that can be referred to weakly."""

    __slots__ = ("__weakref__",)


class Database:
    """Connections to a knowledge base's file. Errors of SQLite come out as SylkErrors that name the file."""

    def __init__(self, path: Path, *, power: bool = False) -> None:
        """Open, or make, the file. ``power``: a commit survives a power cut too, for an fsync each."""
        self.path = path
        self._power = power
        self._local = threading.local()
        self._writing = threading.RLock()
        self._owner = 0
        """The thread whose transaction it is; 0 without one."""
        # Weak: a reader's connection goes with its thread.
        self._opened: weakref.WeakSet[_Connection] = weakref.WeakSet()
        self._nested = 0
        self._guard = threading.Lock()
        with self._faults():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._writer = self._connect()
            self._writer.execute("PRAGMA journal_mode = WAL").fetchall()
            migrate(self._writer, path)

    def _connect(self) -> _Connection:
        connection = sqlite3.connect(
            self.path,
            timeout=BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
            factory=_Connection,
        )
        with self._guard:
            self._opened.add(connection)
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA synchronous = {'FULL' if self._power else 'NORMAL'}")
        connection.execute("PRAGMA cache_size = -16384")
        connection.execute(f"PRAGMA wal_autocheckpoint = {LOG_PAGES}")
        connection.execute("PRAGMA mmap_size = 268435456")
        connection.execute("PRAGMA temp_store = MEMORY")
        return connection

    @contextmanager
    def _faults(self) -> Generator[None]:
        try:
            yield
        except sqlite3.Error as problem:
            raise fault_of(problem, self.path) from problem

    @contextmanager
    def transaction(self) -> Generator[sqlite3.Connection]:
        """Write: everything within happens, or nothing does. Within another one of this thread it is a part of it, that
        can fail by itself."""
        with self._writing, self._faults():
            if self._owner:
                with self._part():
                    yield self._writer
                return
            self._owner = threading.get_ident()
            try:
                with transaction(self._writer):
                    yield self._writer
            finally:
                self._owner = 0

    @contextmanager
    def _part(self) -> Generator[None]:
        self._nested += 1
        name = f"part{self._nested}"
        try:
            self._writer.execute(f"SAVEPOINT {name}")
            try:
                yield
            except BaseException:
                if self._writer.in_transaction:
                    self._writer.execute(f"ROLLBACK TO {name}")
                    self._writer.execute(f"RELEASE {name}")
                raise
            else:
                self._writer.execute(f"RELEASE {name}")
        finally:
            self._nested -= 1

    def rows(self, statement: str, values: Sequence[object] = ()) -> list[Row]:
        """What a query answers. In a transaction of this thread it sees what that has written."""
        with self._faults():
            return self._reader().execute(statement, values).fetchall()

    def rows_in(self, statement: str, values: Iterable[object], before: Sequence[object] = ()) -> list[Row]:
        """As ``rows``, for any number of values that take the place of ``{}``: ``… WHERE id IN ({})``. ``before`` are
        the values of what stands before it."""
        given, found = list(values), list[Row]()
        for start in range(0, len(given), VARIABLES):
            some = given[start : start + VARIABLES]
            found += self.rows(statement.format(", ".join("?" * len(some))), [*before, *some])
        return found

    def outside(self, statement: str) -> list[Row]:
        """Run what cannot be part of a transaction: VACUUM, a checkpoint."""
        with self._writing, self._faults():
            return self._writer.execute(statement).fetchall()

    def _reader(self) -> sqlite3.Connection:
        if self._owner == threading.get_ident():
            return self._writer
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._connect()
        return connection

    def close(self) -> None:
        """Close every connection; the last one folds the write-ahead log into the file."""
        with self._writing, self._guard:
            for connection in list(self._opened):
                if connection is not self._writer:
                    connection.close()
            self._writer.close()
