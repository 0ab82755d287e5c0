"""For programs that only look at a session's file: while others write to it, and after all have closed it.

SQLite's ordinary read-only connection makes a log where there is none. With none the file cannot change under a
reader before a log appears, and so it is read as one that never changes; if a log did appear, it is read once more.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from sylk_ray.messaging import Event
from sylk_ray.runtime.journal.errors import JournalTooNew
from sylk_ray.runtime.journal.faults import fault_of, is_damage
from sylk_ray.runtime.journal.records import DeadLetter
from sylk_ray.runtime.journal.schema import APPLICATION_ID, BUSY_SECONDS, MIGRATIONS, version_of
from sylk_ray.runtime.journal.tables import Tables

RowT = TypeVar("RowT")


def read_events(path: Path, after: int = 0, limit: int = 10_000) -> list[Event]:
    """A session's events after a sequence number, in order; none when there is no file.

    Raises JournalDamaged, JournalTooNew and JournalUnavailable.
    """
    return _read(path, lambda tables: tables.events(after, limit))


def read_last_event(path: Path) -> int:
    """The number of a session's last event; 0 when there is none, or no file. Raises as read_events does."""
    return sum(_read(path, lambda tables: [tables.last_event()]))


def read_dead_letters(path: Path) -> list[DeadLetter]:
    """A session's dead letters, the oldest first; none when there is no file. Raises as read_events does."""
    return _read(path, Tables.dead_letters)


def _read(path: Path, what: Callable[[Tables], list[RowT]]) -> list[RowT]:
    try:
        for _ in range(10):
            before = _marks(path)
            if before is None:
                return []
            at_rest = not _log(path).exists()
            try:
                found = _read_once(path, what, at_rest=at_rest)
            except sqlite3.Error as error:
                if at_rest and (_log(path).exists() or _marks(path) != before):
                    continue
                if is_damage(error) or at_rest or path.exists():
                    raise
                return []
            if not at_rest or not (_log(path).exists() or _marks(path) != before):
                return found
        return _read_once(path, what, at_rest=False)
    except (OSError, sqlite3.Error) as error:
        raise fault_of(error, path) from error


def _read_once(path: Path, what: Callable[[Tables], list[RowT]], *, at_rest: bool) -> list[RowT]:
    uri = f"file:{quote(str(path))}?mode=ro{'&immutable=1' if at_rest else ''}"
    with closing(sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)) as connection:
        version = version_of(connection)
        if version == 0 or connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
            error = sqlite3.DatabaseError("it is not a journal of sylk_ray")
            error.sqlite_errorcode = sqlite3.SQLITE_NOTADB
            raise error
        if version > len(MIGRATIONS):
            raise JournalTooNew(
                f"{path} has version {version}, and this sylk_ray knows versions up to {len(MIGRATIONS)}",
                hint="use the version of sylk_ray that wrote it, or a later one",
            )
        return what(Tables(connection))


def _log(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _marks(path: Path) -> tuple[int, int, int] | None:
    """What changes when the file does; None when there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
