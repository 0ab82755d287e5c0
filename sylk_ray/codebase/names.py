"""Definitions, files and modules by their names, and what uses what."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from sylk_ray.codebase.indexing import external_id, file_id, package_id
from sylk_ray.codebase.requests import (
    Dependencies,
    Dependency,
    DependencyGraph,
    FindSymbol,
    FindUsages,
    SymbolFound,
    Symbols,
    Usage,
    Usages,
)
from sylk_ray.knowledge import Domain, Edge, EdgeType, KnowledgeBase, Node, NodeType

_CODE = Domain.CODE
_KINDS = {
    "function": (NodeType.FUNCTION,),
    "type": (NodeType.TYPE,),
    "constant": (NodeType.CONSTANT,),
    "any": (NodeType.FUNCTION, NodeType.TYPE, NodeType.CONSTANT, NodeType.PACKAGE),
}
_USES = (EdgeType.CALLS, EdgeType.IMPLEMENTS, EdgeType.IMPORTS, EdgeType.REFERENCES)
_NEAR = 5
_MOST_NAMES = 200_000


class Names:
    """Looks names up in one root."""

    def __init__(self, base: KnowledgeBase, root: str) -> None:
        self._base = base
        self._root = root

    def symbols(self, asked: FindSymbol) -> Symbols:
        """The definitions of a name, those that are exported and not of tests first."""
        found = self._definitions(asked.name, _KINDS[asked.kind])
        shown = [shown_of(node) for node in sorted(found, key=_standing)[: asked.limit]]
        return Symbols(name=asked.name, symbols=shown, near=[] if shown else self._near(asked.name))

    def usages(self, asked: FindUsages) -> Usages:
        """Where a definition, file or module is used, the surest first."""
        targets = self._targets(asked.name)
        usages = [
            Usage(
                path=source.path,
                line=line,
                within=str(source.metadata.get("qualified", "")),
                how=edge.type.value,
                of=label_of(target),
                confidence=edge.weight,
            )
            for target in targets
            for edge, source in self._with_nodes(self._base.incoming(target.id, _USES), outwards=False)
            for line in edge.metadata.get("lines") or (0,)
        ]
        usages.sort(key=lambda usage: (-usage.confidence, usage.path, usage.line))
        near = [] if targets else self._near(asked.name)
        return Usages(
            name=asked.name,
            definitions=[shown_of(target) for target in targets],
            usages=usages[: asked.limit],
            near=near,
        )

    def dependencies(self, asked: Dependencies) -> DependencyGraph:
        """What something uses, and what that uses, up to a depth; or what uses it."""
        starts = self._targets(asked.name)
        if not asked.reverse:
            starts = self._with_what_they_hold(starts)
        edges: list[Dependency] = []
        seen = {node.id for node in starts}
        level: Sequence[Node] = starts
        for depth in range(1, asked.depth + 1):
            ahead: dict[str, Node] = {}
            for node in level:
                around = self._base.incoming(node.id, _USES) if asked.reverse else self._base.outgoing(node.id, _USES)
                for edge, other in self._with_nodes(around, outwards=not asked.reverse):
                    if len(edges) >= asked.limit:
                        break
                    source, target = (other, node) if asked.reverse else (node, other)
                    edges.append(
                        Dependency(
                            source=label_of(source),
                            target=label_of(target),
                            how=edge.type.value,
                            confidence=edge.weight,
                            depth=depth,
                        )
                    )
                    if other.id not in seen:
                        seen.add(other.id)
                        ahead[other.id] = other
            level = list(ahead.values())
        roots = [label_of(node) for node in self._targets(asked.name)]
        near = [] if starts else self._near(asked.name)
        return DependencyGraph(name=asked.name, reverse=asked.reverse, roots=roots, edges=edges, near=near)

    def named(self, name: str) -> list[Node]:
        """The definitions, file, folder or module of that name."""
        return self._targets(name)

    # Within

    def _definitions(self, name: str, types: Sequence[NodeType]) -> list[Node]:
        path, _, symbol = name.rpartition("#")
        qualified = (symbol if path else name).replace("::", ".").replace("->", ".").strip(".")
        last = qualified.rpartition(".")[2]
        every = self._base.select(domain=_CODE, scope=self._root, name=last, types=types)
        if not every:
            for other in self._base.other_cases(_CODE, self._root, last):
                every += self._base.select(domain=_CODE, scope=self._root, name=other, types=types)
        fitting = [node for node in every if "." not in qualified or _ends_with(node, qualified)]
        return [node for node in fitting if not path or node.path == path]

    def _targets(self, name: str) -> list[Node]:
        definitions = self._definitions(name, _KINDS["any"])
        if definitions:
            return sorted(definitions, key=_standing)
        wanted = name.strip("/")
        ids = [file_id(self._root, wanted), package_id(self._root, wanted), external_id(self._root, name)]
        found = list(self._base.find(ids).values())
        if not found:
            ends = [path for path in self._base.paths(_CODE, self._root) if path.endswith(f"/{wanted}")]
            found = list(self._base.find(file_id(self._root, path) for path in ends).values())
        if not found:
            modules = self._base.select(domain=_CODE, scope=self._root, types=[NodeType.IMPORT])
            found = [node for node in modules if _is_module_of(node.name, name)]
        return found

    def _with_what_they_hold(self, starts: Sequence[Node]) -> list[Node]:
        """A type's, file's or folder's dependencies are those of what stands in it, too."""
        held: dict[str, Node] = {node.id: node for node in starts}
        level = list(starts)
        while level:
            inner: list[Node] = []
            for node in level:
                if node.type in (NodeType.TYPE, NodeType.FILE, NodeType.PACKAGE):
                    edges = self._base.outgoing(node.id, (EdgeType.CONTAINS, EdgeType.DEFINES))
                    inner += [other for _, other in self._with_nodes(edges, outwards=True) if other.id not in held]
            held |= {node.id: node for node in inner}
            level = inner
        return list(held.values())

    def _with_nodes(self, edges: Sequence[Edge], *, outwards: bool) -> list[tuple[Edge, Node]]:
        ends = self._base.find({edge.target if outwards else edge.source for edge in edges})
        pairs = [(edge, ends.get(edge.target if outwards else edge.source)) for edge in edges]
        return [(edge, node) for edge, node in pairs if node is not None]

    def _near(self, name: str) -> list[str]:
        last = name.replace("::", ".").rpartition(".")[2].rpartition("#")[2]
        rows = self._base.names(_CODE, self._root, limit=_MOST_NAMES)
        by_folded: dict[str, str] = {}
        for known in rows:
            by_folded.setdefault(known.lower(), known)
        close = difflib.get_close_matches(last.lower(), by_folded, n=_NEAR, cutoff=0.6)
        return [by_folded[each] for each in close]


