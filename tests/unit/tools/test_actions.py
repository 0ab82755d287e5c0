from __future__ import annotations

import asyncio
import stat
from pathlib import Path

import pytest

from sylk_ray.tools import (
    ActionFailed,
    ChangesProtected,
    ConfinementUnavailable,
    NothingChanged,
    PathRefused,
    ToolContext,
    ToolMissing,
    perform,
)
from sylk_ray.tools.specs import Delete, Edit, Limits, Patch, Run, Write

from .conftest import MakeContext, unconfinable

DIFF = "--- a/x.txt\n+++ b/x.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+zwei\n"


@pytest.fixture
def x(worktree: Path) -> Path:
    path = worktree / "x.txt"
    path.write_text("one\ntwo\n")
    return path


async def test_edit_replaces_one_text_and_keeps_all_else(context: ToolContext, worktree: Path) -> None:
    path = worktree / "größe 1.txt"
    path.write_bytes("a\r\nbé\r\nc".encode())
    path.chmod(0o755)

    result = await perform(Edit(path="größe 1.txt", old="a\nbé", new="1\n2\n3"), context)

    assert path.read_bytes() == b"1\r\n2\r\n3\r\nc"
    assert path.stat().st_mode & 0o777 == 0o755
    assert result.files_changed == ("größe 1.txt",)
    assert [each.name for each in worktree.iterdir() if each.name.startswith(".sylk")] == []


@pytest.mark.parametrize("old", ["two", "two\r\n"])
async def test_an_edit_of_a_file_with_windows_line_endings_leaves_no_other_ones(
    context: ToolContext, worktree: Path, old: str
) -> None:
    (worktree / "w.txt").write_bytes(b"one\r\ntwo\r\n")

    await perform(Edit(path="w.txt", old=old, new=f"{old}\nthree"), context)

    assert b"\n" not in (worktree / "w.txt").read_bytes().replace(b"\r\n", b"")
    assert b"three" in (worktree / "w.txt").read_bytes()


async def test_edit_refuses_a_text_that_is_absent_or_not_unique(context: ToolContext, x: Path) -> None:
    x.write_text("one\none\ntwo\n")

    with pytest.raises(ActionFailed, match="lines 1, 2"):
        await perform(Edit(path="x.txt", old="one", new="1"), context)
    with pytest.raises(ActionFailed, match=r"not in x\.txt") as absent:
        await perform(Edit(path="x.txt", old="tow", new="1"), context)
    assert absent.value.hint.endswith("The nearest is:\n    3 two")
    with pytest.raises(ActionFailed, match="not a file") as missing:
        await perform(Edit(path="xx.txt", old="one", new="1"), context)
    assert "x.txt" in missing.value.hint
    assert x.read_text() == "one\none\ntwo\n"


async def test_edit_that_changes_nothing_says_so(context: ToolContext, x: Path) -> None:
    with pytest.raises(NothingChanged):
        await perform(Edit(path="x.txt", old="one", new="one"), context)

    done_before = await perform(Edit(path="x.txt", old="uno", new="one", allow_no_change=True), context)

    assert done_before.files_changed == ()


async def test_edit_refuses_what_is_not_utf8(context: ToolContext, x: Path) -> None:
    x.write_bytes(b"caf\xe9")

    with pytest.raises(ActionFailed, match="byte 3 is 0xe9"):
        await perform(Edit(path="x.txt", old="caf", new="x"), context)


async def test_write_makes_folders_and_keeps_the_mode(context: ToolContext, worktree: Path) -> None:
    await perform(Write(path="a/b/c.sh", content="#!/bin/sh\r\n", executable=True), context)
    await perform(Write(path="a/b/c.sh", content="new"), context)
    await perform(Write(path="plain", content=""), context)

    assert (worktree / "a/b/c.sh").read_bytes() == b"new"
    assert (worktree / "a/b/c.sh").stat().st_mode & stat.S_IXUSR
    assert not (worktree / "plain").stat().st_mode & stat.S_IXUSR


async def test_write_of_the_same_content_changes_nothing(context: ToolContext, x: Path) -> None:
    with pytest.raises(NothingChanged):
        await perform(Write(path="x.txt", content="one\ntwo\n"), context)
    again = await perform(Write(path="x.txt", content="one\ntwo\n", allow_no_change=True), context)
    executable = await perform(Write(path="x.txt", content="one\ntwo\n", executable=True), context)

    assert again.files_changed == ()
    assert executable.files_changed == ("x.txt",)


