"""The nodes that can hold cells: the living ones, except those that do not see the state directory."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (Ray's own annotations are partly unknown)

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import ray
from ray._private.state import available_resources_per_node

from sylk_ray.runtime.room import NodeRoom, Room

_MB = 1 << 20


class Nodes:
    """Asks Ray each time, and remembers the strangers."""

    def __init__(self) -> None:
        self._strangers: set[str] = set()

    def shun(self, node: str) -> None:
        """A node proved not to see the state directory. Mended, it joins anew, under another id."""
        self._strangers.add(node)

    def labels(self) -> dict[str, str]:
        """What Ray shall ask of a node."""
        return {"ray.io/node-id": f"!in({','.join(sorted(self._strangers))})"} if self._strangers else {}

    def shunned(self) -> str:
        """For a person: the strangers, if there are any."""
        if not self._strangers:
            return ""
        names = ", ".join(sorted(node[:8] for node in self._strangers))
        return f" (not counting {names}, which do(es) not see the state directory)"

    async def with_room(self) -> list[NodeRoom]:
        """The living nodes that are no strangers."""
        return [node for node in await asyncio.to_thread(_look) if node.node not in self._strangers]

    async def has_room_now(self, wanted: Room, group: str = "") -> bool:
        """Whether it would fit in now: on a node, or in a placement group."""
        if group:
            return await asyncio.to_thread(_free_in, group) >= wanted.cpus
        return any(node.free.holds(wanted) for node in await self.with_room())


def _free_in(group: str) -> float:
    """The free CPUs of a placement group, which Ray counts as a resource of their own."""
    free: Mapping[str, Mapping[str, float]] = available_resources_per_node()
    return sum(node.get(f"CPU_group_{group}", 0.0) for node in free.values())


def _look() -> list[NodeRoom]:
    free: Mapping[str, Mapping[str, float]] = available_resources_per_node()
    nodes: list[dict[str, Any]] = ray.nodes()
    return [
        NodeRoom(node["NodeID"], _room(node["Resources"]), _room(free.get(node["NodeID"], {})))
        for node in nodes
        if node["Alive"] and node["Resources"].get("CPU", 0) > 0
    ]


def _room(resources: Mapping[str, float]) -> Room:
    return Room(round(resources.get("CPU", 0.0), 4), resources.get("memory", 0.0) / _MB)


def bundle_of(wanted: Room) -> dict[str, float]:
    """As Ray wants it: memory in bytes, and only if some is wanted."""
    bundle: dict[str, float] = {"CPU": wanted.cpus}
    if wanted.memory_mb:
        bundle["memory"] = int(wanted.memory_mb * _MB)
    return bundle


def room_of(bundle: Mapping[str, float]) -> Room:
    """What a placement group's bundle reserves."""
    return _room(bundle)
