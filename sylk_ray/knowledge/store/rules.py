"""What a node and an edge may be.

Structural and temporal edges stay within a domain. Those that cross are the six of the specification (6.3,
"Cross-Domain Edge Rules"); ``references`` and ``documents`` are as useful within a domain, and are allowed there too.
"""

from __future__ import annotations

from sylk_ray.knowledge.model import NODE_TYPES, Domain, EdgeType, Node
from sylk_ray.knowledge.store.errors import InvalidEdge, InvalidNode

_CODE, _HISTORY, _ACADEMIC = Domain.CODE, Domain.HISTORY, Domain.ACADEMIC
_WITHIN = frozenset((domain, domain) for domain in Domain)

EDGE_RULES: dict[EdgeType, frozenset[tuple[Domain, Domain]]] = {
    EdgeType.CALLS: frozenset({(_CODE, _CODE)}),
    EdgeType.IMPORTS: frozenset({(_CODE, _CODE)}),
    EdgeType.DEFINES: frozenset({(_CODE, _CODE)}),
    EdgeType.IMPLEMENTS: frozenset({(_CODE, _CODE)}),
    EdgeType.CONTAINS: _WITHIN,
    EdgeType.FOLLOWS: _WITHIN,
    EdgeType.CAUSES: frozenset({(_HISTORY, _HISTORY)}),
    EdgeType.RESOLVES: frozenset({(_HISTORY, _HISTORY)}),
    EdgeType.REFERENCES: _WITHIN | {(_CODE, _ACADEMIC), (_ACADEMIC, _CODE)},
    EdgeType.APPLIES_TO: frozenset({(_ACADEMIC, _CODE)}),
    EdgeType.DOCUMENTS: frozenset({(_ACADEMIC, _CODE), (_CODE, _CODE), (_ACADEMIC, _ACADEMIC)}),
    EdgeType.MODIFIED: frozenset({(_HISTORY, _CODE)}),
    EdgeType.LED_TO: frozenset({(_HISTORY, _HISTORY)}),
    EdgeType.USED_PATTERN: frozenset({(_HISTORY, _ACADEMIC)}),
}
"""From which domain to which an edge of a type may go."""


def check_node(node: Node) -> None:
    """Raises InvalidNode for one without an id, or of a type that its domain does not have."""
    if not node.id:
        raise InvalidNode("a node has no id", hint="Give it one that is unique over all domains.")
    if node.type not in NODE_TYPES[node.domain]:
        raise InvalidNode(
            f"the node {node.id!r} cannot be a {node.type} in the domain {node.domain}",
            hint=f"There are {', '.join(sorted(NODE_TYPES[node.domain]))}.",
        )


def check_edge(kind: EdgeType, weight: float, source: tuple[str, Domain], target: tuple[str, Domain]) -> None:
    """Raises InvalidEdge for one between domains that it may not join, or with a weight outside (0, 1]."""
    if not 0 < weight <= 1:
        raise InvalidEdge(f"the edge {source[0]!r} {kind} {target[0]!r} weighs {weight}", hint="A weight is in (0, 1].")
    allowed = EDGE_RULES[kind]
    if (source[1], target[1]) not in allowed:
        ways = ", ".join(f"{one} -> {other}" for one, other in sorted(allowed))
        raise InvalidEdge(
            f"an edge {kind} cannot go from {source[0]!r} ({source[1]}) to {target[0]!r} ({target[1]})",
            hint=f"It may go {ways}.",
        )
