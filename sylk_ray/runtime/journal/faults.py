"""SQLite's errors in sylk_ray's words."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path

from sylk_ray.errors import SylkError
from sylk_ray.runtime.journal.errors import JournalDamaged, JournalFull

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_NO_ROOM_CODES = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE}
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


class JournalUnavailable(SylkError):
    """The journal's file cannot be used now: no permission, locked for too long, or gone."""

    code = "journal_unavailable"


def is_damage(error: BaseException) -> bool:
    """Whether SQLite, or a checksum, found the file itself to be wrong."""
    return isinstance(error, sqlite3.Error) and _primary(error) in _DAMAGED


def is_busy(error: BaseException) -> bool:
    """Whether another process kept the file's lock for too long."""
    return isinstance(error, sqlite3.Error) and _primary(error) in _BUSY


def fault_of(error: sqlite3.Error | OSError, path: Path) -> SylkError:
    """The error for the person. A file that may not grow any more is full, whatever the limit was."""
    if isinstance(error, OSError):
        full = error.errno in _NO_ROOM
    else:
        full = getattr(error, "sqlite_errorcode", None) in _NO_ROOM_CODES
    if full:
        return JournalFull(
            f"there is no room to write to {path}: {error}",
            hint=f"make room on the disk of {path.parent}; the same write may then be tried again",
        )
    if is_damage(error):
        return JournalDamaged(
            f"{path} is damaged: {error}", hint="close the session's journal and open it again: it is then repaired"
        )
    if is_busy(error):
        return JournalUnavailable(
            f"another process keeps {path} locked: {error}", hint="look for a cell that hangs, and end it"
        )
    return JournalUnavailable(
        f"{path} cannot be used: {error}", hint="look at the permissions of the file and of its directory"
    )


def _primary(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
