"""The order of a graph: its layers, which are only shown, and the ranks by which ready nodes are started."""

from __future__ import annotations

from collections.abc import Mapping
from graphlib import TopologicalSorter

from sylk_ray.dag.model import Graph
from sylk_ray.dag.validation import check

Rank = tuple[int, int, int]
"""Sorts by lane, in a lane the node with the longest remaining path first, and equals in declaration order."""


def layers(graph: Graph) -> tuple[tuple[str, ...], ...]:
    """Each node in the first layer after all its dependencies. Nothing waits for a layer to end: this is for
    people to look at. Raises InvalidGraph."""
    check(graph)
    depends_on = {node.name: node.depends_on for node in graph.nodes}
    depth: dict[str, int] = {}
    for name in TopologicalSorter(depends_on).static_order():
        depth[name] = 1 + max((depth[parent] for parent in depends_on[name]), default=-1)
    found: list[list[str]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for node in graph.nodes:
        found[depth[node.name]].append(node.name)
    return tuple(tuple(layer) for layer in found)


def children_of(graph: Graph) -> dict[str, list[str]]:
    """The nodes that depend on each node, in declaration order."""
    children: dict[str, list[str]] = {node.name: [] for node in graph.nodes}
    for node in graph.nodes:
        for parent in node.depends_on:
            children[parent].append(node.name)
    return children


def ranks(graph: Graph, children: Mapping[str, list[str]]) -> dict[str, Rank]:
    """In a lane the longest remaining path first: the critical path decides when the whole graph ends (Graham 1969)."""
    remaining: dict[str, int] = {}
    for name in TopologicalSorter(children).static_order():
        remaining[name] = 1 + max((remaining[child] for child in children[name]), default=0)
    return {node.name: (node.lane, -remaining[node.name], index) for index, node in enumerate(graph.nodes)}
