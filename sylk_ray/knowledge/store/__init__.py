"""Nodes, edges, provenance and conflicts in one SQLite file, and the outbox that the vectors follow.

``Database`` is the file; each module has what can be done to one kind of record in it. Every writing function is one
transaction, alone or within a greater one, and happens whole or not at all::

    database = Database(directory / "knowledge.db")
    with database.transaction():
        nodes.insert(database, [Node(id="a", …), Node(id="b", …)], embedded={"a"}, now=clock())
        edges.insert(database, [Edge(source="a", target="b", type=EdgeType.CONTAINS)], now=clock())

Any number of threads read while one writes. Nothing here knows the vectors, the graph or the gate.
"""

from sylk_ray.knowledge.store import edges, generations, memos, nodes, outbox, records
from sylk_ray.knowledge.store.database import Database
from sylk_ray.knowledge.store.errors import (
    DuplicateNode,
    InvalidEdge,
    InvalidNode,
    KnowledgeDamaged,
    KnowledgeTooNew,
    KnowledgeUnavailable,
    UnknownNode,
)
from sylk_ray.knowledge.store.statistics import StoreStatistics, statistics

__all__ = [
    "Database",
    "DuplicateNode",
    "InvalidEdge",
    "InvalidNode",
    "KnowledgeDamaged",
    "KnowledgeTooNew",
    "KnowledgeUnavailable",
    "StoreStatistics",
    "UnknownNode",
    "edges",
    "generations",
    "memos",
    "nodes",
    "outbox",
    "records",
    "statistics",
]
