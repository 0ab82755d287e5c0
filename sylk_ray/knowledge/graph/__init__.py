"""Walking the graph: rustworkx in memory, loaded from the file and kept in step with it.

Nodes are known here by their keys alone. A scope is loaded when something in it is first asked for, with every scope
that an edge joins it to, so that a search in one repository does not pay for the others::

    graph = Graph(database)
    graph.within(key)                                        # its scope is there now
    graph.neighbours(key, depth=2, types={EdgeType.CALLS})   # {key: distance}
    graph.shortest_path(one, other)                          # Path(keys, edges), or None
"""

from sylk_ray.knowledge.graph.graph import Graph
from sylk_ray.knowledge.graph.paths import Direction, Path, PathConstraints

__all__ = ["Direction", "Graph", "Path", "PathConstraints"]
