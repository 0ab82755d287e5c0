from __future__ import annotations

from pathlib import Path

import pytest

from sylk_ray.tools import PathRefused
from sylk_ray.tools.paths import files_matching, matches, name_of, resolve


@pytest.mark.parametrize(
    "path",
    [
        "../x",
        "a/../../x",
        "a/..",
        "/etc/passwd",
        ".git",
        ".git/config",
        "a/.git/hooks",
        ".GIT/x",
        "",
        ".",
        "a\0b",
    ],
)
def test_a_path_that_leaves_or_touches_git_is_refused(worktree: Path, path: str) -> None:
    with pytest.raises(PathRefused) as refused:
        resolve(worktree, path)

    assert refused.value.hint


def test_a_link_that_leads_out_is_refused_and_one_that_stays_is_not(worktree: Path, tmp_path: Path) -> None:
    (worktree / "out").symlink_to(tmp_path)
    (worktree / "to_git").symlink_to(".git")
    (worktree / "folder").mkdir()
    (worktree / "inside").symlink_to("folder")

    for path in ("out", "out/new.txt", "to_git"):
        with pytest.raises(PathRefused):
            resolve(worktree, path)
    assert resolve(worktree, "inside/new.txt") == worktree / "inside/new.txt"


def test_a_loop_of_links_is_refused(worktree: Path) -> None:
    (worktree / "a").symlink_to("b")
    (worktree / "b").symlink_to("a")

    with pytest.raises(PathRefused):
        resolve(worktree, "a/x")


def test_names_with_spaces_and_other_alphabets_are_fine(worktree: Path) -> None:
    (worktree / "größe und maß").mkdir()
    (worktree / "größe und maß/ファイル.py").touch()

    assert files_matching(worktree, "größe*/**/*.py") == ("größe und maß/ファイル.py",)
    assert resolve(worktree, "größe und maß/ファイル.py").is_file()


@pytest.mark.parametrize(
    ("glob", "path", "expected"),
    [
        ("**", "a/b/c.txt", True),
        ("src/**/*.py", "src/a.py", True),
        ("src/**/*.py", "src/a/b/c.py", True),
        ("src/**/*.py", "lib/src/a.py", False),
        ("*.py", "deep/down/a.py", True),
        ("docs/*.md", "docs/a/b.md", False),
        ("docs", "docs/a/b.md", True),
    ],
)
def test_globs_mean_what_they_mean_to_git(glob: str, path: str, expected: bool) -> None:
    assert matches(glob, path) is expected


def test_files_are_found_without_links_and_without_git(worktree: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.py").touch()
    (worktree / "out").symlink_to(tmp_path)
    (worktree / "link.py").symlink_to(tmp_path / "secret.py")
    (worktree / "own.py").touch()
    (worktree / "sub/.git").mkdir(parents=True)
    (worktree / "sub/.git/hook.py").touch()

    assert files_matching(worktree, "**") == ("own.py",)
    assert files_matching(worktree, ("**", "!own.py")) == ()


def test_a_printed_path_becomes_relative(worktree: Path) -> None:
    assert name_of(worktree, str(worktree / "a/b.py")) == "a/b.py"
    assert name_of(worktree, "./a.py") == "a.py"
    assert name_of(worktree, "/elsewhere/a.py") == "/elsewhere/a.py"