async def test_write_over_a_folder_or_through_a_file_is_refused(context: ToolContext, x: Path) -> None:
    (context.worktree / "folder").mkdir()

    with pytest.raises(ActionFailed, match="is a folder"):
        await perform(Write(path="folder", content=""), context)
    with pytest.raises(ActionFailed, match="cannot be written"):
        await perform(Write(path="x.txt/y", content=""), context)
    with pytest.raises(PathRefused):
        await perform(Write(path="../y", content=""), context)


async def test_delete_takes_files_links_and_folders(context: ToolContext, x: Path, worktree: Path) -> None:
    (worktree / "d/e").mkdir(parents=True)
    (worktree / "d/e/f").touch()
    (worktree / "link").symlink_to("x.txt")

    link = await perform(Delete(path="link"), context)
    folder = await perform(Delete(path="d"), context)

    assert (link.files_changed, folder.files_changed) == (("link",), ("d/e/f",))
    assert x.exists()
    assert not (worktree / "d").exists()
    with pytest.raises(NothingChanged):
        await perform(Delete(path="d"), context)
    with pytest.raises(PathRefused):
        await perform(Delete(path="."), context)


@pytest.mark.parametrize(
    "action",
    [Write(path="x.txt", content=""), Delete(path="x.txt"), Patch(diff=DIFF)],
    ids=lambda each: each.kind,
)
async def test_changes_of_others_are_not_discarded(
    make_context: MakeContext, x: Path, action: Write | Delete | Patch
) -> None:
    context = make_context(protected=frozenset({"x.txt"}))

    with pytest.raises(ChangesProtected, match=r"x\.txt"):
        await perform(action, context)

    assert x.read_text() == "one\ntwo\n"
    await perform(Edit(path="x.txt", old="one", new="1"), context)


async def test_a_folder_with_changes_of_others_is_not_deleted(make_context: MakeContext, worktree: Path) -> None:
    (worktree / "d").mkdir()
    (worktree / "d/f").touch()

    with pytest.raises(ChangesProtected, match="d/f"):
        await perform(Delete(path="d"), make_context(protected=frozenset({"d/f"})))


async def test_patch_applies_and_knows_when_it_was_applied(context: ToolContext, x: Path) -> None:
    result = await perform(Patch(diff=DIFF), context)

    assert x.read_text() == "one\nzwei\n"
    assert result.files_changed == ("x.txt",)
    with pytest.raises(NothingChanged):
        await perform(Patch(diff=DIFF), context)
    await perform(Patch(diff=DIFF, allow_no_change=True), context)


async def test_patch_makes_renames_and_deletes_files(context: ToolContext, x: Path, worktree: Path) -> None:
    (worktree / "gone").write_text("old\n")
    diff = (
        "diff --git a/x.txt b/sub/ü.txt\nsimilarity index 100%\nrename from x.txt\n"
        'rename to "sub/\\303\\274.txt"\n'
        "diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n"
        "diff --git a/made b/made\nnew file mode 100755\n--- /dev/null\n+++ b/made\n@@ -0,0 +1 @@\n+new\n"
    )

    result = await perform(Patch(diff=diff), context)

    assert (worktree / "sub/ü.txt").read_text() == "one\ntwo\n"
    assert (worktree / "made").read_text() == "new\n"
    assert not (worktree / "gone").exists()
    assert result.files_changed == ("gone", "made", "sub/ü.txt", "x.txt")


