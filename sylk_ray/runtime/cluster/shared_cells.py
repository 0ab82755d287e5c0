"""The cells of shared agents that have one to themselves, made when they are first asked for."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# (Ray's own annotations are partly unknown)

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

import ray
from ray.exceptions import ActorDiedError, RayError

from sylk_ray.errors import SylkError
from sylk_ray.messaging import SHARED, CellLost
from sylk_ray.runtime.clock import Clock
from sylk_ray.runtime.cluster.cell_watch import told
from sylk_ray.runtime.cluster.factory import CellFactory, CellHandle
from sylk_ray.runtime.cluster.own_cells import class_name_of
from sylk_ray.runtime.supervision import RestartPolicy, Restarts

CPUS = 0.25
"""What Ray sets aside for one, if that is free. It binds nobody: the process takes what the machine has. More would be
missing where a small cluster's sessions reserve CPUs."""
POLICY = RestartPolicy(most=5, within_s=60.0, first_s=0.0)
_LOOK_S = 2.0
_TRIES = 3

log = logging.getLogger("sylk.fleet")


class SharedCells:
    """``began`` is told of each new cell, and ``died`` of one that is found dead before the watch has noticed.

    They are on this node: what they own is in the state directory, with a socket that only this machine's commands can
    reach.
    """

    def __init__(
        self,
        factory: CellFactory,
        clock: Clock,
        *,
        began: Callable[[CellHandle], None],
        died: Callable[[CellHandle, str], Awaitable[None]],
    ) -> None:
        self._factory = factory
        self._clock = clock
        self._began = began
        self._died = died
        self._cells: dict[str, CellHandle] = {}
        self._making: dict[str, asyncio.Task[CellHandle]] = {}
        self._restarts: dict[str, Restarts] = {}

    def take_over(self, purpose: str, handle: CellHandle) -> bool:
        """What another fleet has left; False for a second one of a role."""
        role = purpose.split("/")[1]
        return self._cells.setdefault(role, handle) is handle

    async def living(self, role: str) -> CellHandle:
        """The cell of a role, which has answered just now, or is given time to. Raises PlacementFailed, CellLost."""
        for _ in range(_TRIES):
            handle = await self._of(role)
            try:
                await handle.call("ping", timeout=_LOOK_S)
            except ActorDiedError as problem:
                await self._died(handle, told(problem))
                continue
            except (TimeoutError, RayError) as problem:
                # It may be busy, or stopped: the watch decides.
                log.warning("%s does not answer at once: %r", handle.cell, problem)
            return handle
        raise CellLost(f"the cell of {SHARED}/{role} died {_TRIES} times before it was of use")

    def lose(self, cell: str) -> str:
        """A cell died; whose it was, or empty if it was none of these."""
        for role, handle in self._cells.items():
            if handle.cell == cell:
                del self._cells[role]
                return role
        return ""

    async def replace(self, role: str) -> None:
        """Have a cell at hand again for an agent that lost its own, unless that happens too often: then, or when there
        is no room, it is made when the agent is asked."""
        restarts = self._restarts.setdefault(role, Restarts(POLICY))
        if restarts.next_pause(self._clock.now()) is None:
            log.error("the cells of %s/%s die too often, and are made only when they are asked for", SHARED, role)
            return
        try:
            await self._of(role)
        except SylkError as error:
            log.warning("there is no cell for %s/%s: %s", SHARED, role, error)

    async def close(self) -> None:
        """Make no more."""
        making = list(self._making.values())
        for task in making:
            task.cancel()
        if making:
            await asyncio.wait(making)

    async def _of(self, role: str) -> CellHandle:
        known = self._cells.get(role)
        if known is not None:
            return known
        making = self._making.get(role)
        if making is None:
            making = self._making[role] = asyncio.create_task(self._make(role), name=f"cell of {role}")
            making.add_done_callback(lambda _: self._making.pop(role, None))
        # Whoever asked may be gone before it is made; the next one finds it.
        return await asyncio.shield(making)

    async def _make(self, role: str) -> CellHandle:
        node = ray.get_runtime_context().get_node_id()
        purpose = f"{SHARED}/{role}/main"
        handle = await self._factory.create(
            node=node,
            stem=f"{role}-",
            class_name=class_name_of(role),
            title=f"{class_name_of(role)}({purpose})",
            purpose=purpose,
            cpus=await self._factory.share_at(node, CPUS),
        )
        self._cells[role] = handle
        self._began(handle)
        return handle


def is_shared(purpose: str) -> bool:
    """Whether a cell was made for a shared agent."""
    return purpose.startswith(f"{SHARED}/")
