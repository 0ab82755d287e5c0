from __future__ import annotations

import asyncio
import os
import shutil
import time
from pathlib import Path

import pytest

from sylk_ray.errors import InputError
from sylk_ray.sessions.repository import inspect_repository
from sylk_ray.sessions.submodules import NestedRepository
from sylk_ray.sessions.workspace import Plan, Workspace

from .conftest import git, new_repository, write


async def do(workspace: Workspace, task: str, files: dict[str, str]) -> tuple[str, str | None]:
    base = await workspace.open_worktree(task)
    write(workspace.directory.worktree(task), files)
    return base, await workspace.snapshot(task, base, f"{task}\n")


def state_of(repo) -> tuple[str, ...]:
    """Everything of the person's that a session must leave alone."""
    return (
        git(repo, "status", "--porcelain=v2", "--branch"),
        git(repo, "stash", "list"),
        git(repo, "for-each-ref", "refs/heads/main", "refs/tags"),
        git(repo, "config", "--list", "--local"),
        git(repo, "ls-files", "--stage"),
    )


async def merge(workspace: Workspace, commit: str, message: str) -> Plan:
    """Plan until a plan can be carried out."""
    while True:
        plan = await workspace.plan_merge(commit, message)
        if plan.commit is None or await workspace.carry_out(plan):
            return plan


async def test_work_becomes_one_commit_on_the_sessions_branch(workspace, repo):
    base, commit = await do(workspace, "greet", {"hello.txt": "hi\n", "one.txt": "2\n"})
    merged = await merge(workspace, commit, "greet\n")
    assert merged.commit == git(repo, "rev-parse", "sylk/demo")
    assert git(repo, "log", "--format=%s", f"{base}..sylk/demo") == "greet"
    assert git(repo, "show", "sylk/demo:hello.txt") == "hi"
    changes = {change.path: change for change in await workspace.changes("greet", base, commit)}
    assert (changes["one.txt"].added_lines, changes["one.txt"].removed) == ([1], 1)
    assert changes["hello.txt"].added == 1


async def test_parallel_work_on_different_files_merges_without_a_merge_commit(workspace, repo):
    (_, first), (_, second) = await asyncio.gather(do(workspace, "a", {"a": "a\n"}), do(workspace, "b", {"b": "b\n"}))
    await merge(workspace, first, "a\n")
    await merge(workspace, second, "b\n")
    assert git(repo, "log", "--format=%s", "main..sylk/demo").split() == ["b", "a"]
    assert git(repo, "rev-list", "--merges", "sylk/demo") == ""


async def test_a_conflict_names_the_files_and_leaves_the_branch(workspace, repo):
    _, first = await do(workspace, "a", {"two words.txt": "a\nX\nc\n"})
    _, second = await do(workspace, "b", {"two words.txt": "a\nY\nc\n"})
    # Both began at the same head.
    git(repo, "update-ref", "refs/heads/sylk/demo", "main")
    merged = await merge(workspace, first, "a\n")
    conflict = await merge(workspace, second, "b\n")
    assert (conflict.commit, conflict.conflicts) == (None, ("two words.txt",))
    assert git(repo, "rev-parse", "sylk/demo") == merged.commit


async def test_no_difference_makes_no_commit(workspace):
    _, commit = await do(workspace, "nothing", {})
    assert commit is None


async def test_caches_of_tools_are_never_committed(workspace, repo):
    base, commit = await do(workspace, "a", {"a.py": "", "__pycache__/a.pyc": "x", ".pytest_cache/v": "x"})
    assert [change.path for change in await workspace.changes("a", base, commit)] == ["a.py"]


async def test_feedback_works_on_top_and_the_task_stays_one_commit(workspace, repo):
    base, commit = await do(workspace, "a", {"a": "wrong\n"})
    write(workspace.directory.worktree("a"), {"rubbish-of-a-tester": "x"})
    await workspace.reset("a", commit)
    assert not (workspace.directory.worktree("a") / "rubbish-of-a-tester").exists()
    write(workspace.directory.worktree("a"), {"a": "right\n"})
    better = await workspace.snapshot("a", base, "a\n")
    await merge(workspace, better, "a\n")
    assert git(repo, "log", "--format=%s", "main..sylk/demo") == "a"
    assert git(repo, "show", "sylk/demo:a") == "right"


