from __future__ import annotations

from pathlib import Path

import pytest

from sylk_ray.errors import InputError
from sylk_ray.tools import ActionFailed, ToolContext, perform
from sylk_ray.tools.reading import git_directories, hint_for
from sylk_ray.tools.specs import Run, Sandbox

from .conftest import MakeContext, git


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs/notes.txt").write_text("private\n")
    return tmp_path / "theirs"


async def test_a_persons_files_cannot_be_read_nor_listed_nor_run(context: ToolContext, theirs: Path) -> None:
    (theirs / "program").write_bytes(Path("/bin/echo").read_bytes())
    (theirs / "program").chmod(0o755)
    result = await context.run(f"cat {theirs}/notes.txt; ls {theirs}; ls {Path.home()}; ls /; {theirs}/program private")
    assert result.exit_code == 126
    assert result.output.count("ermission denied") == 5
    assert "private" not in result.output.splitlines()
    assert "notes.txt" not in result.output.replace(f"{theirs}/notes.txt", "")


async def test_neither_links_nor_proc_nor_a_disk_lead_to_them(context: ToolContext, theirs: Path) -> None:
    (context.worktree / "link").symlink_to(theirs / "notes.txt")
    file = theirs / "notes.txt"
    ways = ["cat link", f"ln {file} hard", f"cat /proc/self/root{file}", f"cat < {file}", "cat /proc/$PPID/environ"]
    ways += [f"head -c 1 {disk}" for disk in Path("/dev").iterdir() if disk.is_block_device()]
    for way in ways:
        result = await context.run(way)
        refusal = "cross-device" if way.startswith("ln") else "ermission denied"
        assert (result.exit_code != 0, refusal in result.output) == (True, True), way
        assert "private" not in result.output.splitlines()


async def test_what_tools_need_stays_readable(context: ToolContext) -> None:
    commands = (
        "ls /usr/bin > /dev/null && cat /etc/hostname /proc/self/status > /dev/null && head -c 1 /dev/urandom > x"
    )
    result = await context.run(f"{commands} && python3 -c 'import json, ssl' && ls $TMPDIR $HOME && ls . && cat x > y")
    assert (result.exit_code, result.hint) == (0, "")


async def test_git_looks_in_a_worktree_and_changes_nothing(context: ToolContext, tmp_path: Path) -> None:
    (context.worktree / "new.txt").touch()
    looks = await context.run("git status --short && git diff && git log --format=%s && git show --stat HEAD")
    assert (looks.exit_code, "?? new.txt" in looks.output, "first" in looks.output) == (0, True, True)
    changes = await context.run("git add new.txt; git config x.y z; echo x > $(git rev-parse --git-common-dir)/hooks/x")
    assert changes.output.count("ermission denied") >= 3
    assert not (tmp_path / "repository/.git/hooks/x").exists()


async def test_what_a_worktree_says_is_its_repository_is_not_believed(context: ToolContext, theirs: Path) -> None:
    git(theirs, "init", "-q")
    git(theirs, "commit", "-q", "--allow-empty", "-m", "private")
    (context.worktree / ".git").write_text(f"gitdir: {theirs}/.git\n")
    result = await context.run("git log")
    assert result.exit_code != 0
    assert "private" not in result.output


async def test_a_repository_without_its_own_objects_can_be_read(make_context: MakeContext, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--shared", "repository", "borrower")
    git(tmp_path / "borrower", "worktree", "add", "-q", "-b", "work", "../second")
    context = make_context(worktree=tmp_path / "second", repository=tmp_path / "borrower")
    assert git_directories(tmp_path / "second") == git_directories(tmp_path / "borrower")
    assert git_directories(tmp_path / "borrower")[1] == tmp_path / "repository/.git"
    assert (await context.run("git log --format=%s")).output == "first\n"
    git(tmp_path, "clone", "-q", "--bare", "repository", "bare.git")
    assert git_directories(tmp_path / "bare.git") == (tmp_path / "bare.git",)


async def test_a_job_grants_what_else_may_be_read(make_context: MakeContext, theirs: Path) -> None:
    context = make_context(sandbox=Sandbox(read=(str(theirs),)))
    result = await context.run(f"cat {theirs}/notes.txt; echo x > {theirs}/notes.txt")
    assert result.output.startswith("private\n")
    assert "ermission denied" in result.output
    assert (theirs / "notes.txt").read_text() == "private\n"


async def test_granting_what_is_not_there_is_an_error(make_context: MakeContext) -> None:
    with pytest.raises(InputError, match=r"sandbox\.read grants /no/such/folder"):
        await make_context(sandbox=Sandbox(read=("/no/such/folder",))).run("true")


async def test_what_was_refused_comes_with_how_to_grant_it(context: ToolContext, theirs: Path) -> None:
    grant = f"sandbox: {{read: [{theirs}/notes.txt]}}"
    for command in (f"cat {theirs}/notes.txt", f"python3 -c 'open(\"{theirs}/notes.txt\")'"):
        assert grant in (await context.run(command)).hint
        with pytest.raises(ActionFailed) as failed:
            await perform(Run(command=command), context)
        assert grant in failed.value.hint


async def test_a_grant_that_the_tool_itself_removes_does_not_cost_what_it_said(
    make_context: MakeContext, theirs: Path
) -> None:
    context = make_context(sandbox=Sandbox(write=("build",)))
    (context.worktree / "build").mkdir()
    result = await context.run(f"cat {theirs}/notes.txt; rmdir build; exit 3")
    assert (result.exit_code, "ermission denied" in result.output) == (3, True)
    assert f"sandbox: {{read: [{theirs}/notes.txt]}}" in result.hint


@pytest.mark.parametrize(
    "line",
    [
        "cat: {}: Permission denied",
        "PermissionError: [Errno 13] Permission denied: '{}'",
        "/bin/sh: 1: cannot open {}: Permission denied",
        'error: could not open "{}": permission denied (os error 13)',
    ],
)
def test_paths_are_found_as_programs_tell_them(line: str, theirs: Path) -> None:
    file = theirs / "notes.txt"
    assert str(file) in hint_for(line.format(file), [])
    assert hint_for(line.format(file), [theirs, Path("/bin")]) == ""
    assert hint_for(line.format(theirs / "nothing"), [Path("/bin")]) == ""
    assert hint_for(f"{file}: No such file", []) == ""


def test_the_state_directory_is_not_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "token").touch()
    monkeypatch.setenv("SYLK_HOME", str(tmp_path))
    assert hint_for(f"cat: {tmp_path}/token: Permission denied", []) == ""
