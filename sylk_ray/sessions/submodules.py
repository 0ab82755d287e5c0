"""Repositories within a worktree: the submodules it should have, and those that it must not have."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from sylk_ray.errors import SylkError
from sylk_ray.sessions.git import Git


class NestedRepository(SylkError):
    """A tool has made a repository within the worktree."""

    code = "nested_repository"


_KNOWN: dict[Path, tuple[tuple[int, ...], Mapping[str, str]]] = {}
"""Of the last indexes that were looked into: which they were, and their submodules."""
_KEPT = 256


async def submodules_of(git: Git) -> Mapping[str, str]:
    """The submodules in the index, and the commit that each is at. An index of a worktree that is as it was is not
    looked into again."""
    if git.git_dir is None or git.has_other_index:
        return await _submodules_of(git)
    index = git.git_dir / "index"
    is_now = _identity(index)
    was, found = _KNOWN.get(index, ((), {}))
    if is_now != was:
        found = await _submodules_of(git)
        _KNOWN.pop(index, None)
        _KNOWN[index] = is_now, found
        if len(_KNOWN) > _KEPT:
            del _KNOWN[next(iter(_KNOWN))]
    return found


def _identity(index: Path) -> tuple[int, ...]:
    """Another whenever git has written it: it writes a new file and puts it in the old one's place."""
    try:
        told = index.stat()
    except FileNotFoundError:
        return ()
    return told.st_ino, told.st_size, told.st_mtime_ns, told.st_ctime_ns


async def _submodules_of(git: Git) -> dict[str, str]:
    found: dict[str, str] = {}
    for entry in (await git.run("ls-files", "--stage", "-z")).split("\0"):
        if entry.startswith("160000 "):
            details, path = entry.split("\t", 1)
            found[path] = details.split()[1]
    return found


async def fill_submodules(repo: Path, worktree: Path) -> None:
    """A new worktree has empty submodules: check out those that the person's checkout has, from its own copies.

    Without network, and without touching the repository's configuration; one that is not initialised there stays
    empty here as it is there.
    """
    if not (worktree / ".gitmodules").exists():
        return
    for path, commit in (await submodules_of(Git(worktree))).items():
        source, target = repo / path, worktree / path
        if (source / ".git").exists():
            await Git(worktree).run("clone", "--quiet", "--shared", "--no-checkout", str(source), str(target))
            await Git(target).run("checkout", "--quiet", "--detach", commit)


def refuse_nested_repositories(worktree: Path, allowed: Iterable[str]) -> None:
    """Raise NestedRepository when there is a repository that is no submodule.

    git would take it for one, and run what its configuration says the next time that it looks for changes.
    """
    submodules = {worktree / path for path in allowed}
    for folder, folders, files in os.walk(worktree):
        here = Path(folder)
        if here in submodules:
            folders.clear()
        elif here != worktree and (".git" in folders or ".git" in files):
            raise NestedRepository(
                f"{here.relative_to(worktree)} is a git repository of its own, made by a tool",
                hint="remove its .git, or make it outside of the worktree",
            )
