"""One file, noted before a tool that writes it, and put back after one that was cut off."""

from __future__ import annotations

from pathlib import Path

import pytest

from sylk_ray.tools.held import LARGEST, held, is_held, put_back


@pytest.fixture
def worktree(tmp_path: Path) -> Path:
    worktree = tmp_path / "worktree"
    (worktree / "sub").mkdir(parents=True)
    return worktree


def test_a_file_is_put_back_with_its_bytes_and_its_mode(worktree: Path) -> None:
    file = worktree / "sub/run.sh"
    file.write_bytes(b"\xff\0\r\n")
    file.chmod(0o755)
    mark = held(worktree, "./sub/run.sh")
    file.write_bytes(b"other")
    put_back(worktree, mark)
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (b"\xff\0\r\n", 0o755)


@pytest.mark.parametrize("written", [True, False])
def test_where_there_was_none_there_is_none_again(worktree: Path, written: bool) -> None:
    mark = held(worktree, "new/deep/a.py")
    if written:
        (worktree / "new/deep").mkdir(parents=True)
        (worktree / "new/deep/a.py").write_text("x")
    put_back(worktree, mark)
    assert not (worktree / "new/deep/a.py").exists()


def test_what_a_write_has_left_half_done_is_removed_and_nothing_else(worktree: Path) -> None:
    (worktree / "sub/a.py").write_text("x")
    mark = held(worktree, "sub/a.py")
    for name in (".sylk-0123456789abcdef", ".sylk-demo", "b.py"):
        (worktree / "sub" / name).write_text("half")
    (worktree / "sub/.sylk-fedcba9876543210").mkdir()
    put_back(worktree, mark)
    left = sorted(each.name for each in (worktree / "sub").iterdir())
    assert left == [".sylk-demo", ".sylk-fedcba9876543210", "a.py", "b.py"]


@pytest.mark.parametrize("path", ["new.py", "new/a.py"])
def test_what_others_have_put_in_its_way_stays(worktree: Path, tmp_path: Path, path: str) -> None:
    mark = held(worktree, path)
    (worktree / "new.py").mkdir()
    (worktree / "new.py/mine").write_text("x")
    (worktree / "new").symlink_to(tmp_path)
    (tmp_path / "a.py").write_text("x")
    put_back(worktree, mark)
    assert (worktree / "new.py/mine").read_text() == (tmp_path / "a.py").read_text() == "x"


def test_what_is_no_small_file_of_its_own_is_not_noted(worktree: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s")
    (worktree / "large").write_bytes(b"x" * (LARGEST + 1))
    (worktree / "link.py").symlink_to("sub/a.py")
    (worktree / "out").symlink_to(tmp_path)
    for path in ("sub", "large", "link.py", "out/secret", "../secret", str(tmp_path / "secret"), "", ".env"):
        assert held(worktree, path) == "", path


def test_a_note_is_told_from_a_tree(worktree: Path) -> None:
    assert is_held(held(worktree, "a.py"))
    assert not is_held("4b825dc642cb6eb9a060e54bf8d69288fbee4904")