async def test_the_persons_checkout_index_branches_and_stash_stay_as_they_are(home, repo):
    write(repo, {"one.txt": "stashed\n"})
    git(repo, "stash")
    write(repo, {"one.txt": "dirty\n", "staged.txt": "s\n", "untracked.txt": "u\n"})
    git(repo, "add", "staged.txt")
    before = state_of(repo)
    workspace = Workspace(home, "s-1", "demo", repo)
    await workspace.create(git(repo, "rev-parse", "HEAD"))
    _, commit = await do(workspace, "a", {"one.txt": "agent\n"})
    await merge(workspace, commit, "a\n")
    await workspace.close()
    assert state_of(repo) == before
    assert (repo / "one.txt").read_text() == "dirty\n"
    assert git(repo, "worktree", "list", "--porcelain").count("worktree ") == 1
    assert git(repo, "for-each-ref", "--format=%(refname)", "refs/heads") == "refs/heads/main\nrefs/heads/sylk/demo"


async def test_a_detached_head_is_where_the_session_starts(home, repo):
    git(repo, "checkout", "-q", "--detach")
    repository = await inspect_repository(repo)
    await Workspace(home, "s-1", "demo", repo).create(repository.head)
    assert git(repo, "rev-parse", "sylk/demo") == repository.head
    assert git(repo, "rev-parse", "--abbrev-ref", "HEAD") == "HEAD"


async def test_a_submodule_is_there_in_the_worktree_and_nothing_is_configured(home, tmp_path):
    library = new_repository(tmp_path / "library", {"lib.py": "x = 1\n"})
    repo = new_repository(tmp_path / "main", {"main.py": "\n"})
    git(repo, "submodule", "add", "-q", str(library), "vendor/library")
    git(repo, "commit", "-qm", "with a submodule")
    before = state_of(repo)
    workspace = Workspace(home, "s-1", "demo", repo)
    await workspace.create(git(repo, "rev-parse", "HEAD"))
    base, commit = await do(workspace, "a", {"main.py": "import lib\n"})
    assert (workspace.directory.worktree("a") / "vendor/library/lib.py").read_text() == "x = 1\n"
    assert [change.path for change in await workspace.changes("a", base, commit)] == ["main.py"]
    await workspace.close()
    assert state_of(repo) == before


async def test_a_repository_without_a_commit_is_a_clear_error(tmp_path):
    git(tmp_path, "init", "-q")
    with pytest.raises(InputError, match="no commit yet"):
        await inspect_repository(tmp_path)


@pytest.mark.parametrize("name", ["nowhere", "."])
async def test_what_is_no_repository_is_a_clear_error(tmp_path, name):
    with pytest.raises(InputError):
        await inspect_repository(tmp_path / name)


async def test_uncommitted_changes_are_told(repo):
    write(repo, {"one.txt": "dirty\n"})
    assert "1 uncommitted change(s)" in (await inspect_repository(repo)).warnings[0]


async def test_a_branch_that_exists_is_a_clear_error_and_stays(home, repo):
    git(repo, "branch", "sylk/demo")
    with pytest.raises(InputError, match="exists already"):
        await Workspace(home, "s-1", "demo", repo).create(git(repo, "rev-parse", "HEAD"))


async def test_two_sessions_work_on_one_repository_at_once(home, repo):
    head = git(repo, "rev-parse", "HEAD")
    sessions = [Workspace(home, f"s-{number}", f"demo-{number}", repo) for number in range(2)]
    for session in sessions:
        await session.create(head)

    async def work(session: Workspace, task: str) -> None:
        _, commit = await do(session, task, {f"{task}.txt": session.branch})
        await merge(session, commit, f"{task}\n")
        await session.close_worktree(task)

    await asyncio.gather(*(work(session, f"t{number}") for session in sessions for number in range(6)))
    for session in sessions:
        # Different tasks started at different heads; every one of them is on the branch.
        assert int(git(repo, "rev-list", "--count", f"main..{session.branch}")) == 6
        await session.close()
    assert git(repo, "worktree", "list", "--porcelain").count("worktree ") == 1


