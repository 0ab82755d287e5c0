"""The graph in memory."""

from __future__ import annotations

import heapq
import threading
from collections.abc import Collection, Generator, Iterable, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, cast

from sylk_ray.knowledge.graph.cache import PathCache
from sylk_ray.knowledge.graph.paths import Direction, Path, PathConstraints
from sylk_ray.knowledge.model import EdgeType
from sylk_ray.knowledge.store.database import Database
from sylk_ray.knowledge.store.edges import Joined

if TYPE_CHECKING:
    import rustworkx


class Arc(NamedTuple):
    """An edge's payload."""

    id: int
    type: EdgeType
    weight: float


class Graph:
    """Nodes by key, and typed weighted edges. Threads may ask and change it; each call sees one state of it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._index: dict[int, int] = {}
        self._arcs: dict[int, int] = {}
        """The graph's number of an edge, by the store's."""
        self._loaded: set[tuple[str, str]] = set()
        self._lock = threading.RLock()
        self._paths: PathCache = PathCache()
        self.loads = 0
        """How often something was loaded."""

    @cached_property
    def _graph(self) -> rustworkx.PyDiGraph[int, Arc]:
        # Imported when something is to be walked: a search from the shell does without.
        import rustworkx

        return rustworkx.PyDiGraph(multigraph=True)

    # What is there

    def within(self, *keys: int) -> None:
        """Load the scopes of these nodes, and those that edges join them to, where they are not loaded yet."""
        missing = [key for key in keys if key not in self._index]
        if not missing:
            return
        rows = self._database.rows_in("SELECT DISTINCT domain, scope FROM nodes WHERE key IN ({})", missing)
        with self._lock:
            self.load(rows)

    def load(self, scopes: Iterable[tuple[str, str]]) -> None:
        """Load scopes, given as (domain, scope), and what edges join them to."""
        with self._lock:
            wanted = {(domain, scope) for domain, scope in scopes} - self._loaded
            while wanted:
                self._load(wanted)
                wanted = self._joined(wanted) - self._loaded

    def load_all(self) -> None:
        """Load everything that is known."""
        self.load(self._database.rows("SELECT DISTINCT domain, scope FROM nodes"))

    def _load(self, scopes: set[tuple[str, str]]) -> None:
        fresh: list[int] = []
        for domain, scope in scopes:
            rows = self._database.rows("SELECT key FROM nodes WHERE domain = ? AND scope = ?", (domain, scope))
            fresh += [key for (key,) in rows if key not in self._index]
        self._index.update(zip(fresh, self._graph.add_nodes_from(fresh), strict=True))
        for domain, scope in scopes:
            rows = self._database.rows(
                "SELECT edges.id, source, target, edges.type, weight FROM nodes JOIN edges ON source = nodes.key"
                " WHERE nodes.domain = ? AND scope = ?"
                " UNION SELECT edges.id, source, target, edges.type, weight FROM nodes JOIN edges ON target = nodes.key"
                " WHERE across AND nodes.domain = ? AND scope = ?",
                (domain, scope, domain, scope),
            )
            self._join(Joined(number, one, other, EdgeType(kind), weight) for number, one, other, kind, weight in rows)
        self._loaded |= scopes
        self.loads += 1
        self._paths.clear()

    def _joined(self, scopes: set[tuple[str, str]]) -> set[tuple[str, str]]:
        found: set[tuple[str, str]] = set()
        for domain, scope in scopes:
            found.update(
                self._database.rows(
                    "SELECT DISTINCT far.domain, far.scope FROM edges JOIN nodes near ON near.key = source"
                    " JOIN nodes far ON far.key = target WHERE across AND near.domain = ? AND near.scope = ?"
                    " UNION SELECT far.domain, far.scope FROM edges JOIN nodes near ON near.key = target"
                    " JOIN nodes far ON far.key = source WHERE across AND near.domain = ? AND near.scope = ?",
                    (domain, scope, domain, scope),
                )
            )
        return found

    def _join(self, edges: Iterable[Joined]) -> None:
        made = [
            (edge.id, self._index[edge.source], self._index[edge.target], Arc(edge.id, edge.type, edge.weight))
            for edge in edges
            if edge.id not in self._arcs and edge.source in self._index and edge.target in self._index
        ]
        if not made:
            return
        numbers = self._graph.add_edges_from([each[1:] for each in made])
        self._arcs.update(zip((each[0] for each in made), numbers, strict=True))

    # Keeping in step

    def add(self, scope: tuple[str, str], keys: Sequence[int]) -> None:
        """Nodes were stored in a scope (domain, scope); one that was never asked for stays unloaded."""
        with self._lock:
            if scope not in self._loaded:
                return
            fresh = [key for key in keys if key not in self._index]
            self._index.update(zip(fresh, self._graph.add_nodes_from(fresh), strict=True))

    def connect(self, edges: Sequence[Joined]) -> None:
        """Edges were stored, or have another weight."""
        with self._lock:
            for edge in edges:
                if (known := self._arcs.get(edge.id)) is not None:
                    self._graph.update_edge_by_index(known, Arc(edge.id, edge.type, edge.weight))
            loose = [e for e in edges if (e.source in self._index) != (e.target in self._index)]
            if loose:
                self.within(*(end for edge in loose for end in (edge.source, edge.target)))
            self._join(edges)
            self._paths.clear()

    def disconnect(self, numbers: Iterable[int]) -> None:
        """Edges were removed."""
        with self._lock:
            for number in numbers:
                if (known := self._arcs.pop(number, None)) is not None:
                    self._graph.remove_edge_from_index(known)
            self._paths.clear()

    def remove(self, keys: Iterable[int]) -> None:
        """Nodes were removed, and their edges with them."""
        with self._lock:
            gone = [self._index.pop(key) for key in keys if key in self._index]
            for index in gone:
                for _, _, arc in (*self._graph.out_edges(index), *self._graph.in_edges(index)):
                    self._arcs.pop(arc.id, None)
            if gone:
                self._graph.remove_nodes_from(gone)
                self._paths.clear()

    def forget(self, scope: tuple[str, str]) -> None:
        """A scope was dropped whole; what is asked for next is loaded again."""
        with self._lock:
            self._loaded.discard(scope)

    def undo(self, loads: int) -> None:
        """A transaction did not happen that began after so many ``loads``. If anything was loaded since, it may be of
        what did not happen: what is asked for next is loaded anew."""
        with self._lock:
            if loads == self.loads:
                return
            self.__dict__.pop("_graph", None)
            self._index.clear()
            self._arcs.clear()
            self._loaded.clear()
            self._paths.clear()

    @property
    def size(self) -> tuple[int, int]:
        """Nodes and edges that are loaded."""
        return len(self._index), len(self._arcs)

    # Asking

    def neighbours(
        self,
        key: int,
        *,
        depth: int = 1,
        types: Collection[EdgeType] = (),
        direction: Direction = "both",
        limit: int | None = None,
    ) -> dict[int, int]:
        """Keys within ``depth`` steps, with their distance, the nearest first; without the node itself."""
        found: dict[int, int] = {}
        for each, distance in self.breadth_first(key, types=types, direction=direction, max_depth=depth):
            if each != key:
                found[each] = distance
                if limit is not None and len(found) >= limit:
                    break
        return found

    def breadth_first(
        self,
        key: int,
        *,
        types: Collection[EdgeType] = (),
        direction: Direction = "out",
        max_depth: int | None = None,
    ) -> Generator[tuple[int, int]]:
        """(key, distance) in the order of their distance, each once, the start first. Stop reading to stop early."""
        seen, level, distance = {key}, [key], 0
        while level:
            for each in level:
                yield each, distance
            if max_depth is not None and distance >= max_depth:
                return
            distance += 1
            ahead: list[int] = []
            with self._asking(*level):
                for each in level:
                    for far, _ in self._steps(each, types, direction):
                        if far not in seen:
                            seen.add(far)
                            ahead.append(far)
            level = ahead

    def depth_first(
        self,
        key: int,
        *,
        types: Collection[EdgeType] = (),
        direction: Direction = "out",
        max_depth: int | None = None,
    ) -> Generator[tuple[int, int]]:
        """(key, depth) in depth-first preorder, each once, the start first. Stop reading to stop early.

        What is met again on a shorter way is gone through again, so that all within ``max_depth`` is found."""
        least: dict[int, int] = {}
        stack = [(key, 0)]
        while stack:
            each, depth = stack.pop()
            if each in least and (max_depth is None or least[each] <= depth):
                continue
            if each not in least:
                yield each, depth
            least[each] = depth
            if max_depth is not None and depth >= max_depth:
                continue
            with self._asking(each):
                ahead = [far for far, _ in self._steps(each, types, direction)]
            stack += [(far, depth + 1) for far in reversed(ahead)]

    def component(self, key: int, *, max_nodes: int = 1000) -> list[int]:
        """What is connected with a node in any way, the nearest first, itself included."""
        found: list[int] = []
        for each, _ in self.breadth_first(key, direction="both"):
            found.append(each)
            if len(found) >= max_nodes:
                break
        return found

    def shortest_path(
        self, source: int, target: int, *, types: Collection[EdgeType] = (), direction: Direction = "out"
    ) -> Path | None:
        """The path with the fewest steps, of those the heaviest; None if there is none."""
        question = ("shortest", source, target, frozenset(types), direction)
        with self._asking(source, target):
            if (known := self._paths.get(question)) is not None:
                return known[0] if known else None
            found = self._shortest(source, target, types, direction)
            self._paths.put(question, [found] if found else [])
            return found

    def _shortest(self, source: int, target: int, types: Collection[EdgeType], direction: Direction) -> Path | None:
        best: dict[int, Path] = {source: Path((source,), (), 1.0)}
        level = {source: best[source]}
        while level and target not in best:
            ahead: dict[int, Path] = {}
            for key, path in level.items():
                for far, arc in self._steps(key, types, direction):
                    if far in best:
                        continue
                    weight = path.weight * arc.weight
                    if far not in ahead or weight > ahead[far].weight:
                        ahead[far] = Path((*path.keys, far), (*path.edges, arc.id), weight)
            best |= ahead
            level = ahead
        return best.get(target)

    def find_paths(self, source: int, target: int, constraints: PathConstraints | None = None) -> list[Path]:
        """Paths without repetition that the constraints allow, the heaviest first."""
        wanted = constraints or PathConstraints()
        question = ("paths", source, target, wanted)
        with self._asking(source, target):
            if (known := self._paths.get(question)) is not None:
                return known
            found = self._search(source, target, wanted)
            self._paths.put(question, found)
            return found

    def _search(self, source: int, target: int, wanted: PathConstraints) -> list[Path]:
        reach = self._reach(target, wanted)
        found: list[Path] = []
        queue: list[tuple[float, int, tuple[int, ...], tuple[int, ...]]] = [(-1.0, 0, (source,), ())]
        while queue and len(found) < wanted.limit:
            negative, steps, keys, edges = heapq.heappop(queue)
            here = keys[-1]
            if here == target and edges:
                if wanted.through <= set(keys):
                    found.append(Path(keys, edges, -negative))
                continue
            for far, arc in self._steps(here, wanted.types, wanted.direction):
                weight = -negative * arc.weight
                left = reach.get(far)
                if (
                    left is None
                    or steps + 1 + left > wanted.max_length
                    or weight < wanted.min_weight
                    or far in keys
                    or (far in wanted.avoid and far != target)
                ):
                    continue
                heapq.heappush(queue, (-weight, steps + 1, (*keys, far), (*edges, arc.id)))
        return found

    def _reach(self, target: int, wanted: PathConstraints) -> dict[int, int]:
        """How many steps each node is from the target, so that branches which cannot end in time are not begun."""
        back: Direction = {"out": "in", "in": "out", "both": "both"}[wanted.direction]  # type: ignore[assignment]
        return dict(self.breadth_first(target, types=wanted.types, direction=back, max_depth=wanted.max_length))

    def cycles(self, *, types: Collection[EdgeType] = (), limit: int = 100) -> list[list[int]]:
        """The groups of nodes that lead back to themselves (strongly connected components), the greatest first."""
        import rustworkx

        with self._lock:
            self.load_all()
            graph = self._graph
            if types:
                arcs = [(s, t, a) for s, t, a in graph.weighted_edge_list() if a.type in types]
                graph = graph.copy()
                graph.clear_edges()
                graph.add_edges_from(arcs)
            groups = [g for g in rustworkx.strongly_connected_components(graph) if len(g) > 1]
            loops = [[s] for s, t in graph.edge_list() if s == t]
            found = [sorted(graph[index] for index in group) for group in groups]
            found += [[graph[index]] for [index] in loops if not any(graph[index] in group for group in found)]
        return sorted(found, key=len, reverse=True)[:limit]

    def steps(
        self, key: int, *, types: Collection[EdgeType] = (), direction: Direction = "both"
    ) -> list[tuple[int, int, float]]:
        """One step from a node: (key, the edge's number, its weight), in the order of the edges."""
        with self._asking(key):
            return [(far, arc.id, arc.weight) for far, arc in self._steps(key, types, direction)]

    @contextmanager
    def _asking(self, *keys: int) -> Generator[None]:
        with self._lock:
            self.within(*keys)
            yield

    def _steps(self, key: int, types: Collection[EdgeType], direction: Direction) -> list[tuple[int, Arc]]:
        index = self._index.get(key)
        if index is None:
            return []
        graph, found = self._graph, list[tuple[int, Arc]]()
        if direction != "in":
            found += [(graph[far], arc) for _, far, arc in cast("list[tuple[int, int, Arc]]", graph.out_edges(index))]
        if direction != "out":
            found += [(graph[near], arc) for near, _, arc in cast("list[tuple[int, int, Arc]]", graph.in_edges(index))]
        if types:
            found = [(far, arc) for far, arc in found if arc.type in types]
        return sorted(found, key=lambda step: step[1].id)
