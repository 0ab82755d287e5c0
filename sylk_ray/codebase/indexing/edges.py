"""What the resolver says of a file, as edges between nodes."""

from __future__ import annotations

from collections.abc import Iterable

from sylk_ray.codebase.indexing.nodes import external_id, file_id, symbol_id
from sylk_ray.codebase.resolution import Link
from sylk_ray.knowledge import Edge, EdgeType


def edges_of(scope: str, path: str, links: Iterable[Link], modules: Iterable[tuple[str, int]]) -> list[Edge]:
    """The edges that begin in a file: to what it defines, uses and imports, in the repository and from elsewhere."""
    found = [
        Edge(
            source=_end(scope, link.source_path, link.source_symbol),
            target=_end(scope, link.target_path, link.target_symbol),
            type=link.type,
            weight=link.confidence,
            metadata={"line": link.line},
        )
        for link in links
    ]
    found += [
        Edge(
            source=file_id(scope, path),
            target=external_id(scope, module),
            type=EdgeType.IMPORTS,
            metadata={"line": line},
        )
        for module, line in modules
    ]
    return found


def _end(scope: str, path: str, symbol: str) -> str:
    return symbol_id(scope, path, symbol) if symbol else file_id(scope, path)
