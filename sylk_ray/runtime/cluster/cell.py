"""The Ray actor that hosts agents.

Its methods are synchronous and run on threads of Ray's concurrency groups: ``ingress`` is one thread, so that
batches enter in the order they were sent (async Ray actors reorder calls by design), and ``control`` stays
responsive while a handler holds the event loop. Agents run on a loop of the cell's own, on one more thread.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (Ray's own annotations are partly unknown)

from __future__ import annotations

import asyncio
import concurrent.futures
import importlib
import logging
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

import msgspec
import ray
from ray._raylet import setproctitle  # pyright: ignore[reportAttributeAccessIssue]

from sylk_ray.config import Settings
from sylk_ray.messaging import SHARED, Address, Request
from sylk_ray.runtime.clock import SystemClock
from sylk_ray.runtime.cluster.metrics import RayMetrics
from sylk_ray.runtime.cluster.transport import RayTransport
from sylk_ray.runtime.directory import SessionBinding
from sylk_ray.runtime.host import Host
from sylk_ray.runtime.journal import MemoryJournal
from sylk_ray.runtime.roles import Roles
from sylk_ray.runtime.slots import AgentInfo
from sylk_ray.runtime.watchdog import Watchdog

ResultT = TypeVar("ResultT")

Service = Callable[[Host], Awaitable[Callable[[], Awaitable[None]]]]
"""Something that runs beside a host's agents (the gateway's HTTP server); returns how to stop it."""

CONTROL_TIMEOUT_S = 30.0


class CellInfo(msgspec.Struct, frozen=True):
    """What is known of a cell from outside."""

    cell: str
    title: str
    pid: int
    node: str
    sessions: list[str]
    agents: int
    blocked_by: str = ""


class Cell:
    """A host in a process of its own. ``title`` is what the Ray dashboard shows for it.

    ``service`` is ``module:function`` of a Service to start beside the agents.
    """

    def __init__(self, cell: str, settings: str, title: str = "", service: str = "") -> None:
        self._cell = cell
        self._title = title
        self._settings = Settings.model_validate_json(settings)
        self._loop = asyncio.new_event_loop()
        self._stop_service: Callable[[], Awaitable[None]] | None = None
        threading.Thread(target=self._loop.run_forever, name="agents", daemon=True).start()
        logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
        logging.getLogger("httpx").setLevel(logging.WARNING)
        self._host, self._watchdog = self._on_loop(self._start(service))

    async def _start(self, service: str) -> tuple[Host, Watchdog]:
        settings = self._settings
        metrics = RayMetrics()
        host = Host(
            self._cell,
            roles=Roles.installed(settings.extra_roles),
            transport=RayTransport(),
            journal=MemoryJournal(),
            clock=SystemClock(),
            settings=settings,
            metrics=metrics,
        )
        watchdog = Watchdog(
            asyncio.get_running_loop(),
            report_s=settings.watchdog_report_s,
            blocked=lambda name, seconds: metrics.blocked(_role_in(name), seconds),
        )
        watchdog.start()
        self._chores = [
            asyncio.create_task(_every(settings.metrics_every_s, lambda: self._report(host))),
            asyncio.create_task(self._sweep(host)),
        ]
        if service:
            module, _, name = service.partition(":")
            start: Service = getattr(importlib.import_module(module), name)
            self._stop_service = await start(host)
        return host, watchdog

    async def _sweep(self, host: Host) -> None:
        while True:
            await asyncio.sleep(self._settings.idle_s / 4)
            await host.deactivate_idle(self._settings.idle_s)

    def __repr__(self) -> str:
        if self._title:
            return self._title
        agents = self._host.agents()
        sessions = sorted({agent.session for agent in agents})
        shown = ", ".join(sessions[:5]) + (f" and {len(sessions) - 5} more" if len(sessions) > 5 else "")
        return f"Cell({self._cell}: {len(agents)} agents of {shown or 'no session'})"

    @ray.method(concurrency_group="ingress")
    def deliver(self, payload: bytes) -> bytes:
        """A batch from a peer; decoded on this thread, accepted on the loop's."""
        arrived = self._host.decode(payload)
        accepted: concurrent.futures.Future[bytes] = concurrent.futures.Future()

        def accept() -> None:
            try:
                accepted.set_result(self._host.accept(arrived))
            except BaseException as problem:
                accepted.set_exception(problem)

        self._loop.call_soon_threadsafe(accept)
        return accepted.result()

    @ray.method(concurrency_group="control")
    def adopt(self, title: str = "") -> str:
        """Take an idle cell into use; answers its node."""
        self._title = title
        return ray.get_runtime_context().get_node_id()

    @ray.method(concurrency_group="control")
    def open_session(self, binding: SessionBinding) -> None:
        """Host a session's agents from now on."""
        self._on_loop(_call(self._host.open_session, binding))

    @ray.method(concurrency_group="control")
    def close_session(self, session: str) -> None:
        """Put a session's agents away."""
        self._on_loop(self._host.close_session(session))

    @ray.method(concurrency_group="control")
    def agents(self) -> list[AgentInfo]:
        """Every living agent; answered even while a handler holds the loop."""
        return self._host.agents()

    @ray.method(concurrency_group="control")
    def info(self) -> CellInfo:
        """The cell itself; answered even while a handler holds the loop."""
        context = ray.get_runtime_context()
        return CellInfo(
            self._cell,
            repr(self),
            os.getpid(),
            context.get_node_id(),
            self._host.sessions(),
            len(self._host.agents()),
            self._watchdog.blocking,
        )

    @ray.method(concurrency_group="control")
    def ask(self, target: Address, message: Request[Any], timeout: float = 30.0) -> Any:
        """Ask an agent from outside of any agent: for operators, tests and benchmarks."""
        operator = Address(SHARED, "operator", self._cell)
        return self._on_loop(self._host.ask(operator, target, message, timeout=timeout), timeout + 5)

    @ray.method(concurrency_group="control")
    def stop(self, grace_s: float = 5.0) -> None:
        """Orderly end of the agents and of the service; the process itself is ended by whoever asked."""
        if self._stop_service is not None:
            self._on_loop(self._stop_service(), grace_s + CONTROL_TIMEOUT_S)
        self._on_loop(self._host.stop(grace_s), grace_s + CONTROL_TIMEOUT_S)
        self._watchdog.stop()

    def _report(self, host: Host) -> None:
        """Hand over the metrics, and keep the process title in step with what the cell holds: Ray reads an actor's
        repr once, at its creation, so the title is where `ps` and the dashboard's process list see it change."""
        host.report()
        setproctitle(f"ray::{self!r}")

    def _on_loop(self, work: Awaitable[ResultT] | Coroutine[Any, Any, ResultT], timeout: float = 60.0) -> ResultT:
        return asyncio.run_coroutine_threadsafe(_await(work), self._loop).result(timeout)


async def _await(work: Awaitable[ResultT]) -> ResultT:
    return await work


async def _call(function: Callable[..., ResultT], *arguments: Any) -> ResultT:
    return function(*arguments)


async def _every(seconds: float, do: Callable[[], None]) -> None:
    while True:
        await asyncio.sleep(seconds)
        do()


def _role_in(task_name: str) -> str:
    parts = task_name.split("/")
    return parts[1] if len(parts) == 3 else "runtime"


def actor_class(name: str = "Cell") -> Any:
    """The Ray actor class of a cell under another name: the Ray dashboard shows it as the actor's class."""
    cls = Cell if name == "Cell" else type(name, (Cell,), {"__module__": Cell.__module__, "__qualname__": name})
    return ray.remote(  # pyright: ignore[reportCallIssue]
        max_restarts=0, max_task_retries=0, concurrency_groups={"ingress": 1, "control": 4}
    )(cls)
