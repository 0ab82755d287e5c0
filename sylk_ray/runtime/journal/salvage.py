"""Reading what can be read of a damaged file into a new one. The damaged file is kept beside it.

Rows are read in order from both sides of a damaged page, and each is believed only with its checksum. When the first
page is gone, which says where the tables are, that of an empty journal takes its place: the same statements made
both, so the tables begin at the same pages.
"""

from __future__ import annotations

import shutil
import sqlite3
import struct
import time
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from sylk_ray.runtime.journal.errors import JournalTooNew
from sylk_ray.runtime.journal.faults import is_busy, is_damage
from sylk_ray.runtime.journal.records import Report
from sylk_ray.runtime.journal.schema import (
    SALVAGES,
    TABLES,
    WRITERS,
    Table,
    checksum,
    connect,
    create,
    migrate,
    seal,
    sync,
)
from sylk_ray.transactions import transaction

_FARTHEST = 1 << 40
"""No table counts so far: where the search for rows behind damaged pages ends."""

Row = tuple[int, tuple[Any, ...]]


def salvage(path: Path, problem: str, connection: sqlite3.Connection | None = None) -> Report:
    """Put a new file with all that can be read in a damaged one's place. The caller holds the opening lock.

    With ``connection`` other processes that still write to the damaged file are kept waiting, when it allows for
    that: they find the new one after it.
    """
    if connection is not None:
        _keep_out(connection)
    number = 1
    while any(_beside(path, f".{kind}-{number}").exists() for kind in ("damaged", "salvaged")):
        number += 1
    damaged = _beside(path, f".damaged-{number}")
    with _scratch(path) as scratch:
        rows = _rows_of(path, scratch)
        report = Report(
            whole=False,
            problem=problem,
            saved={table.name: len(rows[table.name][0]) for table in TABLES if table is not SALVAGES},
            damaged_file=str(damaged) if path.exists() else "",
        )
        new = scratch / "new.db"
        _fill(new, rows, report)
        new.replace(_beside(path, f".salvaged-{number}"))
    sync(path.parent)
    finish_salvage(path)
    return report


def finish_salvage(path: Path) -> None:
    """Put a salvaged file, which is whole once it has that name, in its place. May be broken off and begun again."""
    for salvaged in path.parent.glob(f"{path.name}.salvaged-*"):
        damaged = _beside(path, f".damaged-{salvaged.name.rpartition('-')[2]}")
        if path.exists():
            path.replace(damaged)
        log = _beside(path, "-wal")
        if log.exists():
            log.replace(_beside(damaged, "-wal"))
        _beside(path, "-shm").unlink(missing_ok=True)
        salvaged.replace(path)
        sync(path.parent)


def read_table(connection: sqlite3.Connection, table: Table) -> tuple[list[Row], int]:
    """A table's rows that can be read and are what was written, in order, and SQLite's count of its rows, or 0."""
    found: dict[int, tuple[Any, ...]] = {}
    try:
        last = _read(connection, table, "number > ?", 0, found)
        if last is None:
            return _counted(connection, table, found)
        _read(connection, table, "number > ?", last, found, backwards=True)
        step = 1
        while step < _FARTHEST:
            place = last + step
            before = len(found)
            stopped = _read(connection, table, "number >= ?", place, found)
            if stopped is None or stopped > place or len(found) > before:
                _read(connection, table, "number < ?", place, found, backwards=True)
                if stopped is None:
                    break
                last, step = max(stopped, place), 1
            else:
                step *= 2
    except sqlite3.OperationalError as error:
        if not _is_missing(error):
            raise
    return _counted(connection, table, found)


def _read(
    connection: sqlite3.Connection,
    table: Table,
    condition: str,
    bound: int,
    found: dict[int, tuple[Any, ...]],
    *,
    backwards: bool = False,
) -> int | None:
    """Read on until a damaged page, or a row that was found before; the last number read, None at the table's end."""
    columns = ", ".join(("number", *table.columns, "crc"))
    order = "DESC" if backwards else "ASC"
    last = bound
    try:
        for number, *values, crc in connection.execute(
            f"SELECT {columns} FROM {table.name} NOT INDEXED WHERE {condition} ORDER BY number {order}", (bound,)
        ):
            if number in found and backwards:
                return last
            last = number
            if table.is_whole(values, crc):
                found[number] = tuple(values)
    except sqlite3.DatabaseError as error:
        if not (is_damage(error) or _is_unreadable(error)):
            raise
        return last
    return None


