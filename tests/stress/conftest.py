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


@dataclass(frozen=True)
class OwnRay:
    """A runtime whose Ray may be killed: started by the command, apart from the cluster of all other tests."""

    sylk: Sylk

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
        """What an expression says on its Ray, in a process of its own: this one has joined another."""
        join = f"from sylk_ray.runtime.cluster.bootstrap import connect; connect({self.state['address']!r})"
        program = f"{join}; import ray; print({look})"
        environment = ray_environment(self.sylk.home)
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip().splitlines()[-1]

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
    ray = OwnRay(sylk)
    try:
        ray.up()
        yield ray
    finally:
        down = sylk("down", "--now")
        sylk.close()
    assert down.code == 0, down


@pytest.fixture
def repo(tmp_path) -> Path:
    return new_repository(tmp_path / "repo", {f"file{n}.txt": f"{n}\n" for n in range(20)})
