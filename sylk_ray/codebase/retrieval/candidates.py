"""The chunks of a repository that may answer a question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from sylk_ray.codebase.globs import paths_matching
from sylk_ray.codebase.requests import Kind
from sylk_ray.codebase.retrieval.question import Question
from sylk_ray.codebase.retrieval.scoring import OTHER_CASE, Candidate, Counterparts
from sylk_ray.codebase.roles import Role
from sylk_ray.knowledge import Domain, EdgeType, KnowledgeBase, Node, NodeType, SearchFilter
from sylk_ray.knowledge.embedding import EmbedderUnavailable, StaticEmbedder
from sylk_ray.knowledge.encoding import text_of
from sylk_ray.knowledge.vectors import AnyOf, Condition, Equals
from sylk_ray.knowledge.words import words_of

EACH_WAY = 300
"""Chunks by words, and as many by meaning."""
MOST_PATHS = 2000
"""Files that a glob may match for it to be part of the vector search; above, what was found is sorted out after."""
_FIND = {
    "function": frozenset({NodeType.FUNCTION}),
    "type": frozenset({NodeType.TYPE}),
    "file": frozenset[NodeType](),
    "any": frozenset[NodeType](),
}
_FILES = frozenset({NodeType.FILE})
_USES = (EdgeType.CALLS, EdgeType.IMPLEMENTS, EdgeType.IMPORTS, EdgeType.REFERENCES)
_DEFINITIONS = (NodeType.FUNCTION, NodeType.TYPE, NodeType.CONSTANT, NodeType.PACKAGE)


class Candidates:
    """What a knowledge base has for questions about one root."""

    def __init__(self, base: KnowledgeBase, root: str, words: StaticEmbedder) -> None:
        """``words`` knows which words mean the same."""
        self._base = base
        self._words = words
        self._root = root

    def find(self, question: Question, *, kind: Kind = "any", language: str = "", path: str = "") -> list[Candidate]:
        """Chunks by words, by meaning and by name, within what is asked for."""
        allowed = self._paths(path) if path else None
        if allowed is not None and not allowed:
            return []
        where = self._where(language, allowed)
        only, files = SearchFilter(types=_FIND[kind], where=where), SearchFilter(types=_FILES, where=where)
        said, meant = self._base.search.both_ways(
            question.text, EACH_WAY, domain=Domain.CODE, scope=self._root, only=only, also=[files]
        )
        words = {hit.key: hit.score for hit in said}
        meaning = {hit.key: hit.score for hit in meant}
        nodes = self._base.briefs(words.keys() | meaning.keys())
        wholes = {node.path: meaning.get(key, 0.0) for key, node in nodes.items() if node.type is NodeType.FILE}
        named = self._named(question)
        nodes |= {key: node for key, (node, _) in named.items() if key not in nodes}
        found: list[Candidate] = []
        for key, node in nodes.items():
            if _fits(node, only, language) and (allowed is None or node.path in allowed):
                how = named[key][1] if key in named else 0.0
                whole = wholes.get(node.path, 0.0)
                found.append(_candidate(node, words.get(key, 0.0), meaning.get(key, 0.0), how, whole))
        return found

    def names_in(self, paths: Sequence[str]) -> dict[str, Counter[str]]:
        """The words of the names that files define."""
        counted: dict[str, Counter[str]] = {}
        for path, name in self._base.names_in(Domain.CODE, self._root, paths):
            counted.setdefault(path, Counter()).update(words_of(name))
        return counted

    def counterparts(self, text: str, chunks: Mapping[str, Sequence[int]]) -> dict[str, Counterparts]:
        """How well the words of a question are met in these paths, and in these chunks of theirs; nothing if the
        built-in model cannot be read."""
        nodes = self._base.by_key(key for keys in chunks.values() for key in keys)
        owners = [path for path, keys in chunks.items() for key in keys if key in nodes]
        bodies = [text_of(nodes[key]) for keys in chunks.values() for key in keys if key in nodes]
        try:
            met = self._words.counterparts(text, [*chunks, *bodies]).tolist()
        except EmbedderUnavailable:
            return {}
        in_chunk: dict[str, float] = {}
        for path, how in zip(owners, met[len(chunks) :], strict=True):
            in_chunk[path] = max(how, in_chunk.get(path, 0.0))
        return {path: Counterparts(how, in_chunk.get(path, 0.0)) for path, how in zip(chunks, met, strict=False)}

    def neighbours(self, keys: Collection[int]) -> list[tuple[int, int, float]]:
        """Which of these chunks call, inherit, import or name which others, and how sure that is."""
        return self._base.edges_among(keys, _USES)

    def _named(self, question: Question) -> dict[int, tuple[Node, float]]:
        """The definitions of the names in a question, with how well each fits."""
        found: dict[int, tuple[Node, float]] = {}
        for qualified in question.qualified:
            for spelling, worth in self._spellings(qualified.rpartition(".")[2]):
                for node in self._base.select(
                    domain=Domain.CODE, scope=self._root, name=spelling, types=_DEFINITIONS, limit=200
                ):
                    way = str(node.metadata.get("qualified", ""))
                    fits = way == qualified or way.endswith(f".{qualified}") or "." not in qualified
                    how = worth if fits else worth / 2
                    if node.key not in found or found[node.key][1] < how:
                        found[node.key] = (node, how)
        return found

    def _spellings(self, name: str) -> Iterable[tuple[str, float]]:
        yield name, 1.0
        for other in self._base.other_cases(Domain.CODE, self._root, name):
            yield other, OTHER_CASE

    def _paths(self, glob: str) -> frozenset[str]:
        return frozenset(paths_matching(self._base.paths(Domain.CODE, self._root), glob, self._root))

    def _where(self, language: str, allowed: frozenset[str] | None) -> Condition | None:
        few = allowed is not None and len(allowed) <= MOST_PATHS
        return SearchFilter.all_of(
            [
                Equals("language", language) if language else None,
                AnyOf("path", tuple(sorted(allowed))) if allowed is not None and few else None,
            ]
        )


def _fits(node: Node, only: SearchFilter, language: str) -> bool:
    return (not only.types or node.type in only.types) and (not language or node.metadata.get("language") == language)


def _candidate(node: Node, words: float, meaning: float, named: float, whole: float) -> Candidate:
    return Candidate(
        key=node.key,
        path=node.path,
        type=node.type,
        name=node.name,
        qualified=str(node.metadata.get("qualified", "")),
        role=Role(node.metadata.get("role", Role.CODE)),
        words=words,
        meaning=meaning,
        named=named,
        whole=whole,
        declares=bool(node.metadata.get("declares")),
    )
