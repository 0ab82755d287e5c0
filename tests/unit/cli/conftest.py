from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ..gateway.fake_gateway import FakeGateway

JOB = """
name: tidy
repo: {repo}
vars: {{greeting: hello}}
tasks:
  notes:
    engineer:
      - write: {{path: NOTES.md, content: hello}}
  more:
    depends_on: [notes]
    engineer:
      - run: make
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    made.mkdir(mode=0o700)
    return made


@pytest.fixture
def gateway(home: Path) -> Iterator[FakeGateway]:
    made = FakeGateway(home)
    yield made
    made.close()


Sylk = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start(home: Path) -> Iterator[Sylk]:
    """Start ``sylk`` as a process; ended with the test."""
    started: list[subprocess.Popen[str]] = []

    def run(*arguments: object, **environment: str) -> subprocess.Popen[str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("SYLK_")}
        process = subprocess.Popen(
            [sys.executable, "-c", "from sylk_ray.cli import main; main()", *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={**inherited, "SYLK_HOME": str(home), **environment},
        )
        started.append(process)
        return process

    yield run
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def sylk(start: Sylk) -> Callable[..., tuple[int, str, str]]:
    """Run ``sylk`` to its end; exit code, output, errors."""

    def run(*arguments: object, **environment: str) -> tuple[int, str, str]:
        process = start(*arguments, **environment)
        output, errors = process.communicate(timeout=30)
        return process.returncode, output, errors

    return run


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    path = tmp_path / "repo"
    path.mkdir()
    git = ["git", "-C", str(path), "-c", "user.name=t", "-c", "user.email=t@t"]
    subprocess.run([*git[:3], "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    return path


@pytest.fixture
def job_file(tmp_path: Path, repo: Path) -> Path:
    path = tmp_path / "job.yaml"
    path.write_text(JOB.format(repo=repo))
    return path
