"""A runtime that ``sylk up`` started, as a person has it, for a benchmark of what people wait for."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.cluster import new_repository


class Started:
    """``home`` is its state directory, and ``repo`` a repository with one commit."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.repo = new_repository(root / "repo")
        self._root = root
        self._environment = {**os.environ, "SYLK_HOME": str(self.home)}

    def run(self, *arguments: str) -> dict[str, Any]:
        """A command's document."""
        done = subprocess.run(
            [_sylk(), *arguments, "--json"], env=self._environment, capture_output=True, text=True, check=True
        )
        return json.loads(done.stdout)

    def submit(self, job: str, *how: str) -> dict[str, Any]:
        """Run a job to its end."""
        return self.run("submit", self._write(job), "--repo", str(self.repo), *how)

    @contextmanager
    def at_work(self, job: str) -> Iterator[None]:
        """A job runs meanwhile; it is cancelled at the end."""
        command = [_sylk(), "submit", self._write(job), "--repo", str(self.repo), "--direct"]
        with subprocess.Popen(command, env=self._environment, stdout=subprocess.DEVNULL) as process:
            try:
                yield
            finally:
                process.terminate()

    def _write(self, job: str) -> str:
        path = self._root / "job.yaml"
        path.write_text(job)
        return str(path)


@contextmanager
def started() -> Iterator[Started]:
    """Ended with the benchmark."""
    root = Path(tempfile.mkdtemp(prefix="sylk-bench-"))
    made = Started(root)
    try:
        made.run("up", "--no-dashboard")
        yield made
    finally:
        environment = {**os.environ, "SYLK_HOME": str(made.home)}
        subprocess.run([_sylk(), "down", "--now"], env=environment, capture_output=True, check=False)
        shutil.rmtree(root, ignore_errors=True)


def _sylk() -> str:
    return str(Path(sys.executable).parent / "sylk")
