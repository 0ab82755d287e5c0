"""What one file of a worktree held before a tool that changes no other, so that only that is put back if the tool is
cut off: to save the whole worktree takes git two processes."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path, PurePosixPath

import msgspec

from sylk_ray.errors import SylkError
from sylk_ray.tools.beneath import clear_beneath, delete_beneath, read_beneath, write_beneath
from sylk_ray.tools.errors import PathRefused
from sylk_ray.tools.paths import real_parts

LARGEST = 32 << 10
"""Bytes of a file that are worth noting."""


class _Held(msgspec.Struct, frozen=True):
    path: str
    data: bytes | None
    """None where there was no file."""


def held(worktree: Path, path: str) -> str:
    """A file as it is, for ``put_back``; empty for what is no small file of its own, but a link, a folder, or nothing
    that may be read, and for what may hold secrets: a file whose name begins with a dot. Blocks."""
    try:
        parts = PurePosixPath(path).parts
        if not parts or real_parts(worktree, path) != parts or parts[-1].startswith("."):
            return ""
        data = read_beneath(worktree, path, LARGEST)
    except FileNotFoundError:
        data = None
    except (SylkError, OSError):
        return ""
    return msgspec.json.encode(_Held(path, data)).decode()


def is_held(mark: str) -> bool:
    """Whether it is one of ``held``, and not the name of a tree."""
    return mark.startswith("{")


def put_back(worktree: Path, mark: str) -> None:
    """Have the file as it was, and nothing beside it that a write has left half done. Where others have put something
    else in its way since, a folder or a link, that stays. Raises OSError. Blocks."""
    file = msgspec.json.decode(mark, type=_Held)
    there = worktree / file.path
    with suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError, PathRefused):
        clear_beneath(worktree, file.path)
        if file.data is not None:
            write_beneath(worktree, file.path, file.data)
        elif there.is_file() and not there.is_symlink():
            delete_beneath(worktree, file.path)
