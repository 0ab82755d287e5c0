"""Creates and ends the Ray actors that are cells, and the placement groups that are sessions' resources."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (Ray's own annotations are partly unknown)

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any

import psutil
import ray
from ray.exceptions import RayError, RayTaskError
from ray.util.placement_group import (
    PlacementGroup,
    placement_group,
    placement_group_table,
    remove_placement_group,
)
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy, PlacementGroupSchedulingStrategy

from sylk_ray.config import Settings
from sylk_ray.runtime.cluster.cell import actor_class
from sylk_ray.runtime.cluster.nodes import Nodes, bundle_of, room_of
from sylk_ray.runtime.cluster.transport import NAMESPACE
from sylk_ray.runtime.placement import PlacementFailed
from sylk_ray.runtime.room import Room, can_ever_hold, emptiest_node, missing

CELL_CPUS = 0.01
"""A cell needs a resource, or Ray ignores soft node affinity half the time; its work is I/O."""
AGENT_CPUS = 0.001
CELL_NAME = "cell-"
GROUP_NAME = "sylk-"
ROOM_HINT = "close sessions (`sylk session list`), or start with more: `sylk up --num-cpus N`"
_START_S = 30.0
"""How much longer than for room is waited for a process that has it: on a busy machine Ray takes seconds for one."""
_LOOK_S = 0.005
_LONGEST_LOOK_S = 0.1

log = logging.getLogger("sylk.fleet")


class CellHandle:
    """A cell and the actor that is it."""

    def __init__(self, cell: str, actor: Any) -> None:
        self.cell = cell
        self.actor = actor
        self.node = ""
        self.pid = 0

    async def call(self, method: str, *arguments: Any, timeout: float = 30.0) -> Any:
        """Call one of the cell's control methods; raises TimeoutError, a RayError, or what the method raised."""
        async with asyncio.timeout(timeout):
            try:
                return await getattr(self.actor, method).remote(*arguments)
            except RayTaskError as problem:
                if isinstance(problem.cause, Exception):
                    raise problem.cause from problem
                raise

    async def kill(self) -> None:
        """End the process at once. One that is stopped, and so deaf to Ray, is ended by the system where it can be."""
        await asyncio.to_thread(ray.kill, self.actor, no_restart=True)
        if self.pid and self.node == ray.get_runtime_context().get_node_id():
            await asyncio.to_thread(_end_stopped, self.pid, self.cell)


class NodeIsStrange(PlacementFailed):
    """A cell was made on a node that does not see the state directory, and was ended again."""

    code = "node_is_strange"


class CellDidNotStart(PlacementFailed):
    """The process of a new cell, or its node, ended at once."""

    code = "cell_did_not_start"


class _SlowStart(Exception):
    """A new cell's process has not come up in time."""