async def test_a_patch_that_could_not_be_tried_is_not_one_that_does_not_fit(
    context: ToolContext, x: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unconfinable(monkeypatch)
    with pytest.raises(ConfinementUnavailable, match="/no/such/folder"):
        await perform(Patch(diff=DIFF), context)


async def test_patch_applies_whole_or_not_at_all(context: ToolContext, x: Path, worktree: Path) -> None:
    bad = DIFF + "--- a/y.txt\n+++ b/y.txt\n@@ -1 +1 @@\n-no\n+yes\n"

    with pytest.raises(ActionFailed, match="nothing was changed"):
        await perform(Patch(diff=bad), context)
    with pytest.raises(ActionFailed, match="does not apply"):
        await perform(Patch(diff="this is no diff"), context)

    assert x.read_text() == "one\ntwo\n"


@pytest.mark.parametrize(
    "diff",
    [
        "--- /dev/null\n+++ b/../out\n@@ -0,0 +1 @@\n+x\n",
        "--- /dev/null\n+++ b/.git/hooks/post-checkout\n@@ -0,0 +1 @@\n+x\n",
        "diff --git a/x.txt b/x.txt\nrename from x.txt\nrename to ../out\n",
        '--- /dev/null\n+++ "b/\\056\\056/out"\n@@ -0,0 +1 @@\n+x\n',
        "--- /dev/null\n+++ b/way/out.txt\n@@ -0,0 +1 @@\n+x\n",
        "diff --git a/../out b/../out\nnew file mode 100644\n",
    ],
)
async def test_patch_does_not_leave_the_worktree(context: ToolContext, x: Path, tmp_path: Path, diff: str) -> None:
    (context.worktree / "way").symlink_to(tmp_path)

    with pytest.raises(PathRefused):
        await perform(Patch(diff=diff), context)


async def test_lines_that_look_like_headers_are_only_lines(context: ToolContext, x: Path) -> None:
    x.write_text("-- ../old\nend\n")
    diff = "--- a/x.txt\n+++ b/x.txt\n@@ -1,2 +1,2 @@\n--- ../old\n+++ ../new\n end\n"

    await perform(Patch(diff=diff), context)

    assert x.read_text() == "++ ../new\nend\n"


async def test_a_worktrees_git_configuration_is_not_obeyed_by_patch(
    context: ToolContext, x: Path, tmp_path: Path
) -> None:
    (context.worktree / ".git").unlink()
    (context.worktree / ".git").write_text("gitdir: /nowhere\n")

    await perform(Patch(diff=DIFF), context)

    assert x.read_text() == "one\nzwei\n"


async def test_run_tells_which_files_changed(context: ToolContext, x: Path) -> None:
    (context.worktree / ".gitignore").write_text("*.log\n")

    result = await perform(Run(command="echo 3 >> x.txt; touch new debug.log; echo done"), context)

    assert result.files_changed == ("new", "x.txt")
    assert result.output == "done\n"
    with pytest.raises(NothingChanged):
        await perform(Run(command="true", allow_no_change=False), context)


async def test_what_tools_leave_beside_the_work_is_no_change(context: ToolContext) -> None:
    caches = (".ruff_cache", ".mypy_cache", ".pytest_cache", ".hypothesis", "pkg/__pycache__", "node_modules")
    command = f"mkdir -p {' '.join(caches)}; for each in {' '.join(caches)}; do touch $each/x; done; touch y"
    assert (await perform(Run(command=command), context)).files_changed == ("y",)


async def test_a_failing_run_shows_its_last_output(context: ToolContext) -> None:
    with pytest.raises(ActionFailed, match=r"exit code 3(?s:.*)oh no"):
        await perform(Run(command="echo oh no; exit 3"), context)
    with pytest.raises(ActionFailed, match=r"exit code 4; there was no output$"):
        await perform(Run(command="exit 4"), context)
    result = await perform(Run(command=("sh", "-c", "exit 3"), ok_exit_codes=(0, 3)), context)

    assert "exit code 3" in result.summary


@pytest.mark.parametrize(
    ("command", "limit"),
    [("sleep 100", "time limit of 0.2 s"), ("head -c 9000000 /dev/zero > x", "disk limit of 4 MB")],
)
async def test_a_run_that_hits_a_limit_says_which(make_context: MakeContext, command: str, limit: str) -> None:
    context = make_context(limits=Limits(disk_mb=4))

    with pytest.raises(ActionFailed, match=limit):
        await perform(Run(command=command, timeout_s=0.2 if "sleep" in command else 20), context)


async def test_a_missing_tool_stays_a_missing_tool(context: ToolContext) -> None:
    with pytest.raises(ToolMissing, match="not-there"):
        await perform(Run(command="not-there"), context)


async def test_a_cancelled_action_is_whole_or_was_not_begun(context: ToolContext) -> None:
    task = asyncio.create_task(perform(Write(path="a", content="x" * 100_000), context))
    await asyncio.wait({task}, timeout=0)

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert (context.worktree / "a").read_text() == "x" * 100_000


@pytest.mark.parametrize(("old", "near"), [("value_44 = f(45)", "value_44 = f(44)"), ("tow", "two")])
async def test_in_a_long_file_the_nearest_lines_are_found_too(
    context: ToolContext, x: Path, old: str, near: str
) -> None:
    x.write_text("".join(f"value_{number} = f({number})\n" for number in range(15_000)) + "two\n")
    with pytest.raises(ActionFailed) as absent:
        await perform(Edit(path="x.txt", old=old, new="1"), context)
    assert f" {near}" in absent.value.hint
