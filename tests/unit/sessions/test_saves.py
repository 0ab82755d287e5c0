"""When a worktree is taken for what it was when it was saved."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sylk_ray.sessions import saves
from sylk_ray.sessions.git import Git
from sylk_ray.sessions.saves import YOUNG_S, Saves, looks_of
from sylk_ray.sessions.submodules import submodules_of

from .conftest import git, new_repository, write


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "tree", {"a.txt": "1\n", "inner/b.txt": "2\n", "inner/empty/c.txt": ""})
    (tmp_path / "tree/link").symlink_to("a.txt")
    (tmp_path / "index").write_text("index")
    return tmp_path / "tree"


def looks(folder: Path) -> bytes | None:
    return looks_of(folder, folder.parent / "index")


def touch_back(path: Path) -> None:
    """Other content of the same size, with the old times."""
    status = path.stat()
    path.write_text("9\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


CHANGES: dict[str, Callable[[Path], object]] = {
    "written": lambda folder: (folder / "a.txt").write_text("3\n"),
    "its times put back": lambda folder: touch_back(folder / "inner/b.txt"),
    "made": lambda folder: (folder / "inner/empty/new").touch(),
    "removed": lambda folder: (folder / "a.txt").unlink(),
    "moved": lambda folder: (folder / "a.txt").rename(folder / "inner/a.txt"),
    "mode": lambda folder: (folder / "a.txt").chmod(0o755),
    "link": lambda folder: ((folder / "link").unlink(), (folder / "link").symlink_to("inner")),
    "index": lambda folder: (folder.parent / "index").write_text("other"),
    "folder": lambda folder: shutil.rmtree(folder / "inner"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_is_changed_shows(folder, change):
    before = looks(folder)
    assert before is not None
    assert looks(folder) == before
    time.sleep(0.02)  # older kernels count a file's times in ticks
    CHANGES[change](folder)
    assert looks(folder) != before


def test_of_what_is_large_or_gone_nothing_is_known(folder, monkeypatch):
    monkeypatch.setattr(saves, "MOST_FILES", 5)
    assert looks(folder) is None
    assert looks(folder / "gone") is None


def test_what_was_saved_is_known_while_it_is_young_and_looks_the_same(tmp_path):
    now = 0.0
    kept = Saves(lambda: now)
    kept.keep(tmp_path, b"looks", "tree")
    assert kept.of(tmp_path, b"looks") == "tree"
    assert kept.of(tmp_path, b"other") is None
    assert kept.of(tmp_path / "other", b"looks") is None
    now = YOUNG_S + 1
    assert kept.of(tmp_path, b"looks") is None
    kept.keep(tmp_path, None, "tree")
    assert kept.of(tmp_path, None) is None


async def test_the_submodules_of_an_index_that_changes_are_asked_for_again(tmp_path):
    inner = new_repository(tmp_path / "inner", {"in.txt": "1\n"})
    repo = new_repository(tmp_path / "repo", {"a.txt": "1\n"})
    known = Git(repo, repo / ".git")
    assert await submodules_of(known) == {}
    git(repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "sub")
    assert await submodules_of(known) == {"sub": git(inner, "rev-parse", "HEAD")}
    shutil.copy2(repo / ".git/index", tmp_path / "aside")
    git(repo, "rm", "--quiet", "--force", "sub")
    assert await submodules_of(known) == {}
    assert list(await submodules_of(Git(repo, repo / ".git", index=tmp_path / "aside"))) == ["sub"]
