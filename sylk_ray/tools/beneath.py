"""Files of a worktree, opened so that nothing leads out of it, even if somebody changes it at that very moment.

A path is followed once, links and all, and checked (``paths.real_parts``); what was found then is opened folder by
folder from the worktree's own, each beneath the last, without following a link. What has become a link meanwhile is
refused. Only regular files are read, so that neither a pipe nor a device holds anybody up.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from sylk_ray.tools.errors import ActionFailed, PathRefused
from sylk_ray.tools.folders import folder_beneath
from sylk_ray.tools.paths import real_parts, refused

LARGEST = 64 << 20
"""Bytes of a file that is taken into memory at all."""
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_TEMPORARY = re.compile(r"\.sylk-[0-9a-f]{16}")
_PLAIN, _EXECUTE = 0o666, 0o111


def read_beneath(worktree: Path, relative: str, largest: int = LARGEST) -> bytes:
    """All of a file. Raises PathRefused for what is no file of the worktree, ActionFailed for a larger one, and
    FileNotFoundError."""
    parts = real_parts(worktree, relative)
    with _refusing(relative), folder_beneath(worktree, parts[:-1]) as folder:
        return _read(os.open(parts[-1], _READ, dir_fd=folder), relative, largest)


def read_own(path: Path, largest: int = LARGEST) -> bytes:
    """All of a file that a tool was to leave in a folder of its own: a link there is none. Raises as read_beneath."""
    with _refusing(path.name):
        return _read(os.open(path, _READ), path.name, largest)


def write_beneath(worktree: Path, relative: str, data: bytes, *, executable: bool = False) -> None:
    """Write a whole file or nothing, making its folders; an existing file keeps its mode, a link its target's place.
    Raises PathRefused, and OSError."""
    parts = real_parts(worktree, relative)
    with _refusing(relative), folder_beneath(worktree, parts[:-1], make=True) as folder:
        mode = _mode_for(folder, parts[-1], executable)
        temporary = f".sylk-{secrets.token_hex(8)}"
        descriptor = os.open(temporary, _CREATE, 0o600, dir_fd=folder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                os.fchmod(file.fileno(), mode)
            os.replace(temporary, parts[-1], src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=folder)
            raise


def clear_beneath(worktree: Path, relative: str) -> None:
    """Remove what a killed ``write_beneath`` has left in a file's folder. Raises PathRefused, and OSError."""
    parts = real_parts(worktree, relative)
    with _refusing(relative), folder_beneath(worktree, parts[:-1]) as folder:
        with os.scandir(folder) as entries:
            left = [entry.name for entry in entries if _TEMPORARY.fullmatch(entry.name) and entry.is_file()]
        for name in left:
            os.unlink(name, dir_fd=folder)


def delete_beneath(worktree: Path, relative: str) -> None:
    """Delete a file, a link (not what it leads to), or a folder with all in it. Raises PathRefused, and OSError."""
    pure = PurePosixPath(relative)
    above = real_parts(worktree, str(pure.parent)) if len(pure.parts) > 1 else ()
    with _refusing(relative), folder_beneath(worktree, above) as folder:
        if stat.S_ISDIR(os.stat(pure.name, dir_fd=folder, follow_symlinks=False).st_mode):
            shutil.rmtree(pure.name, dir_fd=folder)
        else:
            os.unlink(pure.name, dir_fd=folder)


@contextmanager
def _refusing(relative: str) -> Generator[None]:
    try:
        yield
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise refused(relative, "it became a link while it was looked up") from error
        raise


def _read(descriptor: int, name: str, largest: int) -> bytes:
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise PathRefused(f"{name} is no regular file", hint="Folders, pipes and devices are not read.")
        if status.st_size > largest:
            raise _too_large(name, largest)
        with open(descriptor, "rb", closefd=False) as file:
            data = file.read(largest + 1)
        if len(data) > largest:  # it grows
            raise _too_large(name, largest)
        return data
    finally:
        os.close(descriptor)


def _too_large(name: str, largest: int) -> ActionFailed:
    return ActionFailed(f"{name} is larger than {largest >> 20} MB", hint="Look for lines in it with a program.")


def _mode_for(folder: int, name: str, executable: bool) -> int:
    mode = _PLAIN & ~_umask()
    with suppress(FileNotFoundError):
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISREG(status.st_mode):
            mode = stat.S_IMODE(status.st_mode)
    return mode | (_EXECUTE & ~_umask() if executable else 0)


def _umask() -> int:
    """Read, not set and reset: that would be seen by other threads."""
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("Umask:")).split()[1], 8)
