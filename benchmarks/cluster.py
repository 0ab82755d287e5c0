"""A Ray cluster for a benchmark, runtimes on it, and jobs."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from benchmarks.table import Row
from sylk_ray.config import Settings
from sylk_ray.jobs import load_job
from sylk_ray.messaging import Address, Request
from sylk_ray.runtime.cluster.head import ray_environment, start_head, stop_head, temp_dir
from sylk_ray.runtime.directory import FLEET
from sylk_ray.runtime.fleet_messages import ShutDown
from sylk_ray.sessions.messages import GUIDE, GetJob, SubmitJob
from sylk_ray.sessions.records import JobRecord


class System:
    """The system cell of a benchmark's runtime."""

    def __init__(self, handle: Any) -> None:
        self.handle = handle

    async def ask(self, target: Address, message: Request[Any], timeout: float = 180) -> Any:
        return await self.handle.call("ask", target, message, timeout, timeout=timeout + 10)


@asynccontextmanager
async def runtime(home: Path, **settings: Any) -> AsyncIterator[System]:
    """A runtime on the cluster that this process is connected to."""
    from sylk_ray.runtime.cluster.factory import CellFactory

    roles = {"small": "benchmarks.agents:Small", **settings.pop("extra_roles", {})}
    given = Settings(home=home, extra_roles=roles, **settings)
    handle = await CellFactory(given).create(
        cell="system", class_name="System", service="actors.coordinator:serve", restarts=-1
    )
    system = System(handle)
    try:
        yield system
    finally:
        await system.ask(FLEET, ShutDown(0.5))
        await handle.kill()


async def run_job(system: System, job: str, repo: Path) -> JobRecord:
    """Submit and wait."""
    loaded = load_job(job, source="bench")
    record: JobRecord = await system.ask(GUIDE, SubmitJob(loaded.model_dump_json(by_alias=True), str(repo)))
    while not record.status.over:
        await asyncio.sleep(0.02)
        record = await system.ask(GUIDE, GetJob(record.job_id))
    return record


def new_repository(path: Path) -> Path:
    """A git repository with one commit."""
    path.mkdir()
    script = "git init -q -b main && git config user.name b && git config user.email b@b && echo x > x && git add x"
    subprocess.run(f"{script} && git commit -qm x", shell=True, cwd=path, check=True)
    return path


def on_a_cluster(measure: Callable[[Path], Awaitable[list[Row]]]) -> list[Row]:
    """Measure on a cluster that is started and ended here; ``measure`` gets a state directory."""
    home = Path(tempfile.mkdtemp(prefix="sylk-bench-"))
    os.environ["PYTHONPATH"] = str(Path(__file__).parents[1])
    os.environ.update(ray_environment(home))
    head = start_head(home, num_cpus=None, dashboard=False)
    try:
        # Imported only now: Ray reads its environment when it is.
        import ray

        from sylk_ray.runtime.cluster.bootstrap import connect

        connect(head.address)
        try:
            return asyncio.run(_awaited(measure, home))
        finally:
            ray.shutdown()
    finally:
        stop_head(head.pid)
        for folder in (home, temp_dir(home)):
            shutil.rmtree(folder, ignore_errors=True)


async def _awaited(measure: Callable[[Path], Awaitable[list[Row]]], home: Path) -> list[Row]:
    return await measure(home)
