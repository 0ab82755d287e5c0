"""Paths of a worktree: which are allowed, and which files a glob names.

Globs are those of ``.gitignore``: ``*.py`` matches at any depth, ``src/**/*.py`` and ``docs/*.md`` are
anchored at the top, a folder's name takes everything beneath it, ``**`` matches all, ``!`` takes out again.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from pathspec import PathSpec

from sylk_ray.tools.errors import PathRefused
from sylk_ray.tools.folders import folder_beneath

Globs = str | Iterable[str]

CACHES = (
    "__pycache__/",
    "*.pyc",
    ".pytest_cache/",
    ".ruff_cache/",
    ".mypy_cache/",
    ".hypothesis/",
    "node_modules/",
)
"""What tools leave beside the work: never committed, and no change of a file."""


def resolve(worktree: Path, relative: str) -> Path:
    """The absolute path of ``relative``, links not followed; PathRefused if it is not plainly inside.

    A link may be named as long as what it points to is inside the worktree as well. That holds for now: what is opened
    is opened by ``beneath``, since a tool may put another link in its place meanwhile.
    """
    real_parts(worktree, relative)
    return worktree / PurePosixPath(relative)


def real_parts(worktree: Path, relative: str) -> tuple[str, ...]:
    """The names that lead from the worktree to what a path means, with its links followed. PathRefused as above."""
    pure = PurePosixPath(relative)
    if not relative.strip() or "\0" in relative or not pure.parts:
        raise refused(relative, "it names no file")
    if pure.is_absolute():
        raise refused(relative, "it is absolute")
    if ".." in pure.parts:
        raise refused(relative, "it has '..' in it")
    _refuse_git(relative, pure.parts)
    root = worktree.resolve()
    try:
        real = (worktree / pure).resolve()
    except (OSError, RuntimeError) as error:
        raise refused(relative, f"it cannot be followed: {error}") from error
    if not real.is_relative_to(root) or real == root:
        raise refused(relative, f"it leads through a link to {real}")
    _refuse_git(relative, real.relative_to(root).parts)
    return real.relative_to(root).parts


def name_of(worktree: Path, path: str) -> str:
    """A path as some tool printed it, relative to the worktree if it is inside; otherwise unchanged."""
    pure = Path(path)
    if not pure.is_absolute():
        return os.path.normpath(path)
    for root in (worktree, worktree.resolve()):
        if pure.is_relative_to(root):
            return pure.relative_to(root).as_posix()
    return path


def matches(globs: Globs, relative: str) -> bool:
    """Whether a glob names this relative path."""
    return _spec(globs).match_file(relative)


def matching(globs: Globs, relatives: Iterable[str]) -> tuple[str, ...]:
    """Those of the relative paths that a glob names, in their order."""
    spec = _spec(globs)
    return tuple(relative for relative in relatives if spec.match_file(relative))


def files_matching(worktree: Path, globs: Globs) -> tuple[str, ...]:
    """The relative paths, sorted, of the regular files that a glob names. Links are not followed."""
    return tuple(sorted(matching(globs, walk(worktree))))


def walk(worktree: Path) -> Iterator[str]:
    """Every regular file of the worktree as a relative path, without ``.git`` and without links."""
    pending: list[tuple[str, ...]] = [()]
    while pending:
        parts = pending.pop()
        within = "".join(f"{part}/" for part in parts)
        try:
            with folder_beneath(worktree, parts) as descriptor, os.scandir(descriptor) as entries:
                for entry in entries:
                    if entry.name == ".git":
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        pending.append((*parts, entry.name))
                    elif entry.is_file(follow_symlinks=False):
                        yield f"{within}{entry.name}"
        except OSError as error:
            # A tool that is still at work has removed it, or put a link in its place.
            if not parts or error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                raise


def _spec(globs: Globs) -> PathSpec[Any]:
    lines = (globs,) if isinstance(globs, str) else tuple(globs)
    try:
        return PathSpec.from_lines("gitignore", lines)
    except ValueError as error:
        raise PathRefused(f"a glob is wrong: {error}", hint="Globs are written as in .gitignore.") from error


def _refuse_git(relative: str, parts: Iterable[str]) -> None:
    if any(part.casefold() == ".git" for part in parts):
        raise refused(relative, "git's own files are not to be touched")


def refused(relative: str, why: str) -> PathRefused:
    """The error for a path that is not plainly inside the worktree."""
    return PathRefused(
        f"the path {relative!r} is refused: {why}",
        hint="Give a path relative to the worktree, with forward slashes, that stays inside it.",
    )
