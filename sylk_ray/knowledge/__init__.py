"""What is known, of the code, of what was done and of what is written elsewhere: nodes, edges, vectors, and a gate.

SQLite holds the nodes and edges of all domains, with where they come from and what contradicts them; Qdrant holds
their vectors, a collection a domain; rustworkx walks the graph; XOR filters and Roaring bitmaps answer "nothing" before
any of them is asked::

    with KnowledgeBase(home / "knowledge") as known:
        known.insert([Node(id="a", domain=Domain.CODE, type=NodeType.FUNCTION, scope=root, content="def parse…")])
        known.connect([Edge(source="a", target="b", type=EdgeType.CALLS)])
        known.search.by_meaning("where is the input parsed", k=10, scope=root)

A write is one SQLite transaction that also notes in an outbox what the vectors must become; the outbox is carried out
after it, and again on opening, so the two never disagree for longer than a crash lasts. Nothing here knows Ray or any
agent: who owns a knowledge base, and how others reach it, is said elsewhere.
"""

from sylk_ray.knowledge.base import KnowledgeBase
from sylk_ray.knowledge.finding import DomainFound, Found, QueryConstraints, QueryResult, SearchFilter
from sylk_ray.knowledge.model import Conflict, Domain, Edge, EdgeType, Node, NodeType, Provenance

__all__ = [
    "Conflict",
    "Domain",
    "DomainFound",
    "Edge",
    "EdgeType",
    "Found",
    "KnowledgeBase",
    "Node",
    "NodeType",
    "Provenance",
    "QueryConstraints",
    "QueryResult",
    "SearchFilter",
]
