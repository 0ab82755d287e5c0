"""``sylk deps`` and ``sylk graph``: what uses what."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from sylk_ray.cli.code.asking import Refresh, Repo, looked_up, root_of
from sylk_ray.cli.code.names import Name, nothing_called
from sylk_ray.cli.shell import Home, Json, Shell, escaped

if TYPE_CHECKING:
    from sylk_ray.codebase.requests import DependencyGraph

Reverse = Annotated[bool, typer.Option("--reverse", help="What uses it, instead of what it uses.")]


def deps(
    name: Name,
    reverse: Reverse = False,
    depth: Annotated[int, typer.Option("--depth", min=1, max=10, help="Steps from it.")] = 1,
    limit: Annotated[int, typer.Option("--limit", min=1)] = 200,
    repo: Repo = Path(),
    refresh: Refresh = True,
    home: Home = None,
    json: Json = False,
) -> None:
    """List what a definition, a file, a folder or a module depends on; with --reverse, what depends on it.

    Examples:

      sylk deps src/parser.py

      sylk deps Parser.parse --reverse --depth 3
    """
    shell = Shell(home, json)
    found = _graph(shell, name, reverse, depth, limit, repo, refresh)
    shell.document(found)
    if json:
        return
    shell.say(escaped(", ".join(found.roots)))
    for edge in found.edges:
        far = edge.source if reverse else edge.target
        near = edge.target if reverse else edge.source
        arrow = "<-" if reverse else "->"
        shell.say(escaped(f"{'  ' * edge.depth}{arrow} {far}  {edge.how}  {edge.confidence:.2f}  ({near})"))
    if not found.edges:
        shell.say("  nothing uses it" if reverse else "  it uses nothing that is known here")


def graph(
    name: Name,
    format: Annotated[Literal["dot", "mermaid", "json"], typer.Option("--format", help="What to print.")] = "mermaid",
    reverse: Reverse = False,
    depth: Annotated[int, typer.Option("--depth", min=1, max=10, help="Steps from it.")] = 2,
    limit: Annotated[int, typer.Option("--limit", min=1)] = 200,
    repo: Repo = Path(),
    refresh: Refresh = True,
    home: Home = None,
    json: Json = False,
) -> None:
    """Print the graph around a definition or file, to be drawn by Graphviz or Mermaid.

    Examples:

      sylk graph Parser --format dot | dot -Tsvg > parser.svg

      sylk graph src/parser.py --reverse
    """
    shell = Shell(home, json or format == "json")
    found = _graph(shell, name, reverse, depth, limit, repo, refresh)
    shell.document(found)
    if not shell.json:
        shell.say(*map(escaped, as_dot(found) if format == "dot" else as_mermaid(found)))


def _graph(
    shell: Shell, name: str, reverse: bool, depth: int, limit: int, repo: Path, refresh: bool
) -> DependencyGraph:
    from sylk_ray.codebase.requests import Dependencies, DependencyGraph

    root = root_of(repo)
    asked = Dependencies(name=name, root=str(root), reverse=reverse, depth=depth, limit=limit)
    found = looked_up(shell, root, asked, DependencyGraph, refresh=refresh)
    if not found.roots:
        raise nothing_called(name, found.near, root)
    return found


def as_dot(found: DependencyGraph) -> list[str]:
    """Lines of Graphviz's language."""
    lines = ["digraph {", "  rankdir=LR; node [shape=box, fontname=monospace];"]
    lines += [f"  {_quoted(root)} [style=bold];" for root in found.roots]
    lines += [f"  {_quoted(edge.source)} -> {_quoted(edge.target)} [label={edge.how}];" for edge in found.edges]
    return [*lines, "}"]


def as_mermaid(found: DependencyGraph) -> list[str]:
    """Lines of Mermaid's language."""
    ends = [*found.roots, *(end for edge in found.edges for end in (edge.source, edge.target))]
    numbers = {name: f"n{number}" for number, name in enumerate(dict.fromkeys(ends))}
    lines = ["graph LR"]
    lines += [f'  {number}["{name.replace(chr(34), "#quot;")}"]' for name, number in numbers.items()]
    lines += [f"  {numbers[edge.source]} -->|{edge.how}| {numbers[edge.target]}" for edge in found.edges]
    return lines


def _quoted(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
