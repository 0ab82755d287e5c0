"""What was saved of worktrees lately, and whether they are still as they were then: a tool mostly finds what the one
before it has left, and the look that tells that costs less than saving it again."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import xxhash

MOST_FILES = 1000
"""With more, the look is no quicker than git's own."""
YOUNG_S = 60.0
"""Nothing refers to what was saved, so git may sweep it away later on."""
_KEPT = 256


class _Save(NamedTuple):
    tree: str
    looks: bytes
    at: float


class Saves:
    """Of one process. ``now`` is in seconds."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._last: dict[Path, _Save] = {}

    def of(self, worktree: Path, looks: bytes | None) -> str | None:
        """The tree that was saved a moment ago, if the worktree still looks so."""
        save = self._last.get(worktree)
        if save is None or save.looks != looks or self._now() - save.at > YOUNG_S:
            return None
        return save.tree

    def keep(self, worktree: Path, looks: bytes | None, tree: str) -> None:
        """``looks`` is from before it was saved: what changed meanwhile is saved again."""
        self._last.pop(worktree, None)
        if looks is not None:
            self._last[worktree] = _Save(tree, looks, self._now())
            if len(self._last) > _KEPT:
                del self._last[next(iter(self._last))]


def looks_of(worktree: Path, index: Path) -> bytes | None:
    """Another whenever a file is made, written, moved or removed in the worktree, or git writes its index; None when
    there are more than ``MOST_FILES``. Blocks."""
    told = xxhash.xxh3_128()
    seen = 0
    pending = [os.fspath(worktree)]
    try:
        _tell(told, "index", index.stat())
        while pending:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    seen += 1
                    if seen > MOST_FILES:
                        return None
                    _tell(told, entry.path, entry.stat(follow_symlinks=False))
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
    except OSError:  # it changes at this very moment
        return None
    return told.digest()


def _tell(told: xxhash.xxh3_128, name: str, status: os.stat_result) -> None:
    what = (name, status.st_mode, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    told.update(repr(what).encode())
