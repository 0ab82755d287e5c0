"""The cycles of a graph, each as a path that a person can follow.

One shortest cycle is found for each strongly connected component (Tarjan 1972, without recursion, since a
chain may have 10,000 nodes). Removing an edge of it may uncover another; naming all would be exponential.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence


def cycles(depends_on: Mapping[str, Sequence[str]]) -> list[tuple[str, ...]]:
    """A closed path ``(a, b, a)`` for each component, from its first declared node; not ``(a, a)``."""
    order = {name: index for index, name in enumerate(depends_on)}
    components = [frozenset(found) for found in _Components(depends_on).find() if len(found) > 1]
    firsts = {min(found, key=order.__getitem__): found for found in components}
    return [_shortest_through(first, firsts[first], depends_on) for first in sorted(firsts, key=order.__getitem__)]


class _Components:
    """Tarjan's algorithm: a node whose lowest reachable index is its own closes a component."""

    def __init__(self, edges: Mapping[str, Sequence[str]]) -> None:
        self._edges = edges
        self._index: dict[str, int] = {}
        self._low: dict[str, int] = {}
        self._open: dict[str, None] = {}
        self._path: list[tuple[str, Iterator[str]]] = []

    def find(self) -> Iterator[list[str]]:
        for root in self._edges:
            if root not in self._index:
                self._enter(root)
            while self._path:
                node, targets = self._path[-1]
                target = next((each for each in targets if each in self._edges), None)
                if target is None:
                    yield from self._leave(node)
                elif target not in self._index:
                    self._enter(target)
                elif target in self._open:
                    self._low[node] = min(self._low[node], self._index[target])

    def _enter(self, node: str) -> None:
        self._index[node] = self._low[node] = len(self._index)
        self._open[node] = None
        self._path.append((node, iter(self._edges[node])))

    def _leave(self, node: str) -> Iterator[list[str]]:
        self._path.pop()
        if self._path:
            parent = self._path[-1][0]
            self._low[parent] = min(self._low[parent], self._low[node])
        if self._low[node] == self._index[node]:
            component: list[str] = []
            while not component or component[-1] != node:
                component.append(self._open.popitem()[0])
            yield component


def _shortest_through(
    first: str,
    component: frozenset[str],
    edges: Mapping[str, Sequence[str]],
) -> tuple[str, ...]:
    """A breadth-first walk from ``first`` back to itself that stays inside its component."""
    came_from: dict[str, str] = {}
    waiting = deque([first])
    while waiting:
        node = waiting.popleft()
        for target in edges[node]:
            if target == first and node != first:
                return (first, *_trail(node, first, came_from), first)
            if target in component and target != first and target not in came_from:
                came_from[target] = node
                waiting.append(target)
    raise AssertionError(f"{first} is in a component of {len(component)} nodes and on no cycle")


def _trail(node: str, first: str, came_from: Mapping[str, str]) -> list[str]:
    trail = [node]
    while came_from[trail[-1]] != first:
        trail.append(came_from[trail[-1]])
    return trail[::-1]
