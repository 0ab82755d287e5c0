"""A session's place in a repository: its branch, the pipelines' worktrees, and the merging of their work."""

from __future__ import annotations

import asyncio
import contextlib
import io
import secrets
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from sylk_ray.errors import InputError
from sylk_ray.sessions.changes import Change, parse_diff
from sylk_ray.sessions.directories import SessionDirectory, session_directory
from sylk_ray.sessions.git import Git, GitFailed, repository_lock
from sylk_ray.sessions.saves import Saves, looks_of
from sylk_ray.sessions.submodules import fill_submodules, refuse_nested_repositories, submodules_of
from sylk_ray.tools.files import is_binary
from sylk_ray.tools.paths import CACHES

BRANCHES = "sylk/"
_STALE_S = 4.0
"""A branch's lock that is older was left by a git that was killed: it is held for milliseconds."""

_NEVER_COMMITTED = "".join(f"{glob}\n" for glob in CACHES)


_COMMON: dict[Path, Path] = {}
"""Of repositories that this process has worked in."""
_SAVES = Saves()


class Plan(NamedTuple):
    """A merge that has not happened yet: the new commit for the session's branch, which must be at ``head``; or the
    files in conflict."""

    head: str
    commit: str | None
    conflicts: tuple[str, ...] = ()


class Blob(NamedTuple):
    """A file of a commit: git's name for its content, and its bytes."""

    name: str
    size: int


