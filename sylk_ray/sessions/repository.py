"""Whether a folder is a repository that a session can work on."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from sylk_ray.errors import InputError
from sylk_ray.sessions.git import Git


class Repository(NamedTuple):
    """A repository: where it is, the commit its HEAD is at, and what a person should know before work starts."""

    path: Path
    head: str
    warnings: list[str]


async def inspect_repository(path: Path) -> Repository:
    """Look, and change nothing. Raises InputError when there is no repository, or it has no commit yet."""
    if not path.is_dir():
        raise InputError(f"there is no folder {path}", hint="give the repository with --repo, or `repo:` in the job")
    git = Git(path)
    code, top, errors = await git.try_run("rev-parse", "--show-toplevel")
    if code != 0:
        code, common, _ = await git.try_run("rev-parse", "--absolute-git-dir")
        if code != 0:
            detail = "" if "not a git repository" in errors else f": {errors.strip()}"
            raise InputError(
                f"{path} is not a git repository{detail}", hint="run `git init` there and commit, or give --repo"
            )
        top = common
    root = Path(top.strip())
    git = Git(root)
    code, head, _ = await git.try_run("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if code != 0:
        raise InputError(f"{root} has no commit yet", hint="commit something first: a session's branch starts at HEAD")
    warnings: list[str] = []
    code, status, _ = await git.try_run("status", "--porcelain", "--ignore-submodules=all")
    if code == 0 and status.strip():
        count = len(status.strip().splitlines())
        warnings.append(f"{count} uncommitted change(s) in {root} are not part of this session: it starts at HEAD")
    return Repository(root, head.strip(), warnings)
