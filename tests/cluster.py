"""One Ray cluster for all tests that need a real one, and one runtime on it at a time."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sylk_ray.config import Settings
from sylk_ray.jobs import load_job
from sylk_ray.messaging import Address, Request
from sylk_ray.runtime.cluster.head import RayHead, start_head, stop_head, temp_dir
from sylk_ray.runtime.directory import FLEET, SYSTEM_CELL
from sylk_ray.runtime.fleet_messages import CellStatus, Census, OpenSession, ShutDown, TakeCensus
from sylk_ray.runtime.slots import AgentInfo
from sylk_ray.sessions import JobRecord
from sylk_ray.sessions.messages import GUIDE, GetJob, SubmitJob


class Runtime:
    """A runtime of its own state directory on the shared cluster."""

    def __init__(self, settings: Settings, system: Any, head: RayHead) -> None:
        self.settings = settings
        self.system = system
        self.head = head
        self.gateway: Any = None
        self.ended = False

    async def end(self) -> None:
        """As `sylk down` does it at last."""
        if not self.ended:
            self.ended = True
            await self.ask(FLEET, ShutDown(0.5))
            for cell in (self.gateway, self.system):
                if cell is not None:
                    await cell.kill()

    async def ask(self, target: Address, message: Request[Any], timeout: float = 60) -> Any:
        """Ask through the system cell; while that is being started again, wait for it."""
        from ray.exceptions import ActorUnavailableError

        deadline = time.monotonic() + 30
        while True:
            try:
                return await self.system.call("ask", target, message, timeout, timeout=timeout + 10)
            except ActorUnavailableError:
                assert time.monotonic() < deadline, "the system cell did not come back"
                await asyncio.sleep(0.1)

    async def submit(self, job: str, repo: Path, session: str = "") -> JobRecord:
        loaded = load_job(job, source="job.yaml")
        return await self.ask(GUIDE, SubmitJob(loaded.model_dump_json(by_alias=True), str(repo), session))

    async def run(self, job: str, repo: Path, session: str = "") -> JobRecord:
        record = await self.submit(job, repo, session)
        return await self.until_over(record.job_id)

    async def job(self, job_id: str) -> JobRecord:
        return await self.ask(GUIDE, GetJob(job_id))

    async def until_over(self, job_id: str) -> JobRecord:
        return await self.until(lambda: self.job(job_id), lambda record: record.status.over, seconds=100)

    async def until(self, look: Callable[[], Awaitable[Any]], good: Callable[[Any], bool], seconds: float = 60) -> Any:
        deadline = time.monotonic() + seconds
        while True:
            seen = await look()
            if good(seen):
                return seen
            assert time.monotonic() < deadline, f"waited {seconds} s, and last saw {seen}"
            await asyncio.sleep(0.05)

    async def census(self) -> Census:
        return await self.ask(FLEET, TakeCensus())

    async def open_session(self, session: str) -> Any:
        return await self.ask(FLEET, OpenSession(session))

    async def cells(self) -> list[CellStatus]:
        """The cells with agents, without the system's own."""
        return [cell for cell in (await self.census()).cells if cell.cell != SYSTEM_CELL and not cell.warm]

    async def pid_of(self, name: str) -> int:
        """The process of the system's or the gateway's cell."""
        return (await {"system": self.system, "gateway": self.gateway}[name].call("info")).pid

    async def at_work(self, role: str) -> list[AgentInfo]:
        return [agent for agent in (await self.census()).agents if agent.role == role and agent.state == "busy"]


@pytest.fixture(scope="session")
def cluster() -> Iterator[RayHead]:
    """A Ray head with a dashboard, for the state API and the Jobs API are parts of it."""
    head = start_head(Path(os.environ["SYLK_HOME"]), num_cpus=4, dashboard=True, object_store_mb=256)
    import ray

    from sylk_ray.runtime.cluster.bootstrap import connect

    try:
        connect(head.address)
        yield head
    finally:
        ray.shutdown()
        stop_head(head.pid)
        shutil.rmtree(temp_dir(Path(os.environ["SYLK_HOME"])), ignore_errors=True)


@pytest.fixture
def start(cluster, tmp_path) -> Iterator[Callable[..., Awaitable[Runtime]]]:
    """Start a runtime with given settings; it is ended with the test."""
    from sylk_ray.runtime.cluster.factory import CellFactory

    running: list[Runtime] = []

    async def begin(*, gateway: bool = False, **settings: Any) -> Runtime:
        given = Settings(
            home=tmp_path / "home",
            extra_roles={
                "probe": "tests.integration.probes:Probe",
                "keeper": "tests.integration.probes:Keeper",
            },
            placement_timeout_s=settings.pop("placement_timeout_s", 30),
            **settings,
        )
        system = await CellFactory(given).create(
            cell="system",
            class_name="System",
            title="System(guide, fleet)",
            service="actors.coordinator:serve",
            restarts=-1,
        )
        runtime = Runtime(given, system, cluster)
        running.append(runtime)
        if gateway:
            runtime.gateway = await CellFactory(given).create(
                cell="gateway",
                class_name="Gateway",
                title="Gateway(http)",
                service="sylk_ray.gateway.app:serve",
                restarts=-1,
            )
        return runtime

    yield begin

    async def end() -> None:
        for runtime in running:
            await runtime.end()

    asyncio.run(end())


@pytest.fixture
async def packed(start) -> Runtime:
    return await start(density="packed", cells=2)
