"""Running git: quietly, without the person's hooks, and with errors that say what was tried."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import os
import subprocess
import tempfile
from collections.abc import AsyncGenerator
from pathlib import Path

from sylk_ray.errors import SylkError
from sylk_ray.programs import run_program

_QUIET = (
    *("-c", "core.hooksPath=/dev/null", "-c", "commit.gpgsign=false", "-c", "gc.auto=0"),
    *("-c", "advice.detachedHead=false", "-c", "core.quotePath=false", "-c", "core.fsmonitor=false"),
    *("-c", "protocol.file.allow=always", "-c", "rerere.enabled=false"),
    *("-c", "core.filesRefLockTimeout=5000", "-c", "core.packedRefsTimeout=10000"),
)


LIMIT_S = 300
"""A git command that takes longer hangs."""


PATIENCE_S = 10
"""How long a cancelled git command may go on to its own end."""


class GitFailed(SylkError):
    """A git command ended with an error."""

    code = "git_failed"


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {**kept, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C.UTF-8", "GIT_OPTIONAL_LOCKS": "0"}


class Git:
    """git in one directory.

    ``git_dir`` names the repository's own folder instead of letting git look for it: what stands in a worktree's
    ``.git`` file can be changed by any tool that may write there, and git obeys the configuration it leads to.
    """

    def __init__(self, directory: Path, git_dir: Path | None = None, index: Path | None = None) -> None:
        """``index`` stands in for the worktree's own index, which then stays as it is."""
        self.directory = directory
        self.git_dir = git_dir
        self.has_other_index = index is not None
        self._environment = {} if index is None else {"GIT_INDEX_FILE": str(index)}
        self._where = () if git_dir is None else (f"--git-dir={git_dir}", f"--work-tree={directory}")

    async def run(self, *arguments: str, ok: tuple[int, ...] = (0,), stdin: bytes | None = None) -> str:
        """The command's output; raises GitFailed unless its exit code is one of ``ok``."""
        code, output, errors = await self.try_run(*arguments, stdin=stdin)
        if code not in ok:
            raise self._failed(arguments, code, errors.strip() or output)
        return output

    async def try_run(self, *arguments: str, stdin: bytes | None = None) -> tuple[int, str, str]:
        """The command's exit code, output and errors. A cancelled wait lets the command come to its end first."""
        done = await self._ended(arguments, stdin)
        # A name that is no UTF-8 is shown escaped: records and messages hold text only.
        return done.returncode, done.stdout.decode(errors="backslashreplace"), done.stderr.decode(errors="replace")

    async def content(self, *arguments: str, stdin: bytes | None = None) -> bytes:
        """The command's output as it is. Raises GitFailed unless it succeeds."""
        done = await self._ended(arguments, stdin)
        if done.returncode != 0:
            raise self._failed(arguments, done.returncode, done.stderr.decode(errors="replace"))
        return done.stdout

    async def line(self, *arguments: str) -> str:
        """The command's output without the line's end."""
        return (await self.run(*arguments)).rstrip("\n")

    def _failed(self, arguments: tuple[str, ...], code: int, said: str) -> GitFailed:
        return GitFailed(f"git {' '.join(arguments[:3])} in {self.directory} failed ({code}): {said.strip()[-800:]}")

    async def _ended(self, arguments: tuple[str, ...], stdin: bytes | None) -> subprocess.CompletedProcess[bytes]:
        command = ("git", *self._where, *_QUIET, *arguments)
        environment = {**_environment(), **self._environment}
        try:
            # Gently: killed half-way it leaves lock files in the person's repository, and git then refuses to work
            # there. Most commands end by themselves in milliseconds, and on SIGTERM it removes its locks.
            return await run_program(
                command, cwd=self.directory, env=environment, stdin=stdin, limit_s=LIMIT_S, patience_s=PATIENCE_S
            )
        except TimeoutError:
            raise GitFailed(
                f"git {' '.join(arguments[:3])} in {self.directory} did not end within {LIMIT_S} s",
                hint="a filter or a network file system may hang: try the command by hand",
            ) from None


@contextlib.asynccontextmanager
async def repository_lock(repo: Path) -> AsyncGenerator[None]:
    """One at a time over all processes of this person, of any state directory, for what git itself does not
    serialise: ``worktree add`` and ``remove``."""
    name = f"{hashlib.blake2b(str(repo).encode(), digest_size=8).hexdigest()}.lock"
    path = Path(tempfile.gettempdir()) / f"sylk-{os.getuid()}-locks" / name
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        delay = 0.001
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                await asyncio.sleep(delay)
                delay = min(delay * 2, 0.05)
        yield
    finally:
        os.close(descriptor)
