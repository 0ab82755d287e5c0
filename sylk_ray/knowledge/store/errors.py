"""What can be wrong with a knowledge base's file, or with what is put into it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from sylk_ray.errors import InputError, SylkError


class KnowledgeDamaged(SylkError):
    """SQLite says that the file is no database, or that pages of it are broken."""

    code = "knowledge_damaged"


class KnowledgeTooNew(SylkError):
    """The file was written by a later version of sylk_ray."""

    code = "knowledge_too_new"


class KnowledgeUnavailable(SylkError):
    """The file cannot be read or written now: no room, no permission, or another process holds it."""

    code = "knowledge_unavailable"


class UnknownNode(InputError):
    """A node that is named is not there."""

    code = "unknown_knowledge_node"


class DuplicateNode(InputError):
    """A node with this id is there already."""

    code = "duplicate_node"


class InvalidNode(InputError):
    """A node that its domain does not have."""

    code = "invalid_node"


class InvalidEdge(InputError):
    """An edge that may not be between the domains of its ends, or whose weight is none."""

    code = "invalid_edge"


_DAMAGE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


def fault_of(problem: sqlite3.Error, path: Path) -> SylkError:
    """What a person can do with what SQLite raised."""
    code = getattr(problem, "sqlite_errorcode", 0) & 0xFF
    if code in _DAMAGE:
        return KnowledgeDamaged(
            f"the knowledge base {path} is damaged: {problem}",
            hint="What it knows of repositories can be had again: move it away and run sylk index.",
        )
    hints = {
        sqlite3.SQLITE_IOERR: "See whether the disk is full; what was known before is kept.",
        sqlite3.SQLITE_FULL: "Make room on the disk; what was known before is kept.",
        sqlite3.SQLITE_READONLY: "Look at its permissions.",
        sqlite3.SQLITE_CANTOPEN: "Look at the folder and its permissions.",
        sqlite3.SQLITE_BUSY: "Another process writes to it; try again.",
    }
    return KnowledgeUnavailable(f"the knowledge base {path} cannot be used: {problem}", hint=hints.get(code, ""))