class Workspace:
    """Everything git for one session. Any process of the runtime can make one: what it knows is in git itself."""

    def __init__(self, home: Path, session: str, name: str, repo: Path) -> None:
        self._home = home
        self.repository = repo
        self._git = Git(repo)
        self.branch = f"{BRANCHES}{name}"
        self.directory = SessionDirectory(session_directory(home, session))

    async def create(self, base: str) -> None:
        """Make the session's branch at a commit; raises InputError when it exists, and has changed nothing then."""
        code, _, errors = await self._git.try_run("check-ref-format", "--branch", self.branch)
        if code != 0:
            raise InputError(f"{self.branch!r} cannot be a branch: {errors.strip()}", hint="choose another --session")
        code, errors = await self._move_branch(base, "0" * 40)
        if code != 0:
            if await self.head() is not None:
                raise InputError(
                    f"the branch {self.branch} exists already in {self.repository}",
                    hint=f"choose another --session, or delete it with `git branch -D {self.branch}`",
                )
            raise InputError(f"the branch {self.branch} cannot be made in {self.repository}: {errors.strip()}")

    async def undo(self) -> None:
        """Take back what ``create`` did, and remove the session's directory."""
        await self._remove_branch()
        await asyncio.to_thread(shutil.rmtree, self.directory.root, True)

    async def head(self) -> str | None:
        """The commit that the session's branch is at; None when there is no such branch."""
        code, commit, _ = await self._git.try_run(
            "rev-parse", "--verify", "--quiet", f"refs/heads/{self.branch}^{{commit}}"
        )
        return commit.strip() if code == 0 else None

    async def open_worktree(self, task: str, commit: str = "") -> str:
        """A fresh worktree for a task, at the session's head or another commit; returns that. A left-over one is
        replaced."""
        head = commit or await self.head()
        if not head:
            raise GitFailed(f"the branch {self.branch} is gone from {self.repository}", hint="someone deleted it")
        path = self.directory.worktree(task)
        async with repository_lock(self.repository):
            await self._remove(task)
            path.parent.mkdir(parents=True, exist_ok=True)
            await self._git.run("worktree", "add", "--quiet", "--detach", str(path), head)
            await fill_submodules(self.repository, path)
        return head

    async def reset(self, task: str, commit: str) -> None:
        """Put a task's worktree back to a commit. Ignored files stay: installed dependencies among them."""
        git = await self._git_of(task)
        await git.run("reset", "--hard", "--quiet", commit)
        await git.run("clean", "-ffdq")

    async def snapshot(self, task: str, base: str, message: str) -> str | None:
        """Commit all of a task's work as one commit on ``base``; None when it differs in nothing from it."""
        git = await self._git_of(task)
        ignored = self.directory.root / "never-committed"
        await asyncio.to_thread(ignored.write_text, _NEVER_COMMITTED)
        submodules = await submodules_of(git)
        await asyncio.to_thread(refuse_nested_repositories, git.directory, submodules)
        # git looks into a submodule to see whether it changed, and obeys the configuration that it finds there.
        left_out = [f":(exclude,top,literal){path}" for path in submodules]
        await git.run("-c", f"core.excludesFile={ignored}", "add", "--all", "--", ".", *left_out)
        tree = await git.line("write-tree")
        if tree == await git.line("rev-parse", f"{base}^{{tree}}"):
            return None
        commit = await self._commit(git, tree, base, message)
        await git.run("reset", "--soft", "--quiet", commit)
        return commit

    async def save(self, task: str) -> str:
        """A tree that holds a worktree as it is, ignored files aside; the worktree, its index and its branch stay
        as they are. For ``restore``. One is made before every tool that may change several files: each program of it
        counts."""
        git = await self._git_of(task)
        assert git.git_dir is not None
        looks = await asyncio.to_thread(looks_of, git.directory, git.git_dir / "index")
        tree = _SAVES.of(git.directory, looks)
        if tree is None:
            tree = await self._saved(git, git.git_dir)
            _SAVES.keep(git.directory, looks, tree)
        return tree

    async def _saved(self, git: Git, git_dir: Path) -> str:
        submodules = await submodules_of(git)
        index = git_dir / f"index.saved-{secrets.token_hex(4)}"
        # Begun anew each time, with the times of the worktree's own: what an earlier save has taken for a repository of
        # its own would be looked into, and its configuration obeyed, outside of any sandbox.
        await asyncio.to_thread(shutil.copy2, git_dir / "index", index)
        aside = Git(git.directory, git_dir, index=index)
        try:
            left_out = [f":(exclude,top,literal){path}" for path in submodules]
            await aside.run("add", "--all", "--", ".", *left_out)
            return await aside.line("write-tree")
        finally:
            index.unlink(missing_ok=True)

    async def saved_commit(self, task: str) -> str:
        """The same as a commit, which another worktree can be opened at."""
        tree = await self.save(task)
        return await self._commit(await self._git_of(task), tree, "HEAD", f"{task}, while it is worked on")

    async def restore(self, task: str, saved: str) -> None:
        """Put a worktree back to what ``save`` found. Whoever worked there must be gone: a lock that a killed git
        left behind is removed."""
        git = await self._git_of(task)
        assert git.git_dir is not None
        left = [git.git_dir / "index.lock", git.git_dir / "HEAD.lock", *git.git_dir.glob("index.saved-*")]
        for file in left:
            file.unlink(missing_ok=True)
        await git.run("read-tree", "--reset", "-u", saved)
        await git.run("clean", "-ffdq")
        await git.run("read-tree", "--reset", "HEAD")

    async def changes(self, task: str, base: str, commit: str) -> list[Change]:
        """What a commit changed, by file, with the numbers of the lines that it added."""
        return parse_diff(
            await self._git.run(
                "diff", "--unified=0", "--no-color", "--no-ext-diff", "--no-renames", "--no-prefix", base, commit
            )
        )

    async def files(self, commit: str) -> dict[str, Blob]:
        """All that are in a commit, by their paths; submodules are none."""
        entries = (await self._git.run("ls-tree", "-r", "-l", "-z", commit)).split("\0")
        found: dict[str, Blob] = {}
        for entry in filter(None, entries):
            told, _, path = entry.partition("\t")
            _, kind, name, size = told.split()
            if kind == "blob":
                found[path] = Blob(name, int(size))
        return found

    async def texts(self, files: Mapping[str, Blob]) -> dict[str, str]:
        """What is in some of those; in one that is not text, nothing that is told."""
        if not files:
            return {}
        asked = "".join(f"{blob.name}\n" for blob in files.values())
        answers = io.BytesIO(await self._git.content("cat-file", "--batch", stdin=asked.encode()))
        found: dict[str, str] = {}
        for path in files:
            size = int(answers.readline().split()[-1])
            content = answers.read(size)
            answers.readline()
            if not is_binary(content):
                found[path] = content.decode(errors="backslashreplace")
        return found

    async def files_with(self, commit: str, words: Sequence[str]) -> list[str]:
        """The text files of a commit in which one of these whole words stands; those with most of its lines first."""
        if not words:
            return []
        patterns = [part for word in words for part in ("-e", word)]
        told = await self._git.run("grep", "-zcIwF", *patterns, commit, "--", ok=(0, 1))
        counts = [line.rpartition("\0") for line in told.split("\n") if line]
        found = sorted((-int(count), path.removeprefix(f"{commit}:")) for path, _, count in counts)
        return [path for _, path in found]

    async def diff(self, base: str, commit: str, *, around: int = 5) -> str:
        """What a commit changed, to be read, with so many lines around each change."""
        options = ("--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--ignore-submodules=dirty")
        return await self._git.run("diff", f"--unified={around}", *options, base, commit)

    async def changed_files(self, task: str) -> list[str]:
        """The files of a task's worktree that are not as they were when it was opened, committed or not; none when
        there is no worktree now."""
        with contextlib.suppress(GitFailed):
            git = await self._git_of(task)
            base = await git.line("merge-base", "HEAD", f"refs/heads/{self.branch}")
            # Submodules are not looked into: git would obey the configuration that it finds there.
            changed = await git.run("diff", "--name-only", "--no-ext-diff", "--ignore-submodules=all", "-z", base)
            new = await git.run("ls-files", "--others", "--exclude-standard", "-z")
            return sorted({name for name in f"{changed}{new}".split("\0") if name})
        return []

    async def message_of(self, commit: str) -> str:
        """A commit's message."""
        return await self._git.run("show", "--no-patch", "--format=%B", commit)

    async def plan_merge(self, commit: str, message: str) -> Plan:
        """What putting a task's commit on the session's branch, as one commit on its head, would come to.

        The merge happens in git's object store: no checkout is involved, so none can be disturbed, and nothing has
        changed until ``carry_out``. One plan at a time: it holds for the head that it was made for.
        """
        head = await self.head()
        if head is None:
            raise GitFailed(f"the branch {self.branch} is gone from {self.repository}", hint="someone deleted it")
        code, output, errors = await self._git.try_run(
            "merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", head, commit
        )
        tree, *conflicts = [part for part in output.split("\0") if part]
        if code == 1:
            return Plan(head, None, tuple(sorted(set(conflicts))))
        if code != 0:
            raise GitFailed(f"merging {commit[:10]} into {self.branch} failed ({code}): {errors.strip()}")
        return Plan(head, await self._commit(self._git, tree, head, message))

    async def carry_out(self, plan: Plan) -> bool:
        """Move the session's branch to a planned merge; True as well when it is there already, or beyond. False when
        something else was put on the branch since, and a new plan is needed: a push from elsewhere is never lost."""
        assert plan.commit is not None
        code, _ = await self._move_branch(plan.commit, plan.head)
        if code == 0:
            return True
        branch = f"refs/heads/{self.branch}"
        code, _, _ = await self._git.try_run("merge-base", "--is-ancestor", plan.commit, branch)
        return code == 0

    async def _move_branch(self, commit: str, before: str) -> tuple[int, str]:
        """Put the session's branch on a commit, if it is where it is thought to be; git's exit code and errors."""
        while True:
            code, _, errors = await self._git.try_run("update-ref", f"refs/heads/{self.branch}", commit, before)
            if code == 0 or not await self._remove_stale_lock():
                return code, errors

    async def _remove_stale_lock(self) -> bool:
        """A git that was killed while it moved the session's branch leaves the lock behind; whether there was one."""
        lock = await self._common() / "refs" / "heads" / f"{self.branch}.lock"
        try:
            if time.time() - lock.stat().st_mtime < _STALE_S:
                return False
            lock.unlink()
        except OSError:
            return False
        return True

    async def close_worktree(self, task: str) -> None:
        """Remove a task's worktree."""
        async with repository_lock(self.repository):
            await self._remove(task)
        private = self.directory.private(task)
        await asyncio.to_thread(shutil.rmtree, private, True)

    async def close(self, *, delete_branch: bool = False) -> None:
        """Leave nothing in the repository but the session's branch, and with ``delete_branch`` not even that."""
        if self.repository.exists() and (delete_branch or await self._has_left_something()):
            async with repository_lock(self.repository):
                for task in await self._tasks():
                    await self._remove(task)
                if delete_branch:
                    await self._remove_branch()
        await asyncio.to_thread(self.directory.remove_work)

    async def _has_left_something(self) -> bool:
        """Whether there is a worktree, by the files of git's own folder: many sessions that end at once would stand in
        line for the repository otherwise, most of them for nothing."""
        common = await self._common()
        return await asyncio.to_thread(self._traces_in, common)

    def _traces_in(self, common: Path) -> bool:
        ours = self.directory.worktrees
        return any(ours.glob("*")) or any(worktree.parent == ours for worktree in _worktrees_of(common))

    async def _remove_branch(self) -> None:
        if await self.head() is not None:
            await self._git.run("update-ref", "-d", f"refs/heads/{self.branch}")

    async def _remove(self, task: str) -> None:
        """Never ``worktree prune``: it would forget worktrees of the person's that are only away for now."""
        path = self.directory.worktree(task)
        folder = await self._folder_of(path)
        if folder is not None and path.exists():
            await self._git.try_run("worktree", "remove", "--force", "--force", str(path))
        await asyncio.to_thread(shutil.rmtree, path, True)
        if folder is not None:
            await asyncio.to_thread(shutil.rmtree, folder, True)

    async def _git_of(self, task: str) -> Git:
        """git in a task's worktree, by the folder that the repository itself has for it."""
        path = self.directory.worktree(task)
        folder = await self._folder_of(path)
        if folder is None:
            raise GitFailed(f"{self.repository} knows no worktree {path}", hint="someone has removed it")
        return Git(path, folder)

    async def _folder_of(self, worktree: Path) -> Path | None:
        """What the repository itself keeps of a worktree."""
        return (await asyncio.to_thread(_worktrees_of, await self._common())).get(worktree)

    async def _common(self) -> Path:
        """Where the repository keeps what all of its worktrees share; asked once while it is there."""
        known = _COMMON.get(self.repository)
        if known is None or not known.is_dir():
            known = (self.repository / await self._git.line("rev-parse", "--git-common-dir")).resolve()
            _COMMON[self.repository] = known
        return known

    async def _tasks(self) -> list[str]:
        """The tasks that have a worktree, by their folders and by what git knows."""
        listed = await self._git.run("worktree", "list", "--porcelain", "-z")
        known = [Path(line.removeprefix("worktree ")) for line in listed.split("\0") if line.startswith("worktree ")]
        names = {path.name for path in known if path.parent == self.directory.worktrees}
        return sorted(names | {path.name for path in self.directory.worktrees.glob("*")})

    async def _commit(self, git: Git, tree: str, parent: str, message: str) -> str:
        identity: list[str] = []
        code, _, _ = await git.try_run("var", "GIT_COMMITTER_IDENT")
        if code != 0:
            identity = ["-c", "user.name=sylk", "-c", "user.email=sylk@localhost"]
        committed = await git.run(*identity, "commit-tree", tree, "-p", parent, "-F", "-", stdin=message.encode())
        return committed.strip()


def _worktrees_of(common: Path) -> dict[Path, Path]:
    """The worktrees that a repository knows, and what it keeps of each. Others come and go meanwhile."""
    found: dict[Path, Path] = {}
    for pointer in (common / "worktrees").glob("*/gitdir"):
        with contextlib.suppress(FileNotFoundError):
            found[Path(pointer.read_text().strip()).parent] = pointer.parent
    return found
