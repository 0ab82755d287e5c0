"""Links that are swapped between a look and an act, by a thread that does nothing else."""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from sylk_ray.errors import SylkError
from sylk_ray.thinking import IN_A_WORKTREE, Bench, Toolbox
from sylk_ray.tools import ActionFailed, PathRefused, ToolContext, perform
from sylk_ray.tools.beneath import delete_beneath, read_beneath, read_own, write_beneath
from sylk_ray.tools.paths import walk
from sylk_ray.tools.specs import Patch

SECONDS = 1.5
SECRET = b"private"
AT_FDCWD, EXCHANGE = -100, 2


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / "file.txt").write_bytes(SECRET)
    return folder


@contextmanager
def swapping(place: Path, target: Path) -> Iterator[None]:
    """The place is now the folder or file that it was, now a link to the target, and at no time nothing."""
    over = threading.Event()
    other = place.with_name("other")
    other.symlink_to(target)
    libc = ctypes.CDLL(None)

    def swap() -> None:
        while not over.is_set():
            libc.renameat2(AT_FDCWD, bytes(place), AT_FDCWD, bytes(other), EXCHANGE)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def again_and_again(act: Callable[[], object]) -> int:
    """How often it was done for as long as the swapping may take; refusals are what we want."""
    done, until = 0, time.monotonic() + SECONDS
    while time.monotonic() < until:
        with suppress(SylkError, OSError):
            act()
            done += 1
    return done


@pytest.mark.parametrize("swapped", ["folder", "folder/file.txt"])
def test_nothing_is_read_through_a_link_that_was_put_in_the_way(worktree: Path, theirs: Path, swapped: str) -> None:
    (worktree / "folder").mkdir()
    (worktree / "folder/file.txt").write_bytes(b"ours")
    target = theirs if swapped == "folder" else theirs / "file.txt"
    seen: set[bytes] = set()
    with swapping(worktree / swapped, target):
        assert again_and_again(lambda: seen.add(read_beneath(worktree, "folder/file.txt"))) > 0
    assert seen == {b"ours"}


@pytest.mark.parametrize("swapped", ["folder", "folder/file.txt"])
def test_nothing_is_written_through_a_link_that_was_put_in_the_way(worktree: Path, theirs: Path, swapped: str) -> None:
    (worktree / "folder").mkdir()
    (worktree / "folder/file.txt").write_bytes(b"ours")
    target = theirs if swapped == "folder" else theirs / "file.txt"
    with swapping(worktree / swapped, target):
        assert again_and_again(lambda: write_beneath(worktree, "folder/file.txt", b"changed")) > 0
        again_and_again(lambda: write_beneath(worktree, "folder/new/file.txt", b"changed"))
    assert list(theirs.iterdir()) == [theirs / "file.txt"]
    assert (theirs / "file.txt").read_bytes() == SECRET


def test_nothing_is_deleted_or_listed_through_a_link_that_was_put_in_the_way(worktree: Path, theirs: Path) -> None:
    (worktree / "folder").mkdir()
    (theirs / "only theirs").mkdir()
    (theirs / "only theirs/file").touch()
    seen: set[str] = set()

    def act() -> None:
        with suppress(OSError):
            delete_beneath(worktree, "folder/file.txt")
        with suppress(OSError):
            delete_beneath(worktree, "folder/only theirs")
        seen.update(walk(worktree))

    with swapping(worktree / "folder", theirs):
        assert again_and_again(act) > 0
    assert (theirs / "only theirs/file").exists()
    assert (theirs / "file.txt").exists()
    assert not any("only theirs" in name for name in seen)


@pytest.mark.parametrize("tool", ["patch", "search"])
async def test_programs_that_take_paths_are_held_by_the_kernel(
    context: ToolContext, worktree: Path, theirs: Path, tool: str
) -> None:
    (worktree / "folder").mkdir()
    (worktree / "folder/file.txt").write_text("ours\n")
    (theirs / "file.txt").write_text("ours\nprivate\n")
    diff = "--- a/folder/file.txt\n+++ b/folder/file.txt\n@@ -1 +1 @@\n-ours\n+changed\n"
    toolbox = Toolbox(IN_A_WORKTREE, frozenset({"filesystem.read"}), Bench(context))
    until, told = time.monotonic() + SECONDS, ""
    with swapping(worktree / "folder", theirs):
        while time.monotonic() < until:
            if tool == "patch":
                with suppress(SylkError, OSError):
                    await perform(Patch(diff=diff, allow_no_change=True), context)
            else:
                told += (await toolbox.use("search_files", {"pattern": "ours|private"})).text
    assert (theirs / "file.txt").read_text() == "ours\nprivate\n"
    assert "file.txt:2: private" not in told


def test_links_within_the_worktree_are_followed_once(worktree: Path) -> None:
    (worktree / "real").mkdir()
    (worktree / "real/file.txt").write_bytes(b"1")
    (worktree / "real/file.txt").chmod(0o640)
    (worktree / "folder").symlink_to("real")
    (worktree / "absolute").symlink_to(worktree / "real/file.txt")
    write_beneath(worktree, "folder/file.txt", b"2")
    assert read_beneath(worktree, "absolute") == b"2"
    assert (worktree / "real/file.txt").stat().st_mode & 0o777 == 0o640
    delete_beneath(worktree, "absolute")
    assert read_beneath(worktree, "folder/file.txt") == b"2"


def test_what_is_no_file_holds_nobody_up(worktree: Path) -> None:
    os.mkfifo(worktree / "pipe")
    (worktree / "folder").mkdir()
    (worktree / "zero").symlink_to("/dev/zero")
    (worktree / "huge").touch()
    os.truncate(worktree / "huge", 1 << 40)
    for name in ("pipe", "folder", "zero"):
        with pytest.raises(PathRefused):
            read_beneath(worktree, name)
    with pytest.raises(ActionFailed, match="larger than 64 MB"):
        read_beneath(worktree, "huge")


def test_a_report_that_is_a_link_is_not_read(tmp_path: Path, theirs: Path) -> None:
    (tmp_path / "report.json").symlink_to(theirs / "file.txt")
    with pytest.raises(PathRefused, match="link"):
        read_own(tmp_path / "report.json")


async def test_a_gitignore_that_leads_to_an_endless_file_holds_nobody_up(context: ToolContext) -> None:
    (context.worktree / ".gitignore").symlink_to("/dev/zero")
    toolbox = Toolbox(IN_A_WORKTREE, frozenset({"shell", "filesystem.read"}), Bench(context))
    assert (await toolbox.use("run_command", {"command": "echo well"})).text == "exit code 0\nwell"
