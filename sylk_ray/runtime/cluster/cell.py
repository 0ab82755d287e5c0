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
import logging
import os
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

import msgspec
import ray

from sylk_ray.config import Settings
from sylk_ray.messaging import SHARED, Address, Request
from sylk_ray.runtime.cluster.body import Body
from sylk_ray.runtime.directory import SessionBinding
from sylk_ray.runtime.slots import AgentInfo

ResultT = TypeVar("ResultT")

CONTROL_TIMEOUT_S = 30.0
SWITCH_S = 0.0005


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

    It may have no coroutine method, not one: Ray would take it for an async actor, run each group's calls on an
    event loop, and a call that waits would hold up all others of its group.
    """

    def __init__(self, cell: str, settings: str, title: str = "", service: str = "") -> None:
        self._cell = cell
        self._title = title
        self._settings = Settings.model_validate_json(settings)
        # A batch changes threads four times on its way in; at Python's 5 ms a busy handler holds each of them up.
        sys.setswitchinterval(SWITCH_S)
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="agents", daemon=True).start()
        logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
        logging.getLogger("httpx").setLevel(logging.WARNING)
        self._body = self._on_loop(Body.start(cell, self._settings, self.__repr__, service))
        self._host, self._watchdog = self._body.host, self._body.watchdog

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
    def peer_lost(self, cell: str) -> None:
        """Another cell died: whatever waits for it fails now, and not at its deadline."""
        self._loop.call_soon_threadsafe(self._host.peer_lost, cell)

    @ray.method(concurrency_group="control")
    def ask(self, target: Address, message: Request[Any], timeout: float = 30.0) -> Any:
        """Ask an agent from outside of any agent: for operators, tests and benchmarks."""
        operator = Address(SHARED, "operator", self._cell)
        return self._on_loop(self._host.ask(operator, target, message, timeout=timeout), timeout + 5)

    @ray.method(concurrency_group="control")
    def stop(self, grace_s: float = 5.0) -> None:
        """Orderly end of the agents and of the service; the process itself is ended by whoever asked."""
        self._on_loop(self._body.stop(grace_s), grace_s + CONTROL_TIMEOUT_S)

    def _on_loop(self, work: Awaitable[ResultT] | Coroutine[Any, Any, ResultT], timeout: float = 60.0) -> ResultT:
        return asyncio.run_coroutine_threadsafe(_await(work), self._loop).result(timeout)


async def _await(work: Awaitable[ResultT]) -> ResultT:
    return await work


async def _call(function: Callable[..., ResultT], *arguments: Any) -> ResultT:
    return function(*arguments)


def actor_class(name: str = "Cell") -> Any:
    """The Ray actor class of a cell under another name: the Ray dashboard shows it as the actor's class."""
    cls = Cell if name == "Cell" else type(name, (Cell,), {"__module__": Cell.__module__, "__qualname__": name})
    return ray.remote(  # pyright: ignore[reportCallIssue]
        max_restarts=0, max_task_retries=0, concurrency_groups={"ingress": 1, "control": 4}
    )(cls)
