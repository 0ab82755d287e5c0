"""Opening and closing a session's file: one process at a time, and never a damaged one.

``journal.db.lock`` is what makes them one at a time. It also remembers whether the file was closed in order, for a
write-ahead log that is missing leaves no other trace, and whether somebody met damage in it.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import time
import weakref
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Literal

import msgspec

from sylk_ray.runtime.journal.faults import JournalUnavailable, is_damage
from sylk_ray.runtime.journal.records import Report
from sylk_ray.runtime.journal.salvage import finish_salvage, salvage
from sylk_ray.runtime.journal.schema import (
    APPLICATION_ID,
    MIGRATIONS,
    TABLES,
    Durability,
    connect,
    create,
    migrate,
    seal,
    sync,
    version_of,
)

WAIT_SECONDS = 60.0
"""How long to wait for another process that opens the same file, and perhaps repairs it."""
THOROUGH_BYTES = 64 << 20
"""Up to here every page and row is checked on opening, which takes about 5 ms a megabyte."""

State = Literal["", "open", "closed", "suspect"]


class OpenFile:
    """A connection to a journal that was found whole, or made so. A process that ends in order closes it."""

    def __init__(self, connection: sqlite3.Connection, path: Path, report: Report) -> None:
        self.connection = connection
        self.report = report
        self._path = path
        self._identity = _identity(path)
        self.close = weakref.finalize(self, close_file, connection, path)

    @property
    def replaced(self) -> bool:
        """Whether another process has put a salvaged file in this one's place. Raises FileNotFoundError."""
        return _identity(self._path) != self._identity


def open_file(path: Path, durability: Durability) -> OpenFile:
    """Open a journal; one that is not there is made, one that is damaged is salvaged.

    Raises JournalTooNew, JournalUnavailable, and what SQLite and the system raise.
    """
    began = time.time()
    path.parent.mkdir(parents=True, exist_ok=True)
    with _only_one(path) as lock:
        finish_salvage(path)
        state = _read(lock)
        if not path.exists():
            if state:
                salvage(path, "it is missing")
            else:
                _make(path)
        elif problem := _cheap_problem(path, state):
            salvage(path, problem)
        connection = _checked(path, durability, thorough=state == "suspect")
        try:
            migrate(connection, path)
            connection.execute("PRAGMA journal_mode = WAL").fetchall()
            report = _last_salvage(connection, began)
            _write(lock, "open")
            connection.execute("PRAGMA busy_timeout = 0").fetchall()
            return OpenFile(connection, path, report)
        except BaseException:
            connection.close()
            raise


def close_file(connection: sqlite3.Connection, path: Path) -> None:
    """Close, and note that it was in order when no other process has it open."""
    if not path.parent.exists():
        connection.close()
        return
    with _only_one(path) as lock:
        connection.close()
        if _read(lock) == "open" and not path.with_name(f"{path.name}-wal").exists():
            _write(lock, "closed")


def suspect(path: Path) -> None:
    """Note that damage was met, so that whoever opens the file next looks at all of it."""
    with _only_one(path) as lock:
        _write(lock, "suspect")


def _make(path: Path) -> None:
    new = path.with_name(f"{path.name}.new")
    for stale in (new, *(path.with_name(f"{name}{end}") for name in (path.name, new.name) for end in ("-wal", "-shm"))):
        stale.unlink(missing_ok=True)
    seal(create(new), new)
    new.replace(path)
    sync(path.parent)


def _cheap_problem(path: Path, state: State) -> str:
    if path.stat().st_size == 0:
        return "it is empty"
    if state == "open" and not path.with_name(f"{path.name}-wal").exists():
        return "its -wal file, which held what was written last, is missing"
    return ""


def _checked(path: Path, durability: Durability, *, thorough: bool) -> sqlite3.Connection:
    """A connection to a whole file, if need be after one salvage."""
    try:
        connection = connect(path, durability)
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise
        salvage(path, str(error))
        return connect(path, durability)
    problem = _problem(connection, path, thorough=thorough or path.stat().st_size <= THOROUGH_BYTES)
    if not problem:
        return connection
    # It is closed after its file was moved, for then SQLite leaves the file and its log as they are.
    with closing(connection):
        salvage(path, problem, connection)
    return connect(path, durability)


def _problem(connection: sqlite3.Connection, path: Path, *, thorough: bool) -> str:
    """What is wrong with a file; nothing when it is whole.

    SQLite's quick_check reads every page and says whether the tables' structure holds; the checksums say whether the
    rows are what was written. Beyond 64 MB that would keep a session waiting for longer than a restart takes, and so
    only the ends of each table are read; other damage is then found when it is met, and the next opening is thorough.
    """
    try:
        if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
            return "it is not a journal of sylk_ray"
        if version_of(connection) > len(MIGRATIONS):
            migrate(connection, path)
        if thorough:
            found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            if found != "ok":
                return str(found)
        migrate(connection, path)  # the rows are read by the columns of the newest version
        for table in TABLES:
            ends = (
                ""
                if thorough
                else f" WHERE number IN ((SELECT min(number) FROM {table.name}), \
                (SELECT max(number) FROM {table.name}))"
            )
            for row in connection.execute(f"{table.select}{ends}"):
                if not table.is_whole(row[:-1], row[-1]):
                    return f"a row of its {table.name} is not what was written"
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        if isinstance(error, sqlite3.DatabaseError) and not (is_damage(error) or _is_garbled(error)):
            raise
        return str(error)
    return ""


def _is_garbled(error: sqlite3.DatabaseError) -> bool:
    """Whether an error says that the tables, or a text in them, are not what they should be."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) == sqlite3.SQLITE_ERROR


def _last_salvage(connection: sqlite3.Connection, began: float) -> Report:
    """The report of the salvage that happened while this process was opening the file, by it or another."""
    row = connection.execute("SELECT report FROM salvages WHERE at >= ? ORDER BY at DESC", (began,)).fetchone()
    return msgspec.msgpack.decode(row[0], type=Report) if row else Report()


@contextmanager
def _only_one(path: Path) -> Generator[int]:
    """Hold the lock file; gives its descriptor. Raises JournalUnavailable after WAIT_SECONDS."""
    descriptor = os.open(path.with_name(f"{path.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        until = time.monotonic() + WAIT_SECONDS
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise JournalUnavailable(
                        f"another process has been opening {path} for {WAIT_SECONDS:g} s",
                        hint="look for a cell that hangs, and end it",
                    ) from None
                time.sleep(0.002)
        yield descriptor
    finally:
        os.close(descriptor)


def _read(lock: int) -> State:
    written = os.pread(lock, 16, 0).decode("ascii", "replace").strip()
    return msgspec.convert(written, State) if written in ("open", "closed", "suspect") else ""


def _write(lock: int, state: State) -> None:
    """Always as long, so that a full disk does not matter after the first time."""
    os.pwrite(lock, state.ljust(8).encode(), 0)


def _identity(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino
