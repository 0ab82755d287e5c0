"""Where a session keeps its things on disk."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
from pathlib import Path

from sylk_ray.errors import SylkError
from sylk_ray.home import session_directory

__all__ = ["NotWritten", "SessionDirectory", "session_directory", "write_atomically"]

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


class NotWritten(SylkError):
    """A file of the state directory could not be written."""

    code = "not_written"


class SessionDirectory:
    """``<home>/sessions/<id>``: records, journal, worktrees, tool folders and artifacts."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.session = root / "session.json"
        self.journal = root / "journal.db"
        self.tokens = root / "tokens.json"
        self.worktrees = root / "worktrees"

    def job_of(self, job_id: str) -> Path:
        """A job as it was submitted."""
        return self.root / "jobs" / job_id / "job.json"

    def record_of(self, job_id: str) -> Path:
        """A job's record."""
        return self.root / "jobs" / job_id / "record.json"

    def worktree(self, task: str) -> Path:
        """A task's worktree."""
        return self.worktrees / task

    def private(self, task: str) -> Path:
        """What a task's tools see as their home and temporary folder."""
        return self.root / "private" / task

    def artifacts(self, task: str) -> Path:
        """A task's kept outputs."""
        return self.root / "artifacts" / task

    def remove_work(self) -> None:
        """Remove what only running work needs; records, history and artifacts stay."""
        for path in (self.worktrees, self.root / "private"):
            shutil.rmtree(path, ignore_errors=True)


def write_atomically(path: Path, data: bytes) -> None:
    """Replace a file whole: a reader sees the old or the new content, never half of one, whatever is killed.

    Raises NotWritten, for example when the disk is full.
    """
    try:
        _replace(path, data)
    except OSError as problem:
        raise NotWritten(
            f"{path} cannot be written: {problem.strerror or problem}",
            hint="make room on its disk, or use another --home" if problem.errno in _NO_ROOM else "",
        ) from problem


def _replace(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        Path(temporary).replace(path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(temporary).unlink()
        raise