async def test_closing_after_a_crash_removes_what_was_left(workspace, repo):
    await do(workspace, "a", {"a": "a\n"})
    (workspace.directory.worktree("a") / ".git").unlink()
    await Workspace(workspace.directory.root.parents[1], "s-1", "demo", repo).close(delete_branch=True)
    assert git(repo, "worktree", "list", "--porcelain").count("worktree ") == 1
    assert git(repo, "for-each-ref", "--format=%(refname)", "refs/heads") == "refs/heads/main"
    assert not workspace.directory.worktrees.exists()


async def test_a_tool_that_points_the_worktree_elsewhere_is_not_followed(workspace, repo, tmp_path):
    evil = new_repository(tmp_path / "evil", {"x": "x\n"})
    base = await workspace.open_worktree("a")
    worktree = workspace.directory.worktree("a")
    (worktree / ".git").write_text(f"gitdir: {evil}/.git\n")
    write(worktree, {"new.txt": "n\n"})
    commit = await workspace.snapshot("a", base, "a\n")
    assert [change.path for change in await workspace.changes("a", base, commit)] == ["new.txt"]
    assert git(evil, "status", "--porcelain") == ""


async def test_hooks_of_the_person_do_not_run(workspace, repo, tmp_path):
    for hook in ("post-checkout", "pre-commit", "post-commit", "reference-transaction"):
        path = repo / ".git/hooks" / hook
        path.write_text(f"#!/bin/sh\ntouch '{tmp_path}/ran-{hook}'\n")
        path.chmod(0o755)
    _, commit = await do(workspace, "a", {"a": "a\n"})
    await merge(workspace, commit, "a\n")
    assert list(tmp_path.glob("ran-*")) == []


async def test_a_branch_moved_from_elsewhere_is_not_lost(workspace, repo):
    _, commit = await do(workspace, "a", {"a": "a\n"})
    other = git(repo, "commit-tree", "main^{tree}", "-p", "main", "-m", "by hand")
    git(repo, "update-ref", "refs/heads/sylk/demo", other)
    await merge(workspace, commit, "a\n")
    assert git(repo, "log", "--format=%s", "main..sylk/demo").splitlines() == ["a", "by hand"]


async def test_a_session_that_is_undone_leaves_neither_branch_nor_directory(workspace):
    workspace.directory.root.mkdir(parents=True)
    await workspace.undo()
    assert await workspace.head() is None
    assert not workspace.directory.root.exists()


async def test_a_persons_own_worktree_that_is_away_is_not_forgotten(workspace, repo, tmp_path):
    mine = tmp_path / "mine"
    git(repo, "worktree", "add", "-q", "-b", "mine", str(mine))
    mine.rename(tmp_path / "unmounted")
    await do(workspace, "a", {"a": "a\n"})
    await workspace.close_worktree("a")
    await workspace.close()
    (tmp_path / "unmounted").rename(mine)
    assert git(mine, "status", "--porcelain") == ""


def make_evil(repository, ran) -> None:
    """Make git run a command when it looks whether the repository has changed."""
    git(repository, "config", "filter.x.clean", f"touch '{ran}'; cat")
    (repository / ".git/info").mkdir(exist_ok=True)
    (repository / ".git/info/attributes").write_text("* filter=x\n")


async def test_a_repository_that_a_tool_made_within_is_refused_and_never_looked_into(workspace, tmp_path):
    base = await workspace.open_worktree("a")
    worktree = workspace.directory.worktree("a")
    nested = new_repository(worktree / "deep" / "nested", {"x": "x\n"})
    make_evil(nested, tmp_path / "ran")
    (nested / "x").write_text("y\n")
    with pytest.raises(NestedRepository, match="deep/nested"):
        await workspace.snapshot("a", base, "a\n")
    assert not (tmp_path / "ran").exists()


