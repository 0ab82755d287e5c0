"""A process that was stopped in the middle of a transaction keeps the file's write lock, and so nobody can replace it.

The system takes a lock back only when its process ends. A fenced writer is therefore woken, when it is stopped
(SIGSTOP) and holds that very lock: it ends the transaction that it was in, which so comes before the fence, and is
refused from then on. It is never killed.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

_WRITE_LOCK = 120
"""The byte of the -shm file that SQLite locks to write (WAL_WRITE_LOCK, sqlite.org/walformat.html)."""


def lock_holder(database: Path) -> int | None:
    """The process that may write now. Asks the system's list: to open the file itself would drop our own locks."""
    try:
        inode = database.with_name(f"{database.name}-shm").stat().st_ino
        locks = Path("/proc/locks").read_text()
    except OSError:
        return None
    for line in locks.splitlines():
        match line.split()[1:]:
            case ["POSIX", _, "WRITE", pid, place, first, last] if place.rsplit(":", 1)[-1] == str(inode):
                if int(first) <= _WRITE_LOCK and (last == "EOF" or int(last) >= _WRITE_LOCK):
                    return int(pid)
            case _:
                continue
    return None


def is_stopped(pid: int) -> bool:
    """Whether a process was stopped by a signal."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] == "T"


def wake_stopped_holder(database: Path, replaced: set[int]) -> bool:
    """Let a stopped process among ``replaced`` end its transaction; whether there was one."""
    pid = lock_holder(database)
    if pid is None or pid not in replaced or pid == os.getpid() or not is_stopped(pid):
        return False
    try:
        os.kill(pid, signal.SIGCONT)
    except (ProcessLookupError, PermissionError):
        return False
    return True
