"""Creates and ends the Ray actors that are cells, and the placement groups that are sessions' resources."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (Ray's own annotations are partly unknown)

from __future__ import annotations

import asyncio
import logging
import uuid
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError
from ray.util.placement_group import PlacementGroup, placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from sylk_ray.config import Settings
from sylk_ray.runtime.cluster.cell import actor_class
from sylk_ray.runtime.cluster.transport import NAMESPACE
from sylk_ray.runtime.placement import PlacementFailed

CELL_CPUS = 0.01
"""A cell needs a resource, or Ray ignores soft node affinity half the time; its work is I/O."""
AGENT_CPUS = 0.001

log = logging.getLogger("sylk.fleet")


class CellHandle:
    """A cell and the actor that is it."""

    def __init__(self, cell: str, actor: Any) -> None:
        self.cell = cell
        self.actor = actor
        self.node = ""

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
        """End the process at once."""
        await asyncio.to_thread(ray.kill, self.actor, no_restart=True)


class CellFactory:
    """Every wait has a deadline: Ray leaves infeasible requests pending for ever, without a word."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._timeout_s = settings.placement_timeout_s

    async def create(
        self,
        *,
        cell: str | None = None,
        class_name: str = "Cell",
        title: str = "",
        service: str = "",
        group: PlacementGroup | None = None,
        cpus: float = CELL_CPUS,
    ) -> CellHandle:
        """A cell whose host is up; raises PlacementFailed, saying what was wanted and what there is."""
        cell = cell or f"cell-{uuid.uuid4().hex[:6]}"
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
        settings = self._settings.model_dump_json()
        actor = await asyncio.to_thread(
            lambda: actor_class(class_name).options(**options).remote(cell, settings, title, service)
        )
        handle = CellHandle(cell, actor)
        try:
            handle.node = await handle.call("adopt", title, timeout=self._timeout_s)
        except TimeoutError:
            await handle.kill()
            raise PlacementFailed(
                f"no room for cell {cell} ({cpus} CPU{' in a placement group' if group else ''}) "
                f"within {self._timeout_s:g} s; free now: {_free()}",
                hint="close sessions (`sylk session list`), or start with more: `sylk up --num-cpus N`",
            ) from None
        except RayError as problem:
            raise PlacementFailed(f"cell {cell} did not start: {str(problem).strip().splitlines()[-1]}") from problem
        return handle

    async def reserve(self, session: str, cpus: float) -> PlacementGroup:
        """A session's placement group; raises PlacementFailed when the cluster has no room for it in time."""
        group = await asyncio.to_thread(
            placement_group, [{"CPU": cpus}], strategy="PACK", name=f"sylk-{session}", lifetime="detached"
        )
        if not await asyncio.to_thread(group.wait, self._timeout_s):
            await asyncio.to_thread(remove_placement_group, group)
            raise PlacementFailed(
                f"no room for session {session}, which wants {cpus:g} CPU, within {self._timeout_s:g} s; "
                f"free now: {_free()}",
                hint="close sessions (`sylk session list`), or start with more: `sylk up --num-cpus N`",
            )
        return group

    async def release(self, group: PlacementGroup, cells: list[CellHandle]) -> None:
        """End the cells inside, then the group: the other way round leaves restarting actors hanging."""
        for cell in cells:
            await cell.kill()
        await asyncio.to_thread(remove_placement_group, group)


def _free() -> str:
    free = ray.available_resources()
    return f"{free.get('CPU', 0):g} CPU of {ray.cluster_resources().get('CPU', 0):g}"
