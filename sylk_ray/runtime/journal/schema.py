"""The tables of a session's file, and the steps that bring an older file up to date.

Every row ends with a checksum of its columns, for SQLite has none: bytes that change inside a row would go unnoticed.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import quote
from zlib import crc32

import msgspec

from sylk_ray.runtime.journal.errors import JournalTooNew
from sylk_ray.transactions import transaction

APPLICATION_ID = 0x53594C4B
"""``SYLK``, in the file's header: what tells a journal from another program's database."""

BUSY_SECONDS = 5.0
"""How long a write waits for other processes that write to the same file."""

Durability = Literal["process", "power"]
Value = str | bytes | int | float | None

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE writers(number INTEGER PRIMARY KEY, writer TEXT NOT NULL UNIQUE, epoch INTEGER NOT NULL,
        fenced INTEGER NOT NULL, process INTEGER NOT NULL, crc INTEGER NOT NULL) STRICT""",
        """CREATE TABLE states(number INTEGER PRIMARY KEY, agent TEXT NOT NULL UNIQUE, version INTEGER NOT NULL,
        data BLOB NOT NULL, crc INTEGER NOT NULL) STRICT""",
        """CREATE TABLE parts(number INTEGER PRIMARY KEY, agent TEXT NOT NULL, name TEXT NOT NULL,
        data BLOB NOT NULL, crc INTEGER NOT NULL, UNIQUE(agent, name)) STRICT""",
        """CREATE TABLE handled(number INTEGER PRIMARY KEY, agent TEXT NOT NULL, message TEXT NOT NULL,
        remember_until REAL NOT NULL, reply BLOB, crc INTEGER NOT NULL, UNIQUE(agent, message)) STRICT""",
        "CREATE INDEX handled_until ON handled(remember_until)",
        """CREATE TABLE mail(number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, source TEXT NOT NULL,
        target TEXT NOT NULL, packet BLOB NOT NULL, crc INTEGER NOT NULL) STRICT""",
        "CREATE INDEX mail_target ON mail(target)",
        """CREATE TABLE steps(number INTEGER PRIMARY KEY, agent TEXT NOT NULL, message TEXT NOT NULL,
        name TEXT NOT NULL, before TEXT NOT NULL, finished INTEGER NOT NULL, after TEXT NOT NULL,
        result BLOB NOT NULL, crc INTEGER NOT NULL, UNIQUE(agent, message, name)) STRICT""",
        """CREATE TABLE letters(number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,
        source TEXT NOT NULL, target TEXT NOT NULL, packet BLOB NOT NULL, error TEXT NOT NULL,
        reason TEXT NOT NULL, at REAL NOT NULL, crc INTEGER NOT NULL) STRICT""",
        """CREATE TABLE events(number INTEGER PRIMARY KEY AUTOINCREMENT, body BLOB NOT NULL,
        crc INTEGER NOT NULL) STRICT""",
        """CREATE TABLE salvages(number INTEGER PRIMARY KEY, at REAL NOT NULL, report BLOB NOT NULL,
        crc INTEGER NOT NULL) STRICT""",
    ),
    ("CREATE INDEX mail_source ON mail(source)",),
    ("ALTER TABLE steps ADD COLUMN trace TEXT NOT NULL DEFAULT ''",),
)
"""Migration number n makes a file of version n out of one of version n - 1. What is here is never changed: files of
that version exist. The next version is one more entry."""


