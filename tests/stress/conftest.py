"""What stress tests work on."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from sylk_ray.gateway.client import GatewayClient
from sylk_ray.runtime.cluster.head import ray_environment
from tests.integration.command import Sylk
from tests.unit.sessions.conftest import new_repository

from .waiting_job import WaitingJob

LOOK = """
import json, os, sys
from sylk_ray.runtime.cluster.bootstrap import connect

answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
connect(sys.argv[1])
import ray

for line in sys.stdin:
    print(json.dumps(str(eval(json.loads(line)))), file=answers, flush=True)
"""
"""Answers one expression a line; what Ray prints goes elsewhere."""


class Onlooker:
    """A process that has joined a Ray and says what expressions are there. It is kept, as joining takes seconds, until
    that Ray is another."""

    def __init__(self, home: Path, log: Path) -> None:
        self._home = home
        self._log = log
        self._address = ""
        self._process: subprocess.Popen[str] | None = None

    def says(self, address: str, look: str) -> str:
        if self._process is None or self._process.poll() is not None or address != self._address:
            self.close()
            self._process, self._address = self._joining(address), address
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(look) + "\n")
        process.stdin.flush()
        answer = process.stdout.readline()
        assert answer, self._log.read_text()
        return json.loads(answer)

    def _joining(self, address: str) -> subprocess.Popen[str]:
        with self._log.open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-c", LOOK, address],
                env=ray_environment(self._home),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


@dataclass(frozen=True)
class OwnRay:
    """A runtime whose Ray may be killed: started by the command, apart from the cluster of all other tests."""

    sylk: Sylk
    onlooker: Onlooker

    @property
    def state(self) -> dict[str, Any]:
        """What the command knows of it."""
        return json.loads((self.sylk.home / "runtime.json").read_text())

    def up(self) -> None:
        """Start it, unless it runs."""
        done = self.sylk("up", "--num-cpus", 2, "--no-dashboard")
        assert done.code == 0, done

    def family(self) -> list[psutil.Process]:
        """All its processes, the keeper first."""
        keeper = psutil.Process(self.state["head_pid"])
        return [keeper, *keeper.children(recursive=True)]

    def process(self, name: str) -> psutil.Process:
        """The one of its processes that runs that program; others may come and go meanwhile."""
        found: list[psutil.Process] = []
        for each in self.family():
            with contextlib.suppress(psutil.Error):
                if Path((each.cmdline() or [""])[0]).name == name:
                    found.append(each)
        assert len(found) == 1, found
        return found[0]

    def submit(self, job: WaitingJob, repo: Path) -> dict[str, Any]:
        """Run a job directly, and do not wait for it."""
        path = job.write()
        return self.sylk.told("submit", path, "--repo", repo, "--session", job.name, "--direct", "--no-wait")

    def resume(self, job_id: str) -> None:
        """Let a suspended job go on."""
        GatewayClient(self.sylk.home).post(f"/jobs/{job_id}/resume")

    def ray(self, look: str) -> str:
        """What an expression says on its Ray, in a process beside it: this one has joined another."""
        return self.onlooker.says(self.state["address"], look)

    def until_succeeded(self, job_id: str) -> None:
        status = self.sylk.until_over(job_id)
        assert status == "succeeded", self.sylk("logs", job_id).output


@pytest.fixture(scope="session")
def own_ray(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnRay]:
    sylk = Sylk(
        tmp_path_factory.mktemp("own") / "home",
        SYLK_CELLS="2",
        SYLK_WARM_CELLS="0",
        SYLK_PLACEMENT_TIMEOUT_S="8",
        PYTHONPATH=os.environ["PYTHONPATH"],
    )
    ray = OwnRay(sylk, Onlooker(sylk.home, tmp_path_factory.mktemp("onlooker") / "log"))
    try:
        ray.up()
        yield ray
    finally:
        ray.onlooker.close()
        down = sylk("down", "--now")
        sylk.close()
    assert down.code == 0, down


@pytest.fixture
def repo(tmp_path) -> Path:
    return new_repository(tmp_path / "repo", {f"file{n}.txt": f"{n}\n" for n in range(20)})
