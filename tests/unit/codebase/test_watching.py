"""Real files in a watched folder."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

from watchfiles import Change

from sylk_ray.codebase.debouncing import Batch
from sylk_ray.codebase.selection import Selection
from sylk_ray.codebase.watching import Sorting, watch


@asynccontextmanager
async def watched(root: Path) -> AsyncIterator[asyncio.Queue[Batch]]:
    batches: asyncio.Queue[Batch] = asyncio.Queue()
    stop, ready = asyncio.Event(), asyncio.Event()

    async def listen() -> None:
        async with aclosing(watch(Selection(root), stop=stop, ready=ready)) as seen:
            async for batch in seen:
                batches.put_nowait(batch)

    task = asyncio.create_task(listen())
    await asyncio.wait_for(ready.wait(), 20)
    try:
        yield batches
    finally:
        stop.set()
        await asyncio.wait_for(task, 20)


async def told(batches: asyncio.Queue[Batch], *paths: str) -> set[str]:
    """What is told until all of some paths were."""
    seen: set[str] = set()
    while not set(paths) <= seen:
        batch = await asyncio.wait_for(batches.get(), 20)
        assert not batch.everything
        seen |= set(batch.paths)
    return seen


async def test_a_file_that_is_written_changed_and_removed_is_told(tmp_path: Path) -> None:
    async with watched(tmp_path) as batches:
        (tmp_path / "a.py").write_text("a = 1\n")
        assert await told(batches, "a.py") == {"a.py"}
        (tmp_path / "a.py").write_text("a = 2\n")
        assert await told(batches, "a.py") == {"a.py"}
        (tmp_path / "a.py").unlink()
        assert await told(batches, "a.py") == {"a.py"}


async def test_what_does_not_count_is_not_told(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("ignored.py\n")
    (tmp_path / "node_modules").mkdir()
    async with watched(tmp_path) as batches:
        (tmp_path / "ignored.py").write_text("x = 1\n")
        (tmp_path / "node_modules/x.js").write_text("x = 1\n")
        (tmp_path / "x.png").write_bytes(b"x")
        (tmp_path / "last.py").write_text("x = 1\n")
        assert await told(batches, "last.py") == {"last.py"}


async def test_an_ignore_file_that_changes_is_a_look_at_everything(tmp_path: Path) -> None:
    async with watched(tmp_path) as batches:
        (tmp_path / ".gitignore").write_text("x.py\n")
        assert await asyncio.wait_for(batches.get(), 20) == Batch((), True)


async def test_another_branch_is_one_batch(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", "-C", str(tmp_path), *identity, *arguments], check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    for n in range(30):
        (tmp_path / f"m{n}.py").write_text(f"x = {n}\n")
    git("add", ".")
    git("commit", "-qm", "one")
    git("checkout", "-qb", "other")
    for n in range(30):
        (tmp_path / f"m{n}.py").write_text(f"y = {n}\n")
    git("commit", "-qam", "two")
    async with watched(tmp_path) as batches:
        await asyncio.to_thread(git, "checkout", "-q", "main")
        assert await asyncio.wait_for(batches.get(), 20) == Batch((), True)
        (tmp_path / "after.py").write_text("x = 1\n")
        assert await told(batches, "after.py") == {"after.py"}


def test_of_gits_own_folder_only_the_branch_is_heard_of(tmp_path: Path) -> None:
    sorting = Sorting(tmp_path)
    assert sorting.is_watched(Change.modified, f"{tmp_path}/.git/HEAD")
    assert not sorting.is_watched(Change.modified, f"{tmp_path}/.git/index")
    assert not sorting.is_watched(Change.modified, f"{tmp_path}/.git/objects/ab/HEAD")
    assert not sorting.is_watched(Change.modified, "/elsewhere/a.py")
