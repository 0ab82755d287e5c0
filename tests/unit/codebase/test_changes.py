"""What changed since it was remembered."""

from __future__ import annotations

import os
from pathlib import Path

from sylk_ray.codebase.changes import RACY_NS, Changes, Stamp, changes
from sylk_ray.codebase.selection import Selection

LATER = RACY_NS * 1000
"""Nanoseconds: long after anything was written."""


def looked_at(root: Path, remembered: dict[str, Stamp], only: list[str] | None = None) -> Changes:
    newest = max((file.stat().st_mtime_ns for file in root.rglob("*")), default=0)
    return changes(Selection(root), remembered, only=only, now_ns=lambda: newest + LATER)


def test_added_changed_and_removed_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("a = 1\n")
    (tmp_path / "b.py").write_text("b = 1\n")
    first = looked_at(tmp_path, {})
    assert (first.added, first.changed, first.removed) == (("a.py", "b.py"), (), ())
    (tmp_path / "a.py").write_text("a = 22\n")
    (tmp_path / "b.py").unlink()
    (tmp_path / "c.py").write_text("c = 1\n")
    second = looked_at(tmp_path, first.stamps)
    assert (second.added, second.changed, second.removed) == (("c.py",), ("a.py",), ("b.py",))
    assert sorted(second.stamps) == ["a.py", "c.py"]
    assert not looked_at(tmp_path, second.stamps)


def test_a_file_that_was_only_touched_is_the_same(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("a = 1\n")
    first = looked_at(tmp_path, {})
    os.utime(tmp_path / "a.py", ns=(5, 5))
    second = looked_at(tmp_path, first.stamps)
    assert not second
    assert second.stamps["a.py"].mtime_ns == 5


def test_a_file_of_the_same_size_and_time_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("a = 1\n")
    os.utime(tmp_path / "a.py", ns=(5, 5))
    first = looked_at(tmp_path, {})
    (tmp_path / "a.py").write_text("a = 2\n")
    os.utime(tmp_path / "a.py", ns=(5, 5))
    assert not looked_at(tmp_path, first.stamps)


def test_a_change_in_the_tick_of_the_look_is_seen_by_the_next(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("a = 1\n")
    os.utime(tmp_path / "a.py", ns=(5, LATER))
    first = changes(Selection(tmp_path), {}, now_ns=lambda: LATER + 1)
    (tmp_path / "a.py").write_text("a = 2\n")
    os.utime(tmp_path / "a.py", ns=(5, LATER))
    second = changes(Selection(tmp_path), first.stamps, now_ns=lambda: 2 * LATER)
    assert second.changed == ("a.py",)
    third = changes(Selection(tmp_path), second.stamps, now_ns=lambda: 3 * LATER)
    assert not third
    assert third.stamps["a.py"].mtime_ns == LATER


def test_a_file_that_moved_is_told_as_renamed_too(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("a = 1\n")
    (tmp_path / "empty.py").write_text("")
    first = looked_at(tmp_path, {})
    (tmp_path / "a.py").rename(tmp_path / "z.py")
    (tmp_path / "empty.py").rename(tmp_path / "y.py")
    second = looked_at(tmp_path, first.stamps)
    assert second.renamed == (("a.py", "z.py"),)
    assert (second.added, second.removed) == (("y.py", "z.py"), ("a.py", "empty.py"))


def test_what_ceases_to_count_is_removed_and_comes_back(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("a = 1\n")
    first = looked_at(tmp_path, {})
    (tmp_path / "a.py").write_bytes(b"a = 1\0\n")
    second = looked_at(tmp_path, first.stamps)
    assert (second.added, second.changed, second.removed) == ((), (), ("a.py",))
    (tmp_path / "a.py").write_text("a = 12\n")
    assert looked_at(tmp_path, second.stamps).added == ("a.py",)


def test_an_ignore_file_removes_what_it_names(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("a = 1\n")
    first = looked_at(tmp_path, {})
    (tmp_path / ".gitignore").write_text("a.py\n")
    second = looked_at(tmp_path, first.stamps)
    assert (second.added, second.removed) == ((".gitignore",), ("a.py",))


def test_only_some_paths_are_looked_at_and_folders_stand_for_what_is_in_them(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    for path in ("old/a.py", "old/b.py", "c.py"):
        (tmp_path / path).write_text(f"# {path}\n")
    first = looked_at(tmp_path, {})
    (tmp_path / "old").rename(tmp_path / "new")
    (tmp_path / "c.py").write_text("# another\n")
    second = looked_at(tmp_path, first.stamps, only=["old", "new"])
    assert (second.added, second.removed, second.changed) == (("new/a.py", "new/b.py"), ("old/a.py", "old/b.py"), ())
    assert looked_at(tmp_path, second.stamps, only=["c.py", "never.py"]).changed == ("c.py",)