async def test_a_submodule_that_a_tool_has_configured_is_never_looked_into(home, tmp_path):
    library = new_repository(tmp_path / "library", {"lib.py": "x = 1\n"})
    repo = new_repository(tmp_path / "main", {"main.py": "\n"})
    git(repo, "submodule", "add", "-q", str(library), "vendor/library")
    git(repo, "commit", "-qm", "with a submodule")
    workspace = Workspace(home, "s-1", "demo", repo)
    await workspace.create(git(repo, "rev-parse", "HEAD"))
    base = await workspace.open_worktree("a")
    inside = workspace.directory.worktree("a") / "vendor/library"
    make_evil(inside, tmp_path / "ran")
    (inside / "lib.py").write_text("y = 1\n")
    write(workspace.directory.worktree("a"), {"main.py": "changed\n"})
    commit = await workspace.snapshot("a", base, "a\n")
    await workspace.reset("a", commit)
    assert not (tmp_path / "ran").exists()
    assert [change.path for change in await workspace.changes("a", base, commit)] == ["main.py"]


async def test_a_name_that_is_no_text_is_shown_escaped(workspace):
    base = await workspace.open_worktree("a")
    path = bytes(workspace.directory.worktree("a")) + b"/caf\xe9"
    with open(path, "wb") as file:  # noqa: PTH123
        file.write(b"x")
    commit = await workspace.snapshot("a", base, "a\n")
    (change,) = await workspace.changes("a", base, commit)
    assert change.path.encode()


async def test_the_sessions_branch_is_the_only_reference_that_a_session_writes(workspace, repo):
    before = git(repo, "for-each-ref")
    await do(workspace, "greet", {"hello.txt": "hi\n"})
    assert git(repo, "for-each-ref") == before
    assert not (repo / ".git" / "packed-refs.lock").exists()


async def test_a_lock_that_a_killed_git_left_on_the_branch_does_not_stop_its_work(workspace, repo):
    _, commit = await do(workspace, "greet", {"hello.txt": "hi\n"})
    lock = repo / ".git" / "refs" / "heads" / f"{workspace.branch}.lock"
    lock.touch()
    long_ago = time.time() - 60
    os.utime(lock, (long_ago, long_ago))
    merged = await merge(workspace, commit, "greet\n")
    assert merged.commit == git(repo, "rev-parse", workspace.branch)
    assert not lock.exists()


async def test_a_lock_that_someone_holds_is_waited_for(workspace, repo):
    _, commit = await do(workspace, "greet", {"hello.txt": "hi\n"})
    lock = repo / ".git" / "refs" / "heads" / f"{workspace.branch}.lock"
    lock.touch()
    merging = asyncio.create_task(merge(workspace, commit, "greet\n"))
    await asyncio.sleep(0.3)
    assert (lock.exists(), merging.done()) == (True, False)
    lock.unlink()
    assert (await merging).commit == git(repo, "rev-parse", workspace.branch)


async def test_saving_obeys_no_repository_that_a_tool_has_made_in_the_worktree(workspace, tmp_path):
    """Its configuration would be run outside of the sandbox, at the second save, when git knows it already."""
    await workspace.open_worktree("greet")
    nested = new_repository(workspace.directory.worktree("greet") / "nested", {"a.txt": "1\n"})
    escaped = tmp_path / "escaped"
    (nested / ".gitattributes").write_text("* filter=x\n")
    git(nested, "config", "filter.x.clean", f"touch {escaped}; cat")
    await workspace.save("greet")
    write(nested, {"a.txt": "2\n", "b.txt": "new\n"})
    await workspace.save("greet")
    assert not escaped.exists()


async def test_a_worktree_that_goes_while_it_is_looked_at_is_no_error(workspace, repo, monkeypatch):
    """Many sessions open and close theirs in one repository at once."""
    await workspace.open_worktree("greet")
    gone = repo / ".git" / "worktrees" / "gone" / "gitdir"
    read_text = Path.read_text

    def read(path: Path, **how: str) -> str:
        if path == gone:
            path.unlink()
        return read_text(path, **how)

    for step in (workspace.save, workspace.close_worktree):
        write(repo, {".git/worktrees/gone/gitdir": "/elsewhere/gone/.git\n"})
        with monkeypatch.context() as patched:
            patched.setattr(Path, "read_text", read)
            await step("greet")
        assert not gone.exists()


