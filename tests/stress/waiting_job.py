"""A job that waits in the middle of a tool run until it is let go on, and notes each run of a tool."""

from __future__ import annotations

from pathlib import Path

from sylk_ray.sessions import JobRecord, JobState
from tests.cluster import Runtime
from tests.integration.command import until
from tests.unit.sessions.conftest import git

from .traces import NOTHING, until_nothing_is_left


class WaitingJob:
    """``first`` is merged before ``second`` waits in its second tool run."""

    def __init__(self, folder: Path, name: str = "waiting") -> None:
        self.name = name
        self._folder = folder / name
        self._folder.mkdir(parents=True)
        self._log = self._folder / "log"
        self._release = self._folder / "release"

    @property
    def text(self) -> str:
        wait = f"while [ ! -e {self._release} ]; do sleep 0.02; done; cat one two > three"
        return f"""
name: {self.name}
sandbox: {{write: [{self._folder}]}}
tasks:
  first:
    engineer: [{{run: "{self._noted("first", "echo 1 > one")}"}}]
  second:
    depends_on: [first]
    engineer:
      - run: "{self._noted("before", "echo 2 > two")}"
      - run: "{self._noted("wait", wait)}"
    tester: "{self._noted("test", "test -s three")}"
"""

    def _noted(self, label: str, work: str) -> str:
        return f"echo {label} >> {self._log}; {work}"

    def runs(self, label: str) -> int:
        """How often a tool run was started."""
        return self._log.read_text().split().count(label) if self._log.exists() else 0

    async def until_runs(self, runtime: Runtime, count: int = 1, label: str = "wait", seconds: float = 30) -> None:
        async def look() -> int:
            return self.runs(label)

        await runtime.until(look, lambda seen: seen >= count, seconds)

    def wait_for_runs(self, count: int = 1, label: str = "wait", seconds: float = 30) -> None:
        """The same, for a test that is no coroutine."""
        until(lambda: self.runs(label), lambda seen: seen >= count, seconds)

    def write(self) -> Path:
        """The job as a file."""
        path = self._folder / "job.yaml"
        path.write_text(self.text)
        return path

    def go_on(self) -> None:
        self._release.touch()

    async def check(self, runtime: Runtime, repo: Path, record: JobRecord, waits: tuple[int, ...] = (1,)) -> None:
        """It is done, each tool run that was completed was done once, the one that waited as often as it may have
        been, and nothing is left."""
        assert (record.status, record.error) == (JobState.SUCCEEDED, None)
        self.check_work(repo, record.branch, waits)
        await until_nothing_is_left(runtime, repo, [record], NOTHING)

    def check_work(self, repo: Path, branch: str, waits: tuple[int, ...]) -> None:
        """The tool runs, and the branch."""
        assert [self.runs(label) for label in ("first", "before", "test")] == [1, 1, 1]
        assert self.runs("wait") in waits
        assert git(repo, "rev-list", "--count", f"main..{branch}") == "2"
        assert git(repo, "show", f"{branch}:three") == "1\n2"
