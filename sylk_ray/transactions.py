"""Transactions of SQLite: all of one is in the file, or nothing."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def transaction(connection: sqlite3.Connection, *, writes: bool = True) -> Generator[None]:
    """Everything within, as one; whatever ends it before its end, an interruption too, undoes it.

    One that writes has the lock for that from the beginning. For connections with ``isolation_level=None``.
    """
    try:
        # Within, as an interruption may come right after it.
        connection.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
        yield
        connection.execute("COMMIT")
    finally:
        # Where the disk is full, SQLite has undone it by itself.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
