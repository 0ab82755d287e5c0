"""Folders of a worktree, each opened beneath the last, so that no link that is put in the way leads out of it.

Each time from the worktree's own: to keep those on the way open instead would take as many descriptors as folders lie
in one another, and a tool may make that many.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


@contextmanager
def folder_beneath(worktree: Path, parts: Sequence[str], *, make: bool = False) -> Generator[int]:
    """A descriptor of the folder that the parts lead to, made if asked. Raises OSError, with ELOOP for a link."""
    descriptor = os.open(worktree, _FOLDER)
    try:
        for part in parts:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=descriptor)
            inner = _inner(descriptor, part)
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


def _inner(folder: int, name: str) -> int:
    try:
        return os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
    except NotADirectoryError:
        if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, "a link was put in the way", name) from None
        raise