def _is_missing(error: sqlite3.Error) -> bool:
    return "no such" in str(error)


def _is_unreadable(error: sqlite3.Error) -> bool:
    """A text that is not UTF-8, a page that the disk does not give."""
    return "Could not decode" in str(error) or getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_IOERR


def _counted(connection: sqlite3.Connection, table: Table, found: dict[int, tuple[Any, ...]]) -> tuple[list[Row], int]:
    try:
        row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table.name,)).fetchone()
    except sqlite3.DatabaseError:
        row = None
    count = row[0] if row and isinstance(row[0], int) and 0 <= row[0] < _FARTHEST else 0
    return sorted(found.items()), count


def _rows_of(path: Path, scratch: Path) -> dict[str, tuple[list[Row], int]]:
    """The rows of every table, read from a copy, with the first page of the file or with an empty journal's."""
    nothing: dict[str, tuple[list[Row], int]] = {table.name: ([], 0) for table in TABLES}
    if not path.exists():
        return nothing
    best = nothing
    for graft in (False, True):
        copy = scratch / f"copy-{int(graft)}.db"
        shutil.copyfile(path, copy)
        if _beside(path, "-wal").exists():
            shutil.copyfile(_beside(path, "-wal"), _beside(copy, "-wal"))
        if graft:
            _graft(copy, scratch / "empty.db")
        try:
            with closing(connect(copy, "process")) as connection:
                _bring_up_to_date(connection, copy)
                connection.execute("PRAGMA writable_schema = ON").fetchall()
                rows = {table.name: read_table(connection, table) for table in TABLES}
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            continue
        finally:
            for used in (copy, _beside(copy, "-wal")):
                used.unlink(missing_ok=True)
        if sum(len(each) for each, _ in rows.values()) > sum(len(each) for each, _ in best.values()):
            best = rows
    return best


def _bring_up_to_date(connection: sqlite3.Connection, copy: Path) -> None:
    """Give a copy of an earlier version the columns that are read; without them only their tables are lost."""
    with suppress(sqlite3.Error, JournalTooNew):
        migrate(connection, copy)


def _graft(copy: Path, empty: Path) -> None:
    """Give a copy the first page of an empty journal, which says how many pages there are."""
    seal(create(empty), empty)
    page = bytearray(empty.read_bytes()[:4096])
    page[28:32] = struct.pack(">I", max(1, copy.stat().st_size // 4096))
    page[32:40] = bytes(8)
    with copy.open("r+b") as file:
        file.write(page)


def _fill(new: Path, rows: dict[str, tuple[list[Row], int]], report: Report) -> None:
    """Make the new file. Epochs go on from the clock, so that none is given twice when writers were lost."""
    with closing(create(new)) as connection:
        with transaction(connection):
            for table in TABLES:
                places = ", ".join("?" * (len(table.columns) + 2))
                columns = ", ".join(("number", *table.columns, "crc"))
                saved, count = rows[table.name]
                connection.executemany(
                    f"INSERT OR IGNORE INTO {table.name}({columns}) VALUES ({places})",
                    ((number, *values, checksum(values)) for number, values in saved),
                )
                if count > max((number for number, _ in saved), default=0):
                    connection.execute("DELETE FROM sqlite_sequence WHERE name = ?", (table.name,))
                    connection.execute("INSERT INTO sqlite_sequence(name, seq) VALUES (?, ?)", (table.name, count))
            now = time.time()
            floor = ("", int(now), 1, 0)
            connection.execute(WRITERS.put, (*floor, checksum(floor)))
            told = (now, msgspec.msgpack.encode(report))
            connection.execute("INSERT INTO salvages(at, report, crc) VALUES (?, ?, ?)", (*told, checksum(told)))
        seal(connection, new)


def _keep_out(connection: sqlite3.Connection) -> None:
    """Take the damaged file's write lock. Too damaged for that, nobody else can write to it either."""
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.DatabaseError as error:
        if is_busy(error):
            raise


@contextmanager
def _scratch(path: Path) -> Generator[Path]:
    """A directory beside the file, so that what is made in it can be renamed."""
    scratch = _beside(path, ".salvage")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(f"{path.name}{ending}")
