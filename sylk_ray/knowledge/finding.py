"""Finding nodes: by meaning, by words, over domains, and by both meaning and graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from sylk_ray.knowledge.model import Domain, Edge, EdgeType, Node, NodeType
from sylk_ray.knowledge.vectors import All, AnyOf, Condition

DECAY = 0.7
"""What a step in the graph is worth beside its edge's weight."""
FAINT = 0.05
"""Branches whose graph score falls below are not followed."""


class SearchFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which nodes a search may find (6.4)."""

    types: frozenset[NodeType] = frozenset()
    """Empty means any."""
    where: Condition | None = None
    min_similarity: float | None = None
    """The cosine, in [-1, 1]."""

    def condition(self) -> Condition | None:
        """As the vector store takes it."""
        types = AnyOf("type", tuple(sorted(each.value for each in self.types))) if self.types else None
        return self.all_of([types, self.where])

    @staticmethod
    def all_of(conditions: Sequence[Condition | None]) -> Condition | None:
        """What holds when all of these hold; None when there are none."""
        parts = tuple(each for each in conditions if each is not None)
        return parts[0] if len(parts) == 1 else All(parts) if parts else None


class Found(msgspec.Struct, frozen=True):
    """A node that a search found."""

    node: Node
    score: float
    """By meaning the cosine; by words what BM25 gives."""
    edges: tuple[Edge, ...] = ()
    """Those from and to it, where they were asked for."""


class DomainFound(msgspec.Struct, frozen=True):
    """What one domain has of what several were asked for (6.19)."""

    status: Literal["found", "no_matches"]
    results: tuple[Found, ...] = ()
    hint: str = ""
    """What to do when there is nothing."""

    @property
    def count(self) -> int:
        """How many results there are."""
        return len(self.results)


class QueryConstraints(msgspec.Struct, frozen=True, kw_only=True):
    """How meaning and graph are combined (6.4)."""

    domains: tuple[Domain, ...] = (Domain.CODE,)
    scope: str | None = None
    """None: every scope of the domains."""
    depth: int = 2
    """Steps from what was found by meaning."""
    types: frozenset[EdgeType] = frozenset()
    alpha: float = 0.6
    """1: meaning alone, 0: graph alone."""
    min_score: float = 0.0
    max_results: int = 10
    seeds: int = 20
    """Found by meaning, and expanded."""
    filter: SearchFilter = SearchFilter()


class QueryResult(msgspec.Struct, frozen=True):
    """A node that was found by meaning, by its neighbours, or both."""

    node: Node
    vector_score: float
    graph_score: float
    score: float
    """``alpha * vector_score + (1 - alpha) * graph_score``."""
    path: tuple[Node, ...]
    """From what was found by meaning to this node; the node alone where it was found by meaning best."""
    edges: tuple[int, ...]
    """The numbers of the edges on the path."""

    @property
    def domain_path(self) -> tuple[Domain, ...]:
        """The domains that the path passes through, each once in a row."""
        passed: list[Domain] = []
        for node in self.path:
            if not passed or passed[-1] != node.domain:
                passed.append(node.domain)
        return tuple(passed)


def merge(found: Sequence[Sequence[Found]], k: int) -> list[Found]:
    """The best of several lists whose scores can be compared."""
    return sorted((each for some in found for each in some), key=lambda each: -each.score)[:k]
