"""One Ray cluster for all tests that need a real one, and one runtime on it at a time."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sylk_ray.config import Settings
from sylk_ray.jobs import load_job
from sylk_ray.messaging import SHARED, Address, Request
from sylk_ray.runtime.cluster.head import RayHead, start_head, stop_head, temp_dir
from sylk_ray.runtime.directory import FLEET, SYSTEM_CELL
from sylk_ray.runtime.fleet_messages import CellStatus, Census, CloseSession, OpenSession, ShutDown, TakeCensus
from sylk_ray.runtime.slots import AgentInfo
from sylk_ray.sessions import JobRecord
from sylk_ray.sessions.messages import GUIDE, EndSession, GetJob, ListSessions, SubmitJob


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

    async def close_sessions(self) -> None:
        """Close those that the Guide has, and those that only the fleet was told of; no agent is left."""
        for session in await self.ask(GUIDE, ListSessions()):
            await self.ask(GUIDE, EndSession(session.id))
        for session in {session for cell in (await self.census()).cells for session in cell.sessions} - {SHARED}:
            await self.ask(FLEET, CloseSession(session))

        async def left() -> list[str]:
            return [agent.address for agent in (await self.census()).agents if agent.session != SHARED]

        await self.until(left, lambda addresses: addresses == [], seconds=30)

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


async def start_runtime(head: RayHead, home: Path, *, gateway: bool = False, **settings: Any) -> Runtime:
    """A runtime of given settings, which whoever asks has to end."""
    from sylk_ray.runtime.cluster.factory import CellFactory

    given = Settings(
        home=home,
        extra_roles={
            "probe": "tests.integration.probes:Probe",
            "keeper": "tests.integration.probes:Keeper",
        },
        **{"placement_timeout_s": 30, **settings},
    )
    system = await CellFactory(given).create(
        cell="system",
        class_name="System",
        title="System(guide, fleet)",
        service="actors.coordinator:serve",
        restarts=-1,
    )
    runtime = Runtime(given, system, head)
    if gateway:
        runtime.gateway = await CellFactory(given).create(
            cell="gateway",
            class_name="Gateway",
            title="Gateway(http)",
            service="sylk_ray.gateway.app:serve",
            restarts=-1,
        )
    return runtime


class Kept:
    """The runtime that a module's tests share. It gives way to one of a test's own or of other settings, as the cluster
    holds one at a time, and is started anew when it is next wanted."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0
        self._settings: dict[str, Any] = {}
        self._runtime: Runtime | None = None

    @contextlib.asynccontextmanager
    async def lent(self, head: RayHead, **settings: Any) -> AsyncIterator[Runtime]:
        """The runtime of these settings, for one test; then its sessions are closed, and no agent is left."""
        if self._runtime is None or self._settings != settings:
            await self.end()
            self._count += 1
            self._settings = settings
            self._runtime = await start_runtime(head, self._folder / f"home{self._count}", **settings)
        try:
            yield self._runtime
            await self._runtime.close_sessions()
        except BaseException:
            # What is wrong with it is this test's error, and not the next one's as well.
            await self.end()
            raise

    async def end(self) -> None:
        runtime, self._runtime = self._runtime, None
        if runtime is not None:
            await runtime.end()


@pytest.fixture(scope="module")
def kept(cluster, tmp_path_factory) -> Iterator[Kept]:
    kept = Kept(tmp_path_factory.mktemp("kept"))
    yield kept
    asyncio.run(kept.end())


@pytest.fixture
async def shared(cluster, kept) -> AsyncIterator[Runtime]:
    """A packed runtime that other tests of the module use as well: for tests that kill nothing in it."""
    async with kept.lent(cluster, density="packed", cells=2) as runtime:
        yield runtime


@pytest.fixture
def start(cluster, kept, tmp_path) -> Iterator[Callable[..., Awaitable[Runtime]]]:
    """Start a runtime with given settings; it is ended with the test."""
    running: list[Runtime] = []

    async def begin(*, gateway: bool = False, **settings: Any) -> Runtime:
        await kept.end()
        runtime = await start_runtime(cluster, tmp_path / "home", gateway=gateway, **settings)
        running.append(runtime)
        return runtime

    yield begin

    async def end() -> None:
        for runtime in running:
            await runtime.end()

    asyncio.run(end())


@pytest.fixture
async def packed(start) -> Runtime:
    """A packed runtime of the test's own."""
    return await start(density="packed", cells=2)
