"""What nodes have room for, as pure decisions: sessions' resource groups, and the node that the next cell goes to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Room(NamedTuple):
    """CPUs, and megabytes of memory."""

    cpus: float
    memory_mb: float = 0.0

    def holds(self, other: Room) -> bool:
        """Whether the other fits in."""
        return self.cpus >= other.cpus and self.memory_mb >= other.memory_mb

    def part_of(self, wanted: Room) -> float:
        """How much of what is wanted there is, at the scarcer of the two; 1 is enough."""
        parts = [have / want for have, want in zip(self, wanted, strict=True) if want]
        return min([1.0, *parts])

    def told(self, wanted: Room) -> str:
        """For a person; memory only if some is wanted."""
        memory = f" and {self.memory_mb:.0f} MB of memory" if wanted.memory_mb else ""
        return f"{self.cpus:g} CPU{memory}"


class NodeRoom(NamedTuple):
    """A node: what it has in all, and what is free now."""

    node: str
    total: Room
    free: Room


def can_ever_hold(wanted: Room, nodes: Sequence[NodeRoom]) -> bool:
    """Whether one node alone would have room if nothing else were there."""
    return any(node.total.holds(wanted) for node in nodes)


def missing(wanted: Room, nodes: Sequence[NodeRoom]) -> str:
    """What is wanted, and what the best node has: free now, and in all."""
    if not nodes:
        return f"it wants {wanted.told(wanted)}, and no node is there that can hold cells"
    best = max(nodes, key=lambda node: (node.total.part_of(wanted), node.free.part_of(wanted), node.free))
    free, total = best.free.told(wanted), best.total.told(wanted)
    where = "the node" if len(nodes) == 1 else f"the best of {len(nodes)} nodes"
    return f"it wants {wanted.told(wanted)} on one node; {where} has {free} free now, of {total} in all"


def emptiest_node(nodes: Sequence[NodeRoom], cells: Mapping[str, int], wanted: Room) -> str:
    """Where the next cell goes: to the node with the fewest cells a CPU among those with room, or nowhere in
    particular."""
    with_room = [node for node in nodes if node.free.holds(wanted)]
    chosen = min(with_room, key=lambda node: (cells.get(node.node, 0) + 1) / node.total.cpus, default=None)
    return chosen.node if chosen is not None else ""
