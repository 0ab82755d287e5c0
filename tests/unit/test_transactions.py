"""Transactions: whole, or not at all."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from sylk_ray.transactions import transaction


def connected(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None, timeout=0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "some.db"


@pytest.fixture
def connection(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(connected(path)) as connection:
        connection.execute("CREATE TABLE things(name TEXT PRIMARY KEY)")
        yield connection


def names(path: Path) -> list[str]:
    with closing(connected(path)) as connection:
        return [name for (name,) in connection.execute("SELECT name FROM things ORDER BY name")]


def test_everything_within_is_kept(connection, path):
    with transaction(connection):
        connection.execute("INSERT INTO things VALUES ('one')")
        connection.execute("INSERT INTO things VALUES ('two')")
    assert names(path) == ["one", "two"]


@pytest.mark.parametrize("ends", [ValueError, KeyboardInterrupt, GeneratorExit])
def test_whatever_ends_it_undoes_it_and_the_connection_goes_on(connection, path, ends):
    def insert_and_end() -> None:
        with transaction(connection):
            connection.execute("INSERT INTO things VALUES ('one')")
            raise ends

    with pytest.raises(ends):
        insert_and_end()
    assert not connection.in_transaction
    with transaction(connection):
        connection.execute("INSERT INTO things VALUES ('two')")
    assert names(path) == ["two"]


def test_what_sqlite_has_undone_by_itself_is_told_as_it_was(connection):
    with transaction(connection):
        connection.execute("INSERT INTO things VALUES ('one')")
    with pytest.raises(sqlite3.IntegrityError), transaction(connection):
        connection.execute("INSERT OR ROLLBACK INTO things VALUES ('one')")
    assert not connection.in_transaction


def test_one_that_writes_has_the_lock_from_the_beginning(connection, path):
    with transaction(connection), closing(connected(path)) as other:
        with pytest.raises(sqlite3.OperationalError, match="locked"), transaction(other):
            pytest.fail("two of them write")
        assert not other.in_transaction


def test_those_that_only_read_stand_beside_one_that_writes(path):
    with closing(connected(path)) as connection, closing(connected(path)) as other:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE things(name TEXT PRIMARY KEY)")
        with transaction(connection):
            connection.execute("INSERT INTO things VALUES ('one')")
            with transaction(other, writes=False):
                assert not other.execute("SELECT name FROM things").fetchall()
    assert names(path) == ["one"]
