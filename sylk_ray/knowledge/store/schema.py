"""The tables, and the steps that bring an older file up to date."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from sylk_ray.knowledge.store.errors import KnowledgeDamaged, KnowledgeTooNew
from sylk_ray.transactions import transaction

APPLICATION_ID = 0x53594C4E
"""``SYLN``, in the file's header: what tells a knowledge base from another program's database."""

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE nodes(
            key INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, domain TEXT NOT NULL,
            type TEXT NOT NULL, scope TEXT NOT NULL, name TEXT NOT NULL, path TEXT NOT NULL, content TEXT NOT NULL,
            content_hash TEXT NOT NULL, metadata TEXT NOT NULL, embedded INTEGER NOT NULL,
            created_at REAL NOT NULL, updated_at REAL NOT NULL, accessed_at REAL NOT NULL) STRICT""",
        "CREATE INDEX nodes_by_path ON nodes(scope, path)",
        "CREATE INDEX nodes_by_name ON nodes(scope, name COLLATE NOCASE)",
        "CREATE INDEX nodes_by_type ON nodes(domain, type, scope)",
        "CREATE INDEX nodes_by_hash ON nodes(content_hash)",
        """CREATE TABLE edges(
            id INTEGER PRIMARY KEY, source INTEGER NOT NULL REFERENCES nodes(key) ON DELETE CASCADE,
            target INTEGER NOT NULL REFERENCES nodes(key) ON DELETE CASCADE, type TEXT NOT NULL, weight REAL NOT NULL,
            metadata TEXT NOT NULL, across INTEGER NOT NULL, created_at REAL NOT NULL,
            UNIQUE(source, target, type)) STRICT""",
        "CREATE INDEX edges_by_target ON edges(target, type)",
        "CREATE INDEX edges_across ON edges(source, target) WHERE across",
        """CREATE TABLE provenance(
            id INTEGER PRIMARY KEY, node INTEGER NOT NULL REFERENCES nodes(key) ON DELETE CASCADE,
            source_type TEXT NOT NULL, source_id TEXT NOT NULL, confidence REAL NOT NULL, verified_at REAL,
            verifier TEXT NOT NULL) STRICT""",
        "CREATE INDEX provenance_by_node ON provenance(node)",
        """CREATE TABLE conflicts(
            id INTEGER PRIMARY KEY, node_a INTEGER NOT NULL REFERENCES nodes(key) ON DELETE CASCADE,
            node_b INTEGER NOT NULL REFERENCES nodes(key) ON DELETE CASCADE, type TEXT NOT NULL,
            detected_at REAL NOT NULL, resolution TEXT NOT NULL, resolved_at REAL) STRICT""",
        "CREATE INDEX conflicts_by_a ON conflicts(node_a)",
        "CREATE INDEX conflicts_by_b ON conflicts(node_b)",
        """CREATE TABLE outbox(
            number INTEGER PRIMARY KEY AUTOINCREMENT, domain TEXT NOT NULL, scope TEXT NOT NULL,
            body BLOB NOT NULL) STRICT""",
        """CREATE TABLE memos(
            domain TEXT NOT NULL, scope TEXT NOT NULL, name TEXT NOT NULL, body BLOB NOT NULL,
            PRIMARY KEY(domain, scope, name)) STRICT, WITHOUT ROWID""",
    ),
    (
        "CREATE TABLE generations(domain TEXT PRIMARY KEY, generation INTEGER NOT NULL) STRICT, WITHOUT ROWID",
        "INSERT INTO generations SELECT DISTINCT domain, 1 FROM nodes",
    ),
)
"""Migration number n makes a file of version n out of one of version n - 1. What is here is never changed: files of
that version exist. The next version is one more entry."""


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring a file to the newest version, step by step, each whole or not at all.

    Raises KnowledgeTooNew, and KnowledgeDamaged for another program's database.
    """
    with transaction(connection):
        version = _version(connection, path)
        for number, statements in enumerate(MIGRATIONS[version:], version + 1):
            for statement in statements:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number}")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def _version(connection: sqlite3.Connection, path: Path) -> int:
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    owner = int(connection.execute("PRAGMA application_id").fetchone()[0])
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    if owner != APPLICATION_ID and (owner or version or tables):
        raise KnowledgeDamaged(
            f"{path} is another program's database", hint="Move it away, or name another state directory."
        )
    if version > len(MIGRATIONS):
        raise KnowledgeTooNew(
            f"{path} is of version {version}, and this sylk_ray knows {len(MIGRATIONS)} at most",
            hint="Use the newer sylk_ray that wrote it.",
        )
    return version
