"""Real repositories in temporary folders."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from sylk_ray.sessions.workspace import Workspace

Run = Callable[..., str]


def git(repo: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-c", "protocol.file.allow=always", *arguments], cwd=repo, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def write(repo: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        path = repo / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


def new_repository(path: Path, files: dict[str, str]) -> Path:
    path.mkdir(parents=True)
    git(path, "init", "-q", "-b", "main")
    git(path, "config", "user.name", "Person")
    git(path, "config", "user.email", "person@example.org")
    write(path, files)
    git(path, "add", "-A")
    git(path, "commit", "-qm", "first")
    return path


@pytest.fixture
def repo(tmp_path) -> Path:
    return new_repository(tmp_path / "a répo", {"one.txt": "1\n", "two words.txt": "a\nb\nc\n"})


@pytest.fixture
def home(tmp_path) -> Path:
    return tmp_path / "home"


@pytest.fixture
async def workspace(home, repo) -> Workspace:
    workspace = Workspace(home, "s-1", "demo", repo)
    await workspace.create(git(repo, "rev-parse", "HEAD"))
    return workspace
