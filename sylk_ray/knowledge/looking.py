"""What is looked up in a knowledge base without a search: by id, by key, by place and by name."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from sylk_ray.knowledge.model import Conflict, Domain, Edge, EdgeType, Node, NodeType, Provenance
from sylk_ray.knowledge.store import Database, StoreStatistics, edges, memos, nodes, records, statistics


class Looking:
    """The reading half of a knowledge base. Threads may share it; each call sees one state of the store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, name: str) -> Node:
        """The node with an id. Raises UnknownNode."""
        return nodes.get(self._database, name)

    def find(self, names: Iterable[str]) -> dict[str, Node]:
        """Those of these ids that there are."""
        return nodes.find(self._database, names)

    def by_key(self, keys: Iterable[int]) -> dict[int, Node]:
        """Those of these keys that there are."""
        return nodes.by_key(self._database, keys)

    def briefs(self, keys: Iterable[int]) -> dict[int, Node]:
        """As ``by_key``, without their contents: a third of the time."""
        return nodes.briefs(self._database, keys)

    def select(
        self,
        *,
        domain: Domain | None = None,
        types: Collection[NodeType] = (),
        scope: str | None = None,
        path: str | None = None,
        name: str | None = None,
        content_hash: str | None = None,
        limit: int | None = None,
    ) -> list[Node]:
        """Nodes with all that is given, in the order in which they were stored."""
        return nodes.select(
            self._database,
            domain=domain,
            types=types,
            scope=scope,
            path=path,
            name=name,
            digest=content_hash,
            limit=limit,
        )

    def ids_at(self, domain: Domain, scope: str, path: str) -> list[str]:
        """The ids of the nodes that stand at a path."""
        return nodes.ids_at(self._database, domain, scope, path)

    def paths(self, domain: Domain, scope: str) -> list[str]:
        """Every path of a scope at which a node stands, in order."""
        return nodes.paths_of(self._database, domain, scope)

    def names(self, domain: Domain, scope: str, *, limit: int) -> list[str]:
        """The names of what a scope defines, each once."""
        return nodes.names(self._database, domain, scope, limit)

    def names_in(self, domain: Domain, scope: str, paths: Iterable[str]) -> list[tuple[str, str]]:
        """(path, name) of what is defined at these paths."""
        return nodes.names_in(self._database, domain, scope, paths)

    def other_cases(self, domain: Domain, scope: str, name: str) -> list[str]:
        """The names in a scope that differ from one in the case of their letters alone."""
        return nodes.other_cases(self._database, domain, scope, name)

    def unreferred(self, domain: Domain, scope: str, kind: NodeType) -> list[str]:
        """The ids of the nodes of a type that no edge leads to."""
        return nodes.unreferred(self._database, domain, scope, kind)

    def edge(self, number: int) -> Edge | None:
        """The edge with a number."""
        return edges.get(self._database, number)

    def edges_between(self, source: str, target: str) -> list[Edge]:
        """The edges from one node to another."""
        return edges.between(self._database, source, target)

    def edges_among(self, keys: Collection[int], types: Collection[EdgeType]) -> list[tuple[int, int, float]]:
        """(source, target, weight) of the edges of these types that join these nodes."""
        return edges.among(self._database, keys, types)

    def outgoing(self, name: str, types: Collection[EdgeType] = ()) -> list[Edge]:
        """The edges from a node, of any type or of these."""
        return edges.outgoing(self._database, name, types)

    def incoming(self, name: str, types: Collection[EdgeType] = ()) -> list[Edge]:
        """The edges to a node, of any type or of these."""
        return edges.incoming(self._database, name, types)

    def provenance(self, name: str) -> list[Provenance]:
        """Where a node comes from."""
        return records.provenance_of(self._database, name)

    def conflicts(self, name: str | None = None, *, open_only: bool = False) -> list[Conflict]:
        """The conflicts of a node, or all."""
        return records.conflicts_of(self._database, name, open_only=open_only)

    def memos(self, domain: Domain, scope: str, prefix: str = "") -> dict[str, bytes]:
        """The memos of a scope whose names begin so, by name, in order."""
        return memos.read(self._database, domain, scope, prefix)

    def statistics(self) -> StoreStatistics:
        """How much there is."""
        return statistics(self._database)
