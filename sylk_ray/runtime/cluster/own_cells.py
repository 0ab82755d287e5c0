"""The cells that a session has to itself, in its placement group: the densities ``session`` and ``dedicated``."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# (Ray's own annotations are partly unknown)

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

from ray.util.placement_group import PlacementGroup

from sylk_ray.config import Settings
from sylk_ray.fairness import Group
from sylk_ray.messaging import UnknownAddress
from sylk_ray.runtime.cluster.factory import AGENT_CPUS, CELL_CPUS, CellFactory, CellHandle, NodeIsStrange
from sylk_ray.runtime.directory import ROUTER
from sylk_ray.runtime.room import Room

HOME = ("cell", "main")
"""What a session's own cell is made for under the density ``session``: it holds all agents."""

log = logging.getLogger("sylk.fleet")


class OwnCells:
    """``began`` is told of each new cell. Whoever calls sees to it that there is one call at a time for a session."""

    def __init__(self, factory: CellFactory, settings: Settings, began: Callable[[CellHandle], None]) -> None:
        self._factory = factory
        self._settings = settings
        self._began = began
        self._groups: dict[str, PlacementGroup] = {}
        self._limits: dict[str, Group] = {}
        self._owned: defaultdict[str, dict[tuple[str, str], CellHandle]] = defaultdict(dict)

    async def take_over(self, groups: Mapping[str, PlacementGroup], cells: Mapping[str, CellHandle]) -> None:
        """What another fleet has left: cells by their purpose. A group with nobody in it is given back, for whoever
        opens its session asks for one."""
        for purpose, handle in cells.items():
            session, role, name = purpose.split("/", 2)
            self._owned[session][(role, name)] = handle
        for session, group in groups.items():
            if session in self._owned:
                self._groups[session] = group
            else:
                log.warning("the placement group of session %s is empty, and given back", session)
                await self._factory.release(group, [])

    def limit(self, session: str, limits: Group) -> None:
        """What the session's placement group reserves, from its next reservation on."""
        self._limits[session] = limits

    async def home(self, session: str) -> CellHandle:
        """The cell of a session's router. Raises PlacementFailed."""
        while True:
            await self._reserve(session)
            try:
                if self._settings.density == "session":
                    return await self._own(session, *HOME, title=f"Cell(session {session})")
                return await self.dedicated(session, ROUTER, "main")
            except NodeIsStrange as error:
                log.warning("session %s: %s", session, error)
                await self.put_away(session)

    async def dedicated(self, session: str, role: str, name: str) -> CellHandle:
        """The cell of one agent. Raises PlacementFailed, and UnknownAddress when the group is full."""
        owned = self._owned[session]
        if (role, name) not in owned and len(owned) >= self._settings.dedicated_agents:
            raise UnknownAddress(
                f"session {session} has {len(owned)} agents, all that its placement group has room for",
                hint="raise dedicated_agents in the settings, or use another density",
            )
        title = f"{class_name_of(role)}({session}/{role}/{name})"
        return await self._own(session, role, name, class_name=class_name_of(role), title=title, cpus=AGENT_CPUS)

    def let_go(self, session: str, name: str) -> list[CellHandle]:
        """The cells of the agents that share a name are not the session's any more."""
        owned = self._owned.get(session, {})
        return [owned.pop(key) for key in list(owned) if key[1] == name]

    def lose(self, cell: str) -> None:
        """A cell died."""
        for owned in self._owned.values():
            for key in [key for key, known in owned.items() if known.cell == cell]:
                del owned[key]

    def cells_of(self, session: str) -> list[CellHandle]:
        """The session's own."""
        return list(self._owned.get(session, {}).values())

    async def put_away(self, session: str) -> list[CellHandle]:
        """End a session's cells and give its placement group back; the cells that were ended."""
        ended = list(self._owned.pop(session, {}).values())
        group = self._groups.pop(session, None)
        for handle in ended:
            await handle.kill()
        if group is not None:
            await self._factory.release(group, [])
        return ended

    def forget(self, session: str) -> None:
        """It is over."""
        self._limits.pop(session, None)

    async def _reserve(self, session: str) -> None:
        group = self._groups.get(session)
        if group is not None:
            await self._factory.until_placed(session, group)
        else:
            self._groups[session] = await self._factory.reserve(session, self._room_for(session))

    def _room_for(self, session: str) -> Room:
        """What the cells need, and what the session's limits say beyond."""
        per_density = {"session": CELL_CPUS, "dedicated": self._settings.dedicated_agents * AGENT_CPUS}
        limits = self._limits.get(session, Group())
        cells = per_density[self._settings.density]
        return Room(round(cells + (limits.cpu_slots or 0.0), 4), limits.memory_mb or 0.0)

    async def _own(self, session: str, role: str, name: str, **how: Any) -> CellHandle:
        owned = self._owned[session]
        known = owned.get((role, name))
        if known is not None:
            return known
        purpose = f"{session}/{role}/{name}"
        handle = await self._factory.create(group=self._groups[session], purpose=purpose, **how)
        self._began(handle)
        owned[(role, name)] = handle
        return handle


def class_name_of(role: str) -> str:
    """What the Ray dashboard calls an actor of a role: ``session_router`` becomes ``SessionRouter``."""
    if role == ROUTER:
        return "SessionRouter"
    return "".join(part.capitalize() for part in role.replace("-", "_").split("_"))
