"""What is asked of the graph, and what it answers."""

from __future__ import annotations

from typing import Literal

import msgspec

from sylk_ray.knowledge.model import EdgeType

Direction = Literal["out", "in", "both"]
"""Along the edges, against them, or either way."""


class PathConstraints(msgspec.Struct, frozen=True, kw_only=True):
    """Which paths count. The defaults let every one through that has at most 6 steps."""

    types: frozenset[EdgeType] = frozenset()
    """Edges that may be used; empty means any."""
    direction: Direction = "out"
    max_length: int = 6
    """Steps at most."""
    min_weight: float = 0.0
    """A path's weight is the product of its edges'; those below are given up as soon as they fall below."""
    avoid: frozenset[int] = frozenset()
    """Keys that no path passes through."""
    through: frozenset[int] = frozenset()
    """Keys that every path passes through."""
    limit: int = 10
    """Paths at most, the heaviest first and the shorter before the longer."""


class Path(msgspec.Struct, frozen=True):
    """Nodes from the one end to the other, and the edges between them (one fewer)."""

    keys: tuple[int, ...]
    edges: tuple[int, ...]
    """Their numbers in the store."""
    weight: float
    """The product of the edges' weights, in (0, 1]."""