class Table(NamedTuple):
    """A table's columns between its ``number`` and its ``crc``, and those that tell one row from another. The last
    ``added`` columns came with a later version of the file: they are not in the checksums of the rows before it."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    added: int = 0

    @property
    def put(self) -> str:
        """Insert a row, or change the one with the same key, which stays where it is in the order."""
        columns = (*self.columns, "crc")
        changes = ", ".join(f"{column} = excluded.{column}" for column in columns if column not in self.key)
        return (
            f"INSERT INTO {self.name}({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))}) "
            f"ON CONFLICT({', '.join(self.key)}) DO UPDATE SET {changes}"
        )

    @property
    def select(self) -> str:
        """Read rows: their columns, then the checksum. To be followed by a condition."""
        return f"SELECT {', '.join(self.columns)}, crc FROM {self.name}"

    def is_whole(self, values: Sequence[Value], crc: Value) -> bool:
        """Whether a row has its checksum."""
        if checksum(values) == crc:
            return True
        former = len(values) - self.added
        return bool(self.added) and not any(values[former:]) and checksum(values[:former]) == crc


WRITERS = Table("writers", ("writer", "epoch", "fenced", "process"), ("writer",))
STATES = Table("states", ("agent", "version", "data"), ("agent",))
PARTS = Table("parts", ("agent", "name", "data"), ("agent", "name"))
HANDLED = Table("handled", ("agent", "message", "remember_until", "reply"), ("agent", "message"))
MAIL = Table("mail", ("id", "source", "target", "packet"), ("id",))
STEPS = Table(
    "steps",
    ("agent", "message", "name", "before", "finished", "after", "result", "trace"),
    ("agent", "message", "name"),
    added=1,
)
"""What is in ``after`` nobody reads: it is written empty, and stays for the checksums of the rows that have it."""
LETTERS = Table("letters", ("id", "source", "target", "packet", "error", "reason", "at"), ("id",))
EVENTS = Table("events", ("body",), ("number",))
SALVAGES = Table("salvages", ("at", "report"), ("number",))
TABLES = (WRITERS, STATES, PARTS, HANDLED, MAIL, STEPS, LETTERS, EVENTS, SALVAGES)

_encode = msgspec.msgpack.Encoder().encode


def checksum(values: Sequence[Value]) -> int:
    """What a row's ``crc`` should be. Types count: a REAL column's value has to be a float."""
    return crc32(_encode(values))


def connect(path: Path, durability: Durability, *, mode: Literal["rw", "rwc"] = "rw") -> sqlite3.Connection:
    """A connection that leaves transactions to its user; any thread may use it, one at a time.

    ``process`` leaves it to the system when to write to the disk, so that a killed process loses nothing;
    ``power`` waits for the disk on every commit. The write-ahead log is copied back at 1 MB and cut to that size.
    The page cache is small, because a cell has a hundred of these.
    """
    connection = sqlite3.connect(
        f"file:{quote(str(path))}?mode={mode}",
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        for pragma in (
            f"synchronous = {'FULL' if durability == 'power' else 'NORMAL'}",
            "wal_autocheckpoint = 256",
            f"journal_size_limit = {1 << 20}",
            "cache_size = -1000",
            "secure_delete = FAST",
        ):
            connection.execute(f"PRAGMA {pragma}").fetchall()
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def create(path: Path) -> sqlite3.Connection:
    """Make an empty journal. It is made under another name and renamed, so that half of one is never found."""
    connection = connect(path, "process", mode="rwc")
    try:
        for pragma in (
            "synchronous = OFF",
            "auto_vacuum = INCREMENTAL",
            f"application_id = {APPLICATION_ID}",
            "journal_mode = WAL",
        ):
            connection.execute(f"PRAGMA {pragma}").fetchall()
        migrate(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def seal(connection: sqlite3.Connection, path: Path) -> None:
    """Close a file that was just made, whole and on the disk. Closing alone leaves a full disk unsaid."""
    try:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    finally:
        connection.close()
    sync(path)


def version_of(connection: sqlite3.Connection) -> int:
    """The version of a file's tables."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def migrate(connection: sqlite3.Connection, path: Path, migrations: Sequence[Sequence[str]] = MIGRATIONS) -> None:
    """Bring a file up to date in one transaction. Raises JournalTooNew when a later version wrote it."""
    if version_of(connection) == len(migrations):
        return
    with transaction(connection):
        version = version_of(connection)
        if version > len(migrations):
            raise JournalTooNew(
                f"{path} has version {version}, and this sylk_ray knows versions up to {len(migrations)}",
                hint="use the version of sylk_ray that wrote it, or a later one",
            )
        for statement in (each for migration in migrations[version:] for each in migration):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(migrations)}")


def sync(path: Path) -> None:
    """Wait until a file, or a directory's entries, are on the disk. Never for a database that is open: closing
    any descriptor of a file drops every lock that this process has on it."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
