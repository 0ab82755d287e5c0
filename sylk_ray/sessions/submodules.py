"""A new worktree has empty submodules; fill those that the person's checkout has, from its own copies."""

from __future__ import annotations

from pathlib import Path

from sylk_ray.sessions.git import Git


async def fill_submodules(repo: Path, worktree: Path) -> None:
    """Check submodules out in a worktree without network and without touching the repository's configuration.

    Each is cloned from the copy that the person's own checkout holds, with shared objects; one that is not
    initialised there stays empty here as it is there.
    """
    if not (worktree / ".gitmodules").exists():
        return
    git = Git(worktree)
    entries = await git.run("ls-files", "--stage", "-z")
    for entry in entries.split("\0"):
        if not entry.startswith("160000 "):
            continue
        details, path = entry.split("\t", 1)
        commit = details.split()[1]
        source = repo / path
        target = worktree / path
        if not (source / ".git").exists():
            continue
        await git.run("clone", "--quiet", "--shared", "--no-checkout", str(source), str(target))
        await Git(target).run("checkout", "--quiet", "--detach", commit)
