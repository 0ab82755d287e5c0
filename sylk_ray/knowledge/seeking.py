"""The searches of a knowledge base."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from sylk_ray.knowledge.collections import Collections
from sylk_ray.knowledge.embedding import Embedder, EmbedderUnavailable, StaticEmbedder
from sylk_ray.knowledge.embedding.embedder import Vectors
from sylk_ray.knowledge.finding import (
    DECAY,
    FAINT,
    DomainFound,
    Found,
    QueryConstraints,
    QueryResult,
    SearchFilter,
    merge,
)
from sylk_ray.knowledge.gate import MAYBE, No, Verdict
from sylk_ray.knowledge.gate.facets import SCOPE
from sylk_ray.knowledge.graph import Graph
from sylk_ray.knowledge.guarding import Guards
from sylk_ray.knowledge.lexical import query_vector
from sylk_ray.knowledge.model import Domain, Edge, Node
from sylk_ray.knowledge.rarity import most_said, rarity
from sylk_ray.knowledge.vectors import Equals, Hit, Query, VectorStore

Nodes = Callable[[Iterable[int]], dict[int, Node]]


class Seeker:
    """Searches by meaning, words and graph. Threads may share it.

    Those of a text first ask the gate, if ``gated``: what has no word of the text is not found then, even where its
    meaning is near, and in return a question about something else costs microseconds and brings nothing.
    """

    def __init__(
        self,
        collections: Collections,
        graph: Graph,
        guards: Guards,
        nodes: Nodes,
        edges: Callable[[str], Sequence[Edge]],
    ) -> None:
        self._collections = collections
        self._graph = graph
        self._guards = guards
        self._nodes = nodes
        self._edges = edges
        self.searched = 0
        """How often a vector store was asked."""

    def by_vector(
        self,
        vector: Vectors,
        k: int = 10,
        *,
        domain: Domain = Domain.CODE,
        scope: str | None = None,
        only: SearchFilter | None = None,
        with_edges: bool = False,
    ) -> list[Found]:
        """The nodes whose vectors are nearest, the nearest first. ``scope`` None searches all of the domain."""
        chosen = only or SearchFilter()
        store = self._collections.of(domain)
        where = chosen.condition()
        query = Query(dense=vector, k=k, where=where, min_score=chosen.min_similarity)
        scopes = [scope] if scope is not None else store.scopes()
        return self._found(self._search(store, scopes, query), k, with_edges)

    def by_meaning(
        self,
        text: str,
        k: int = 10,
        *,
        domain: Domain = Domain.CODE,
        scope: str | None = None,
        only: SearchFilter | None = None,
        with_edges: bool = False,
        gated: bool = True,
    ) -> list[Found]:
        """The nodes that say most nearly the same. Scopes whose model is not at hand are left out."""
        if gated and self._refuses(domain, text, scope, only):
            return []
        store = self._collections.of(domain)
        asked: dict[str, Vectors] = {}
        some: list[list[Found]] = []
        for each in [scope] if scope is not None else store.scopes():
            model = self._collections.embedder_of(domain, each)
            if model is None:
                continue
            if model.name not in asked:
                asked[model.name] = self._asked(model, text, domain, scope)
            vector = asked[model.name]
            if vector.any():
                some.append(self.by_vector(vector, k, domain=domain, scope=each, only=only, with_edges=with_edges))
        return merge(some, k)

    def by_words(
        self,
        text: str,
        k: int = 10,
        *,
        domain: Domain = Domain.CODE,
        scope: str | None = None,
        only: SearchFilter | None = None,
        gated: bool = True,
    ) -> list[Found]:
        """The nodes that say the words of a question most and best."""
        words = query_vector(text)
        if words is None or (gated and self._refuses(domain, text, scope, only)):
            return []
        store = self._collections.of(domain)
        query = Query(sparse=words, k=k, where=(only or SearchFilter()).condition())
        scopes = [scope] if scope is not None else store.scopes()
        hits = self._search(store, scopes, query)
        if gated and not hits:
            self._guards.gate.found_nothing(domain.value)
        return self._found(hits, k, with_edges=False)

    def like(self, node: Node, k: int = 10, *, only: SearchFilter | None = None) -> list[Found]:
        """The nodes of the same scope whose vectors are nearest to one's, without itself."""
        points = self._collections.of(node.domain).get(node.scope, [node.key])
        if not points or points[0].dense is None:
            return []
        found = self.by_vector(points[0].dense, k + 1, domain=node.domain, scope=node.scope, only=only)
        return [each for each in found if each.node.key != node.key][:k]

    def both_ways(
        self,
        text: str,
        k: int,
        *,
        domain: Domain,
        scope: str,
        only: SearchFilter | None = None,
        also: Sequence[SearchFilter] = (),
    ) -> tuple[list[Hit], list[Hit]]:
        """The best by words, and the best by meaning, of one scope: keys and scores alone. By meaning also the best of
        what each further filter lets through."""
        words, model = query_vector(text), self._collections.embedder_of(domain, scope)
        try:
            vector = self._asked(model, text, domain, scope) if model else None
        except EmbedderUnavailable:
            # Words alone find something too, while a service is away.
            if words is None:
                raise
            vector = None
        chosen = only or SearchFilter()
        queries = [Query(sparse=words, k=k, where=chosen.condition())] if words else []
        if vector is not None and vector.any():
            queries += (Query(dense=vector, k=k, where=each.condition()) for each in (chosen, *also))
        self.searched += len(queries)
        found = self._collections.of(domain).search_many(scope, queries) if queries else []
        by_words, by_meaning = (found[0], found[1:]) if words else ([], found)
        return by_words, [hit for hits in by_meaning for hit in hits]

    def most_said(self, text: str, *, domain: Domain, scope: str) -> float:
        """What a node's score by words stays below, whatever it says; 0 for a question without words."""
        words = query_vector(text)
        if words is None:
            return 0.0
        self.searched += 1
        return most_said(self._collections.of(domain), scope, words)

    def _asked(self, model: Embedder, text: str, domain: Domain, scope: str | None) -> Vectors:
        """A question as a vector; by the built-in model, as it is meant in a scope, where that alone is searched.
        What is found in several cannot be compared unless it is asked for in the same way."""
        if scope is None or not isinstance(model, StaticEmbedder):
            return model.embed_query(text)
        self.searched += 1
        return model.embed_query(text, rarity(self._collections.of(domain), scope, text))

    def over_domains(
        self,
        text: str,
        k: int = 10,
        domains: Sequence[Domain] = tuple(Domain),
        *,
        only: SearchFilter | None = None,
        gated: bool = True,
    ) -> list[Found]:
        """The best of several domains, by meaning."""
        return merge([self.by_meaning(text, k, domain=domain, only=only, gated=gated) for domain in domains], k)

    def each_domain(
        self, text: str, k: int = 10, domains: Sequence[Domain] = tuple(Domain), *, gated: bool = True
    ) -> dict[Domain, DomainFound]:
        """What each domain has, by meaning, or where a domain's model is not at hand by words (6.19)."""
        answers: dict[Domain, DomainFound] = {}
        for domain in domains:
            verdict = self._guards.check(domain, text) if gated else MAYBE
            if isinstance(verdict, No):
                answers[domain] = DomainFound("no_matches", hint=verdict.hint)
                continue
            found = self.by_meaning(text, k, domain=domain, gated=False)
            found = found or self.by_words(text, k, domain=domain, gated=False)
            answers[domain] = DomainFound("found", tuple(found)) if found else DomainFound("no_matches")
        return answers

    def hybrid(self, text: str, wanted: QueryConstraints | None = None, *, gated: bool = True) -> list[QueryResult]:
        """What says nearly the same, and what stands near it in the graph, the best first.

        A node's graph score is the best over the ways to it: the similarity of where the way begins, times the weight
        of each edge, times ``DECAY`` a step.
        """
        asked = wanted or QueryConstraints()
        seeds = merge(
            [
                self.by_meaning(text, asked.seeds, domain=domain, scope=asked.scope, only=asked.filter, gated=gated)
                for domain in asked.domains
            ],
            asked.seeds,
        )
        similar = {found.node.key: max(0.0, found.score) for found in seeds}
        ways = self._expand(similar, asked)
        known = {found.node.key: found.node for found in seeds}
        known |= self._nodes({key for keys, _, _ in ways.values() for key in keys} - known.keys())
        results: list[QueryResult] = []
        for key in similar.keys() | ways.keys():
            node = known.get(key)
            if node is None or node.domain not in asked.domains:
                continue
            keys, edges, graph_score = ways.get(key, ((key,), (), 0.0))
            vector_score = similar.get(key, 0.0)
            score = asked.alpha * vector_score + (1 - asked.alpha) * graph_score
            if score >= asked.min_score:
                path = tuple(known[each] for each in keys if each in known)
                results.append(QueryResult(node, vector_score, graph_score, score, path, edges))
        return sorted(results, key=lambda each: (-each.score, each.node.key))[: asked.max_results]

    def _expand(
        self, seeds: dict[int, float], asked: QueryConstraints
    ) -> dict[int, tuple[tuple[int, ...], tuple[int, ...], float]]:
        """The best way to each node within reach: keys, edges and graph score. A seed's own counts when another leads
        to it, or else its own similarity."""
        best: dict[int, tuple[tuple[int, ...], tuple[int, ...], float]] = {
            key: ((key,), (), score) for key, score in seeds.items()
        }
        level = dict(best)
        for _ in range(asked.depth):
            ahead: dict[int, tuple[tuple[int, ...], tuple[int, ...], float]] = {}
            for key, (keys, edges, score) in level.items():
                for far, edge, weight in self._graph.steps(key, types=asked.types):
                    reached = score * weight * DECAY
                    if reached < FAINT or far in keys:
                        continue
                    known = ahead.get(far) or best.get(far)
                    if known is None or reached > known[2]:
                        ahead[far] = ((*keys, far), (*edges, edge), reached)
            best |= ahead
            level = ahead
        return best

    def verdict(self, domain: Domain, text: str, scope: str | None, only: SearchFilter | None = None) -> Verdict:
        """What the gate says of a question, before anything is searched."""
        parts = [only.condition() if only else None, Equals(SCOPE, scope) if scope is not None else None]
        return self._guards.check(domain, text, SearchFilter.all_of(parts))

    def _refuses(self, domain: Domain, text: str, scope: str | None, only: SearchFilter | None) -> bool:
        return isinstance(self.verdict(domain, text, scope, only), No)

    def _search(self, store: VectorStore, scopes: Sequence[str], query: Query) -> list[Hit]:
        self.searched += len(scopes)
        return [hit for each in scopes for hit in store.search(each, query)]

    def _found(self, hits: Sequence[Hit], k: int, with_edges: bool) -> list[Found]:
        best = sorted(hits, key=lambda hit: -hit.score)[:k]
        known = self._nodes([hit.key for hit in best])
        return [
            Found(known[hit.key], hit.score, tuple(self._edges(known[hit.key].id)) if with_edges else ())
            for hit in best
            if hit.key in known
        ]
