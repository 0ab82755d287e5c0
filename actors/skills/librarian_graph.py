"""Looking at what depends on what."""

from __future__ import annotations

import asyncio
from typing import Annotated

from pydantic import Field

from actors.skills.curating import Answered, LibrarianContext, found, nothing, within_budget
from sylk_ray.codebase.requests import Dependencies, Dependency, DependencyGraph
from sylk_ray.skills import skill

Depth = Annotated[int, Field(ge=1, le=5)]
_NO_SUCH_NAME = "Nothing has this name; give a symbol, a file's path or a module."


@skill(domain="codebase", keywords=["imports", "dependencies", "packages", "graph"], only_looks=True)
async def analyze_imports(ctx: LibrarianContext, package: str) -> Answered:
    """Tell what a package, file or module imports, and what imports it.

    Args:
        package: A folder, a file's path, or a module's name.
    """
    own, others = await asyncio.gather(_graph(ctx, package, 1, False), _graph(ctx, package, 1, True))
    outwards = sorted({each.target for each in own.edges if each.how == "imports"})
    inwards = sorted({each.source for each in others.edges if each.how == "imports"})
    if not outwards and not inwards:
        return nothing(f"{package} imports nothing, and nothing imports it." if own.roots else _NO_SUCH_NAME, own.near)
    lines = [f"{package} imports {len(outwards)}, imported by {len(inwards)}"]
    lines += [f"-> {each}" for each in outwards] + [f"<- {each}" for each in inwards]
    return found(within_budget(lines, "give a file within"))


@skill(domain="codebase", keywords=["depends on", "dependencies", "what it uses"], only_looks=True)
async def get_dependencies(ctx: LibrarianContext, symbol: str, depth: Depth = 1) -> Answered:
    """Tell what a symbol, file or module depends on: calls, base types, imports.

    Args:
        symbol: Its name, plain or qualified, or a file's path.
        depth: How many steps to follow.
    """
    return _told(await _graph(ctx, symbol, depth, False), f"{symbol} depends on nothing here.")


@skill(domain="codebase", keywords=["dependents", "impact", "what uses it", "affected"], only_looks=True)
async def get_dependents(ctx: LibrarianContext, symbol: str, depth: Depth = 1) -> Answered:
    """Tell what depends on a symbol, file or module: what a change of it may break.

    Args:
        symbol: Its name, plain or qualified, or a file's path.
        depth: How many steps to follow.
    """
    return _told(await _graph(ctx, symbol, depth, True), f"Nothing here depends on {symbol}.")


async def _graph(ctx: LibrarianContext, name: str, depth: int, reverse: bool) -> DependencyGraph:
    answer = await ctx.ask(Dependencies(name=name, root=ctx.root, reverse=reverse, depth=depth))
    assert isinstance(answer, DependencyGraph)
    return answer


def _told(graph: DependencyGraph, alone: str) -> Answered:
    if not graph.edges:
        return nothing(alone if graph.roots else _NO_SUCH_NAME, graph.near)
    edges = sorted(graph.edges, key=lambda each: (each.depth, -each.confidence))
    several = len({_near_end(graph, each) for each in edges if each.depth == 1}) > 1
    lines = dict.fromkeys(_line(graph, each, several) for each in edges)
    head = ("what uses " if graph.reverse else "used by ") + ", ".join(graph.roots[:3])
    return found(within_budget([head, *lines], "a lower depth, or a qualified name"))


def _near_end(graph: DependencyGraph, edge: Dependency) -> str:
    return edge.target if graph.reverse else edge.source


def _line(graph: DependencyGraph, edge: Dependency, several: bool) -> str:
    far = edge.source if graph.reverse else edge.target
    told = f"{'  ' * (edge.depth - 1)}{edge.how} {far}"
    if several or edge.depth > 1:
        told = f"{'  ' * (edge.depth - 1)}{edge.source} {edge.how} {edge.target}"
    return told if edge.confidence >= 0.7 else f"{told} (perhaps)"


DEPENDING = (analyze_imports, get_dependencies, get_dependents)
