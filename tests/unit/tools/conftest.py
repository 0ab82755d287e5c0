"""A real worktree, with its git directory elsewhere, and what is needed to work in it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from sylk_ray.tools import ToolContext
from sylk_ray.tools.specs import Limits, Sandbox

MakeContext = Callable[..., ToolContext]


def git(cwd: Path, *arguments: str) -> str:
    identity = ("-c", "user.email=a@b", "-c", "user.name=n", "-c", "init.defaultBranch=main")
    done = subprocess.run(["git", *identity, *arguments], cwd=cwd, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.fixture
def worktree(tmp_path: Path) -> Path:
    repository = tmp_path / "repository"
    repository.mkdir()
    git(repository, "init", "-q")
    git(repository, "commit", "-q", "--allow-empty", "-m", "first")
    git(repository, "worktree", "add", "-q", "-b", "work", "../worktree")
    return tmp_path / "worktree"


@pytest.fixture
def make_context(tmp_path: Path, worktree: Path) -> MakeContext:
    def make(**changes: Any) -> ToolContext:
        private = tmp_path / "private"
        private.mkdir(exist_ok=True)
        given: dict[str, Any] = {
            "worktree": worktree,
            "private_dir": private,
            "artifacts_dir": tmp_path / "artifacts",
            "limits": Limits(timeout_s=30),
            "sandbox": Sandbox(),
            # Others run tests of this name at the same time, and whoever shares an id ends the other's processes.
            "run_id": f"test{os.getpid()}/{tmp_path.name}",
            "repository": tmp_path / "repository",
        }
        return ToolContext(**(given | changes))

    return make


@pytest.fixture
def context(make_context: MakeContext) -> ToolContext:
    return make_context()


def unconfinable(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the runtime itself runs in a worktree cannot be confined: of what it may write to, one folder is gone."""
    confined = ToolContext.confined

    def with_one_more(context: ToolContext, program: Sequence[str], **how: Any) -> list[str]:
        command = confined(context, program, **how)
        at = command.index("--")
        return [*command[:at], "--write=/no/such/folder", *command[at:]]

    monkeypatch.setattr(ToolContext, "confined", with_one_more)
