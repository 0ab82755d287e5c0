"""What the resolver says of a file, as edges between nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sylk_ray.codebase.indexing.nodes import external_id, file_id, symbol_id
from sylk_ray.knowledge import Edge, EdgeType

if TYPE_CHECKING:
    from sylk_ray.codebase.resolution import Link, Resolver


def edges_of(scope: str, path: str, resolver: Resolver) -> list[Edge]:
    """The edges that begin in a file: to what it defines, uses and imports, in the repository and from elsewhere."""
    return holding_edges(scope, path, resolver) + meaning_edges(scope, path, resolver)


def holding_edges(scope: str, path: str, resolver: Resolver) -> list[Edge]:
    """Those to what the file itself defines: they can be stored before any other file is known."""
    return _edges(scope, resolver, resolver.holding_of(path))


def meaning_edges(scope: str, path: str, resolver: Resolver) -> list[Edge]:
    """Those to what it uses and imports."""
    found = _edges(scope, resolver, resolver.meaning_of(path))
    found += [
        Edge(
            source=file_id(scope, path),
            target=external_id(scope, module),
            type=EdgeType.IMPORTS,
            metadata={"lines": [line]},
        )
        for module, line in resolver.external_modules(path)
    ]
    return found


def _edges(scope: str, resolver: Resolver, links: Sequence[Link]) -> list[Edge]:
    """What stands within something that the file does not define, as in Rust's ``impl`` of another's type, is the
    file's."""

    def end(path: str, symbol: str) -> str:
        return symbol_id(scope, path, symbol) if symbol and resolver.defines(path, symbol) else file_id(scope, path)

    return [
        Edge(
            source=end(link.source_path, link.source_symbol),
            target=end(link.target_path, link.target_symbol),
            type=link.type,
            weight=link.confidence,
            metadata={"lines": list(link.lines)},
        )
        for link in links
    ]
