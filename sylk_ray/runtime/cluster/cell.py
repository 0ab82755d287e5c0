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
import os
import sys
import threading
from collections.abc import Awaitable, Coroutine
from typing import Any, TypeVar

import msgspec
import ray
from ray._raylet import setproctitle  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType]

from sylk_ray.config import Settings
from sylk_ray.messaging import SHARED, Address, Request
from sylk_ray.runtime import logs
from sylk_ray.runtime.cluster.body import Body
from sylk_ray.runtime.cluster.shared_state import shares_state
from sylk_ray.runtime.directory import SessionBinding
from sylk_ray.runtime.slots import AgentInfo

ResultT = TypeVar("ResultT")

CONTROL_TIMEOUT_S = 30.0
LEAVING = 32
"""Sessions that may be put away at once: each waits for what its agents are at, and nobody else waits for that."""
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
    purpose: str = ""
    """What the cell was made for, when it holds one session or one agent alone."""
    home: str = ""
    bindings: list[SessionBinding] = []
    """The sessions that are open in it, whether any agent of theirs lives or not."""


class Cell:
    """A host in a process of its own. ``title`` is what the Ray dashboard shows for it.

    ``service`` is ``module:function`` of a Service to start beside the agents. ``purpose`` is kept for a fleet that
    has to find out again what the cells are for.

    It may have no coroutine method, not one: Ray would take it for an async actor, run each group's calls on an
    event loop, and a call that waits would hold up all others of its group.
    """

    def __init__(self, cell: str, settings: str, title: str = "", service: str = "", purpose: str = "") -> None:
        self._cell = cell
        self._purpose = purpose
        self._ended = threading.Event()
        self._title = title
        self._settings = Settings.model_validate_json(settings)
        # A batch changes threads four times on its way in; at Python's 5 ms a busy handler holds each of them up.
        sys.setswitchinterval(SWITCH_S)
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="agents", daemon=True).start()
        logs.configure()
        self._body = self._on_loop(Body.start(cell, self._settings, self._show_title, service))
        self._host, self._watchdog = self._body.host, self._body.watchdog

    def __repr__(self) -> str:
        if self._title:
            return self._title
        agents = self._host.agents()
        sessions = sorted({agent.session for agent in agents})
        shown = ", ".join(sessions[:5]) + (f" and {len(sessions) - 5} more" if len(sessions) > 5 else "")
        return f"Cell({self._cell}: {len(agents)} agents of {shown or 'no session'})"

    def _show_title(self) -> None:
        """Ray reads an actor's repr once, at its creation, so the process title is where `ps` and the dashboard's
        process list see what the cell holds. Around each call Ray sets it anew, from the name of the actor's class."""
        title = repr(self)
        type(self).__name__ = title
        setproctitle(f"ray::{title}")

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
    def adopt(self, title: str = "") -> tuple[str, int, bool]:
        """Take an idle cell into use; answers its node, its process, and whether the runtime's state directory is
        seen there."""
        self._title = title
        return ray.get_runtime_context().get_node_id(), os.getpid(), shares_state(self._settings)

    @ray.method(concurrency_group="lifeline")
    def linger(self) -> None:
        """Returns when the cell is stopped in order; the call fails when its process dies."""
        self._ended.wait()

    @ray.method(concurrency_group="pulse")
    def ping(self) -> None:
        """The cell lives."""

    @ray.method(concurrency_group="control")
    def open_session(self, binding: SessionBinding) -> None:
        """Host a session's agents from now on."""
        self._on_loop(self._host.open_session(binding))

    @ray.method(concurrency_group="control")
    def recover(self, session: str) -> None:
        """Bring back what dead cells held of a session."""
        self._on_loop(self._host.recover_session(session))

    @ray.method(concurrency_group="control")
    def fence_off(self, session: str, cell: str) -> None:
        """See to it that a replaced cell writes nothing more into a session's journal."""
        self._on_loop(self._host.fence_off(session, cell))

    @ray.method(concurrency_group="leaving")
    def suspend_session(self, session: str, grace_s: float) -> None:
        """Put a session's agents away so that they can go on later."""
        self._on_loop(self._host.suspend_session(session, grace_s), grace_s + CONTROL_TIMEOUT_S)

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
            self._purpose,
            str(self._settings.home),
            self._host.bindings(),
        )

    @ray.method(concurrency_group="control")
    def shelved(self, name: str) -> list[Any]:
        """The reference of what this cell has on its shelf under a name, if it has."""
        return self._body.shelf.references(name)

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
        self._ended.set()

    def _on_loop(self, work: Awaitable[ResultT] | Coroutine[Any, Any, ResultT], timeout: float = 60.0) -> ResultT:
        return asyncio.run_coroutine_threadsafe(_await(work), self._loop).result(timeout)


async def _await(work: Awaitable[ResultT]) -> ResultT:
    return await work


def actor_class(name: str = "Cell", *, restarts: int = 0) -> Any:
    """The Ray actor class of a cell under another name: the Ray dashboard shows it as the actor's class.

    ``restarts`` is Ray's max_restarts: -1 for the system's own cells, which come back empty under their names; any
    other cell is replaced by the fleet.
    """
    cls = Cell if name == "Cell" else type(name, (Cell,), {"__module__": Cell.__module__, "__qualname__": name})
    return ray.remote(  # pyright: ignore[reportCallIssue]
        max_restarts=restarts,
        max_task_retries=0,
        concurrency_groups={"ingress": 1, "control": 4, "leaving": LEAVING, "lifeline": 1, "pulse": 1},
    )(cls)
