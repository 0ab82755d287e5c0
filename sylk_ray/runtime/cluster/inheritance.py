"""What a fleet finds when it comes to life: the cells that another one of the same runtime has left."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (Ray's own annotations are partly unknown)

from __future__ import annotations

import asyncio
import logging
from typing import Any, NamedTuple

import ray
from ray import PlacementGroupID
from ray.util.placement_group import PlacementGroup, placement_group_table

from sylk_ray.config import Settings
from sylk_ray.runtime.cluster.cell import CellInfo
from sylk_ray.runtime.cluster.census import look_at
from sylk_ray.runtime.cluster.factory import CELL_NAME, GROUP_NAME, CellHandle
from sylk_ray.runtime.cluster.shared_cells import is_shared
from sylk_ray.runtime.cluster.transport import NAMESPACE
from sylk_ray.runtime.directory import SessionBinding
from sylk_ray.runtime.slots import AgentInfo

PATIENCE_S = 10.0

log = logging.getLogger("sylk.fleet")


class _Found(NamedTuple):
    handle: CellHandle
    info: CellInfo
    agents: list[AgentInfo]


class Inheritance:
    """The living cells and what they said, and the sessions' placement groups."""

    def __init__(self, found: list[_Found], placement_groups: dict[str, PlacementGroup]) -> None:
        self._found = found
        self.placement_groups = placement_groups

    def idle(self) -> list[CellHandle]:
        """Cells in which no session is open: not yet, or not any more."""
        return [each.handle for each in self._found if not each.info.bindings and not is_shared(each.info.purpose)]

    def shared(self) -> list[tuple[CellHandle, CellInfo]]:
        """Cells of shared agents that have one to themselves."""
        return [(each.handle, each.info) for each in self._found if is_shared(each.info.purpose)]

    def held(self) -> list[tuple[CellHandle, CellInfo]]:
        """Cells with sessions."""
        return [(each.handle, each.info) for each in self._found if each.info.bindings]

    def sessions(self) -> list[tuple[SessionBinding, dict[str, str]]]:
        """Each session's newest binding, and the cells of its groups of agents by their names."""
        bindings: dict[str, SessionBinding] = {}
        groups: dict[str, dict[str, str]] = {}
        for each in self._found:
            for binding in each.info.bindings:
                known = bindings.get(binding.session)
                # The one that has seen more cells replaced is the newer.
                if known is None or len(binding.fenced) > len(known.fenced):
                    bindings[binding.session] = binding
            for agent in each.agents:
                name = agent.address.split("/", 2)[2]
                if name != "main":
                    groups.setdefault(agent.session, {})[name] = each.handle.cell
        return [(binding, groups.get(session, {})) for session, binding in bindings.items()]


async def living_cells(settings: Settings) -> Inheritance:
    """Look for them in Ray. One that does not answer is ended: its sessions are brought back from their journals."""
    listed: Any = await asyncio.to_thread(ray.util.list_named_actors, all_namespaces=True)
    names = [each["name"] for each in listed if each["namespace"] == NAMESPACE and each["name"].startswith(CELL_NAME)]
    handles: list[CellHandle] = []
    for name in names:
        try:
            handles.append(CellHandle(name, await asyncio.to_thread(ray.get_actor, name, NAMESPACE)))
        except ValueError:
            continue
    found: list[_Found] = []
    for handle, answer in zip(
        handles, await asyncio.gather(*(look_at(handle, PATIENCE_S) for handle in handles)), strict=True
    ):
        if answer is None:
            await handle.kill()
        elif answer[0].home == str(settings.home):
            handle.node, handle.pid = answer[0].node, answer[0].pid
            found.append(_Found(handle, *answer))
    if found:
        log.warning("this fleet takes over %d cell(s)", len(found))
    return Inheritance(found, await asyncio.to_thread(_groups))


def _groups() -> dict[str, PlacementGroup]:
    """By session."""
    found: dict[str, PlacementGroup] = {}
    for group in placement_group_table().values():
        if group["name"].startswith(GROUP_NAME) and group["state"] != "REMOVED":
            known = PlacementGroup(PlacementGroupID(bytes.fromhex(group["placement_group_id"])))
            found[group["name"].removeprefix(GROUP_NAME)] = known
    return found