def shown_of(node: Node) -> SymbolFound:
    """A node as it is told."""
    more = node.metadata
    return SymbolFound(
        path=node.path,
        start_line=int(more.get("start", 0)),
        end_line=int(more.get("end", 0)),
        symbol=str(more.get("qualified", "")) or ("" if node.type is NodeType.FILE else node.name),
        kind=str(more.get("kind", "")) or ("module" if node.type is NodeType.IMPORT else node.type.value),
        language=str(more.get("language", "")),
        signature=str(more.get("signature", "")),
        doc=str(more.get("doc", "")),
    )


def label_of(node: Node) -> str:
    """``path#symbol``, ``path``, ``folder/``, or a module's name."""
    if node.type is NodeType.FILE:
        return node.path
    if not node.path:
        return f"{node.metadata['folder']}/" if "folder" in node.metadata else node.name
    return f"{node.path}#{node.metadata.get('qualified', node.name)}"


def _ends_with(node: Node, qualified: str) -> bool:
    way = str(node.metadata.get("qualified", node.name))
    if way == qualified or way.endswith(f".{qualified}"):
        return True
    # ``module.name``: the module may be the file.
    holder, _, last = qualified.rpartition(".")
    stem = node.path.rpartition("/")[2].partition(".")[0]
    return way == last and holder.rpartition(".")[2] == stem


def _standing(node: Node) -> tuple[bool, bool, str, int]:
    more = node.metadata
    return more.get("role") != "code", not more.get("exported", True), node.path, int(more.get("start", 0))


def _is_module_of(module: str, name: str) -> bool:
    return any(module.startswith(f"{name}{mark}") for mark in (".", "/", "::")) or module.endswith(f"/{name}")
