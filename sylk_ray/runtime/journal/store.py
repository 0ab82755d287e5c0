"""One session's file as this process has it open: where operations become transactions."""

from __future__ import annotations

import random
import sqlite3
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from sylk_ray.errors import SylkError
from sylk_ray.runtime.journal.errors import JournalClosed
from sylk_ray.runtime.journal.faults import fault_of, is_busy, is_damage
from sylk_ray.runtime.journal.lock_holder import wake_stopped_holder
from sylk_ray.runtime.journal.opening import OpenFile, open_file, suspect
from sylk_ray.runtime.journal.records import Report
from sylk_ray.runtime.journal.schema import BUSY_SECONDS, Durability
from sylk_ray.runtime.journal.tables import Tables
from sylk_ray.runtime.journal.writer import Alone, Operation, Outcome
from sylk_ray.transactions import transaction


class _Replaced(Exception):
    """Another process has put a salvaged file in place, before this one had the write lock."""


class SessionStore:
    """Is open as long as somebody has a handle of it."""

    def __init__(self, path: Path, durability: Durability) -> None:
        self.path = path
        self.handles: set[object] = set()
        self._durability: Durability = durability
        self._file: OpenFile | None = None
        self._damaged = False
        self._lock = threading.Lock()

    def open(self, handle: object) -> Report:
        """Open the file, unless it is, in whatever thread may wait for that. Says what was found."""
        with self._lock:
            try:
                report = self._ready().report
            except (OSError, sqlite3.Error) as error:
                raise fault_of(error, self.path) from error
            self.handles.add(handle)
            return report

    def release(self, handle: object) -> None:
        """Give a handle back; with the last one the file is closed. To be run as any operation, in its turn."""
        self.handles.discard(handle)
        if not self.handles:
            self._close()

    def checkpoint(self) -> None:
        """Empty the write-ahead log, unless others are using it. To be run as any operation, in its turn."""
        if not self.handles:
            raise self._closed()
        Tables(self._ready().connection).checkpoint()

    def run(self, operations: Sequence[Operation[Tables] | Alone]) -> list[Outcome]:
        """See Store.run."""
        with self._lock:
            outcomes: list[Outcome] = []
            together: list[Operation[Tables]] = []
            for operation in operations:
                if isinstance(operation, Alone):
                    outcomes += self._together(together)
                    together = []
                    outcomes.append(self._alone(operation))
                else:
                    together.append(operation)
            return outcomes + self._together(together)

    def _ready(self) -> OpenFile:
        if self._file is not None and (self._damaged or self._file.replaced):
            self._close()
        if self._file is None:
            self._file = open_file(self.path, self._durability)
            self._damaged = False
        return self._file

    def _close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def _closed(self) -> JournalClosed:
        return JournalClosed(f"{self.path} is closed", hint="open the session's journal again")

    def _alone(self, operation: Alone) -> Outcome:
        try:
            return Outcome(operation.act())
        except (OSError, sqlite3.Error, SylkError) as error:
            return self._failed(error)

    def _together(self, operations: Sequence[Operation[Tables]]) -> list[Outcome]:
        """One transaction; when that fails as a whole (there is no room for all), one for each."""
        if not operations:
            return []
        if not self.handles:
            return [Outcome(error=self._closed())] * len(operations)
        until = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                return self._transaction(operations)
            except _Replaced:
                continue
            except (OSError, SylkError) as error:
                return [self._failed(error)] * len(operations)
            except sqlite3.Error as error:
                if is_busy(error) and time.monotonic() < until:
                    # SQLite's own waiting sleeps for up to 100 ms, and so hardly gets in between a busy writer's turns.
                    time.sleep(random.uniform(0.0002, 0.001))
                elif len(operations) == 1 or is_busy(error):
                    return [self._failed(error)] * len(operations)
                else:
                    return [outcome for each in operations for outcome in self._together([each])]

    def _transaction(self, operations: Sequence[Operation[Tables]]) -> list[Outcome]:
        connection = self._ready().connection
        tables = Tables(connection)
        for operation in operations:
            if operation.fences:
                wake_stopped_holder(self.path, tables.processes(operation.fences))
        writes = any(operation.writes for operation in operations)
        with transaction(connection, writes=writes):
            if writes and self._file is not None and self._file.replaced:
                raise _Replaced
            return [self._one(connection, tables, operation) for operation in operations]

    def _one(self, connection: sqlite3.Connection, tables: Tables, operation: Operation[Tables]) -> Outcome:
        connection.execute("SAVEPOINT one")
        try:
            value = operation.act(tables)
        except Exception as error:
            if not connection.in_transaction:  # SQLite has undone all of it
                raise
            connection.execute("ROLLBACK TO one")
            connection.execute("RELEASE one")
            return self._failed(error)
        connection.execute("RELEASE one")
        return Outcome(value)

    def _failed(self, error: Exception) -> Outcome:
        if not isinstance(error, OSError | sqlite3.Error):
            return Outcome(error=error)
        if is_damage(error) and not self._damaged:
            self._damaged = True
            suspect(self.path)
        fault = fault_of(error, self.path)
        fault.__cause__ = error
        return Outcome(error=fault)