HOOKS = ("post-checkout", "post-index-change", "pre-commit", "post-commit", "reference-transaction", "post-merge")


async def test_hooks_of_the_repository_are_not_run(workspace, repo, tmp_path):
    ran = tmp_path / "ran"
    write(repo, {f".git/hooks/{name}": f"#!/bin/sh\necho {name} >> '{ran}'\n" for name in HOOKS})
    for name in HOOKS:
        (repo / ".git/hooks" / name).chmod(0o755)
    _, commit = await do(workspace, "greet", {"hello.txt": "hi\n"})
    await workspace.save("greet")
    await workspace.reset("greet", commit)
    await merge(workspace, commit, "greet\n")
    await workspace.close()
    assert not ran.exists()


@pytest.mark.parametrize("disguise", ["a folder", "a pointer"])
async def test_configuration_that_a_tool_has_written_is_not_obeyed(workspace, tmp_path, disguise):
    """In the worktree's own .git, which a command may write to: filters, hooks, monitors, drivers."""
    await workspace.open_worktree("greet")
    worktree, ran = workspace.directory.worktree("greet"), tmp_path / "ran"
    evil = f"touch '{ran}'; cat"
    mine = new_repository(worktree / "evil", {"x.txt": "x\n"})
    git(mine, "config", "filter.x.clean", evil)
    git(mine, "config", "filter.x.smudge", evil)
    for name in ("core.fsmonitor", "diff.x.textconv", "diff.external", "merge.x.driver", "core.sshCommand"):
        git(mine, "config", name, evil)
    write(mine, {".git/hooks/post-index-change": f"#!/bin/sh\n{evil}\n"})
    (mine / ".git/hooks/post-index-change").chmod(0o755)
    (worktree / ".git").unlink()
    if disguise == "a folder":
        (mine / ".git").rename(worktree / ".git")
        shutil.rmtree(mine)
    else:
        (mine / ".git").rename(worktree / "evil/git")
        (worktree / ".git").write_text("gitdir: evil/git\n")
    write(worktree, {".gitattributes": "* filter=x diff=x merge=x\n", "new.txt": "new\n"})
    saved = await workspace.save("greet")
    commit = await workspace.snapshot("greet", await workspace.head(), "greet\n")
    await workspace.changes("greet", f"{commit}^", commit)
    await workspace.diff(f"{commit}^", commit)
    await workspace.changed_files("greet")
    await workspace.restore("greet", saved)
    await workspace.reset("greet", commit)
    await workspace.close_worktree("greet")
    assert not ran.exists()


async def test_files_of_a_commit_are_read_and_found_by_their_words(home, tmp_path):
    inner = new_repository(tmp_path / "inner", {"in.txt": "fmt\n"})
    files = {"a.py": "fmt(1)\n", "b c.py": "fmt(1)\nfmt(2)\n", "c.py": "fmt_price\n", "d.png": "fmt\0"}
    repo = new_repository(tmp_path / "repo", files)
    git(repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "sub")
    git(repo, "commit", "-qm", "sub")
    workspace = Workspace(home, "s-1", "demo", repo)
    head = git(repo, "rev-parse", "HEAD")
    write(repo, {"a.py": "not committed\n"})
    assert await workspace.files_with(head, ["fmt"]) == ["b c.py", "a.py"]
    assert await workspace.files_with(head, ["nowhere", "fmt_price"]) == ["c.py"]
    assert await workspace.files_with(head, []) == []
    there = await workspace.files(head)
    assert {path: blob.size for path, blob in there.items() if path != ".gitmodules"} == {
        path: len(text) for path, text in files.items()
    }
    assert await workspace.texts({path: there[path] for path in files}) == {
        path: text for path, text in files.items() if path != "d.png"
    }
    assert await workspace.texts({}) == {}