class CellFactory:
    """Every wait has a deadline: Ray leaves infeasible requests pending for ever, without a word. ``cells_on`` tells
    how many cells each node has, so that they are spread."""

    def __init__(self, settings: Settings, cells_on: Callable[[], Mapping[str, int]] = dict) -> None:
        self._settings = settings
        self._timeout_s = settings.placement_timeout_s
        self._cells_on = cells_on
        self._nodes = Nodes()
        self._closed = False

    def close(self) -> None:
        """Make nothing more, and let nobody wait for room any longer."""
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise PlacementFailed("the runtime is being ended, and makes no more cells")

    async def create(self, *, group: PlacementGroup | None = None, node: str = "", **how: Any) -> CellHandle:
        """A cell whose host is up: in a placement group, on a node, or where there are fewest; ``how`` is that of
        ``_create``. Raises PlacementFailed, saying what was wanted and what there is, and NodeIsStrange when the
        group or the node was a wrong choice; without either, another node is tried."""
        for last in (False, False, True):
            self._check_open()
            try:
                if group is not None or node:
                    return await self._create(group=group, node=node, **how)
                return await self._create_anywhere(**how)
            except CellDidNotStart as error:
                if last:
                    raise
                log.warning("%s; it is tried again", error)
        raise AssertionError("unreachable")

    async def share_at(self, node: str, cpus: float) -> float:
        """So many CPUs for a cell on a node, if they are free there; otherwise what any cell has."""
        free = next((each.free.cpus for each in await self._nodes.with_room() if each.node == node), 0.0)
        return cpus if free >= cpus else CELL_CPUS

    async def _create_anywhere(self, **how: Any) -> CellHandle:
        wanted = Room(how.get("cpus", CELL_CPUS))
        while True:
            nodes = await self._nodes.with_room()
            if not can_ever_hold(wanted, nodes):
                raise PlacementFailed(f"no room for a cell: {await self._missing(wanted)}", hint=ROOM_HINT)
            chosen = emptiest_node(nodes, self._cells_on(), wanted)
            try:
                return await self._create(node=chosen, soft=True, **how)
            except NodeIsStrange as error:
                log.warning("%s: its place is taken by another", error)

    async def _create(
        self,
        *,
        cell: str | None = None,
        stem: str = "",
        class_name: str = "Cell",
        title: str = "",
        service: str = "",
        purpose: str = "",
        restarts: int = 0,
        cpus: float = CELL_CPUS,
        group: PlacementGroup | None = None,
        node: str = "",
        soft: bool = False,
    ) -> CellHandle:
        cell = cell or f"{CELL_NAME}{stem}{uuid.uuid4().hex[:6]}"
        options: dict[str, Any] = {
            "name": cell,
            "namespace": NAMESPACE,
            "lifetime": "detached",
            "num_cpus": cpus,
        }
        if group is not None:
            options["scheduling_strategy"] = PlacementGroupSchedulingStrategy(
                group, placement_group_capture_child_tasks=False
            )
        elif node:
            options["scheduling_strategy"] = NodeAffinitySchedulingStrategy(node, soft=soft)
        elif labels := self._nodes.labels():
            options["label_selector"] = labels
        settings = self._settings.model_dump_json()
        actor = await asyncio.to_thread(
            lambda: (
                actor_class(class_name, restarts=restarts)
                .options(**options)
                .remote(cell, settings, title, service, purpose)
            )
        )
        handle = CellHandle(cell, actor)
        try:
            handle.node, handle.pid, shares = await self._adopted(handle, title, Room(cpus), group)
        except _SlowStart:
            await handle.kill()
            raise PlacementFailed(
                f"cell {cell} has room and did not start within {self._timeout_s + _START_S:g} s",
                hint="the machine may be too busy: see `sylk doctor`",
            ) from None
        except TimeoutError:
            await handle.kill()
            raise PlacementFailed(
                f"no room for cell {cell}{' in its placement group' if group else ''} within {self._timeout_s:g} s: "
                f"{await self._missing(Room(cpus))}",
                hint=ROOM_HINT,
            ) from None
        except RayError as problem:
            raise CellDidNotStart(f"cell {cell} did not start: {str(problem).strip().splitlines()[-1]}") from problem
        except BaseException:
            await asyncio.shield(handle.kill())
            raise
        if shares:
            return handle
        await handle.kill()
        self._nodes.shun(handle.node)
        raise NodeIsStrange(
            f"node {handle.node[:8]} does not see the state directory {self._settings.home}, and holds no cells",
            hint="share the state directory among the nodes, or use a cluster of one node",
        )

    async def _adopted(self, handle: CellHandle, title: str, wanted: Room, group: PlacementGroup | None) -> Any:
        """What a new cell says of itself. Room is waited for as long as the settings say; a process that has it and is
        slow to start has longer. Raises TimeoutError, _SlowStart, and what the cell's start did."""
        adopting = asyncio.ensure_future(handle.call("adopt", title, timeout=self._timeout_s + _START_S))
        try:
            done, _ = await asyncio.wait([adopting], timeout=self._timeout_s)
            if not done and not await self._nodes.has_room_now(wanted, group.id.hex() if group else ""):
                raise TimeoutError
            return await adopting
        except TimeoutError:
            raise (_SlowStart if adopting.done() else TimeoutError) from None
        finally:
            adopting.cancel()

    async def reserve(self, session: str, wanted: Room) -> PlacementGroup:
        """A session's placement group, on one node, for the cells of one node write its journal. Raises
        PlacementFailed: at once when no node could ever have the room, otherwise when none has it in time."""
        await self._check_possible(session, wanted)
        labels = self._nodes.labels()
        where: dict[str, Any] = {"bundle_label_selector": [labels]} if labels else {}
        group = await asyncio.to_thread(
            placement_group,
            [bundle_of(wanted)],
            strategy="STRICT_PACK",
            name=f"{GROUP_NAME}{session}",
            lifetime="detached",
            **where,
        )
        try:
            await self.until_placed(session, group)
        except BaseException:
            await asyncio.shield(asyncio.to_thread(remove_placement_group, group))
            raise
        return group

    async def until_placed(self, session: str, group: PlacementGroup) -> None:
        """Wait for the group's node: it is chosen at first, and anew after its death. Raises as ``reserve`` does."""
        deadline = time.monotonic() + self._timeout_s
        pause = _LOOK_S
        while (state := await asyncio.to_thread(_state_of, group)) != "CREATED":
            self._check_open()
            wanted = room_of(group.bundle_specs[0])
            if state == "REMOVED":
                raise PlacementFailed(f"the placement group of session {session} was removed while it was waited for")
            if state == "RESCHEDULING":
                await self._check_possible(session, wanted)
            if time.monotonic() > deadline:
                raise PlacementFailed(
                    f"no room for session {session} within {self._timeout_s:g} s: {await self._missing(wanted)}",
                    hint=ROOM_HINT,
                )
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_LOOK_S)

    async def release(self, group: PlacementGroup, cells: list[CellHandle]) -> None:
        """End the cells inside, then the group: the other way round leaves restarting actors hanging."""
        for cell in cells:
            await cell.kill()
        await asyncio.to_thread(remove_placement_group, group)

    async def _check_possible(self, session: str, wanted: Room) -> None:
        if not can_ever_hold(wanted, await self._nodes.with_room()):
            raise PlacementFailed(
                f"session {session} can never have what its group says: {await self._missing(wanted)}",
                hint="lower its cpu_slots and memory_mb, or dedicated_agents in the settings, or use larger nodes",
            )

    async def _missing(self, wanted: Room) -> str:
        return missing(wanted, await self._nodes.with_room()) + self._nodes.shunned()


def _state_of(group: PlacementGroup) -> str:
    return placement_group_table(group).get("state", "REMOVED")


def _end_stopped(pid: int, cell: str) -> None:
    """Kill the process if it is still there, stopped, and the one that we mean."""
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_STOPPED and "ray::" in " ".join(process.cmdline()):
            log.warning("%s (process %d) is stopped, and is killed", cell, pid)
            process.kill()
