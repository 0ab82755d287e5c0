"""Searching a repository."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from sylk_ray.codebase.nothing import nothing_found
from sylk_ray.codebase.requests import Result, Search, SearchAnswer, SmartSearch
from sylk_ray.codebase.retrieval.candidates import Candidates
from sylk_ray.codebase.retrieval.question import Question, read_question
from sylk_ray.codebase.retrieval.scoring import Candidate, Ranked, rank, strength
from sylk_ray.codebase.retrieval.snippets import Window, fitted, merged
from sylk_ray.codebase.texts import lines_at
from sylk_ray.knowledge import Domain, KnowledgeBase, Node, NodeType
from sylk_ray.knowledge.embedding import StaticEmbedder
from sylk_ray.knowledge.gate import No

THOROUGH = {"quick": 3, "moderate": 8, "thorough": 20}
"""Results at most, by thoroughness."""
FAINT = 0.35
"""A result whose score is below this share of the best one's is left out of a smart search."""
DISTINCT = 5
"""The first results are of so many different files; after them, more of one file may come before another."""
AGAIN = 0.65
"""What showing more of a file is worth beside another file."""
MORE = 4
"""Further chunks of a file that are shown at most."""
LEAST_TOKENS = 60
"""For a snippet, while the budget lasts."""
AS_GOOD = 0.7
"""A chunk whose score is at least this share of the best one's of its file is shown with it, where they touch."""
HEAD = 12
"""Lines that are shown of a file of which no chunk was found."""


class Retriever:
    """Answers searches from a knowledge base and the files themselves. Threads may share it."""

    def __init__(self, base: KnowledgeBase, now: Callable[[], float] = time.perf_counter) -> None:
        self._base = base
        self._now = now
        # The built-in model's words, whatever model made the vectors.
        self._words = base.embedder if isinstance(base.embedder, StaticEmbedder) else StaticEmbedder()

    def search(self, asked: Search) -> SearchAnswer:
        """The best ``k`` files, each with what answers best in it; if there are fewer, then more of what is in them."""
        began = self._now()
        results: list[tuple[Result, int]] = []
        match self._base.search.verdict(Domain.CODE, asked.query, asked.root):
            case No(hint=hint):
                pass
            case _:
                hint = "Try other words, or fewer filters."
                question = read_question(asked.query, asked.root)
                candidates = Candidates(self._base, asked.root, self._words)
                found = candidates.find(question, kind=asked.kind, language=asked.language, path=asked.path)
                ranked = rank(question, found, candidates)
                results = self._results(asked, question, ranked)
        took_ms = round((self._now() - began) * 1000, 3)
        elsewhere = [domain.value for domain in self._base.also_exists_in(asked.query, Domain.CODE)]
        if not results:
            return nothing_found(asked, hint, elsewhere, took_ms)
        return SearchAnswer(
            query=asked.query,
            status="found",
            took_ms=took_ms,
            tokens=sum(cost for _, cost in results),
            also_exists_in=elsewhere,
            results=[result for result, _ in results],
            budget=asked.budget,
        )

    def smart_search(self, asked: SmartSearch) -> SearchAnswer:
        """As many results as are worth it: those that are not faint beside the best, within the budget."""
        search = Search(query=asked.query, root=asked.root, k=THOROUGH[asked.thoroughness], budget=asked.budget)
        answer = self.search(search)
        kept = [result for result in answer.results if result.score >= FAINT]
        tokens = sum(self._cost(result) for result in kept)
        return SearchAnswer(
            query=answer.query,
            status=answer.status,
            took_ms=answer.took_ms,
            tokens=tokens,
            also_exists_in=answer.also_exists_in,
            results=kept,
            hint=answer.hint,
            budget=asked.budget,
        )

    @staticmethod
    def _cost(result: Result) -> int:
        lines = result.snippet.split("\n")
        made = fitted(lines, Window(1, len(lines)), "", 1 << 30)
        return made[2] if made else 0

    def _results(self, asked: Search, question: Question, ranked: Sequence[Ranked]) -> list[tuple[Result, int]]:
        if not ranked:
            return []
        plan = _planned(ranked, asked.k, once=asked.kind == "file")
        nodes = self._base.briefs({chunk.key for each in plan for chunk in each.chunks})
        best = ranked[0].score or 1.0
        left = asked.budget
        results: list[tuple[Result, int]] = []
        shown: dict[str, list[Window]] = {}
        for each in plan:
            if len(results) >= asked.k or left <= 0:
                break
            share = min(left, max(left // (asked.k - len(results)), LEAST_TOKENS))
            made = self._result(asked, question, each, nodes, share, best, shown.setdefault(each.path, []))
            if made:
                results.append(made)
                left -= made[1]
        return results

    def _result(
        self,
        asked: Search,
        question: Question,
        each: Ranked,
        nodes: dict[int, Node],
        budget: int,
        best: float,
        shown: list[Window],
    ) -> tuple[Result, int] | None:
        lines = lines_at(asked.root, each.path)
        if lines is None:
            return None
        chunks = [chunk for chunk in each.chunks if chunk.key in nodes and not _is_shown(nodes[chunk.key], shown)]
        bodies = [chunk for chunk in chunks if chunk.type is not NodeType.FILE]
        first = (bodies or chunks)[:1]
        if not first:
            return None
        as_good = [chunk for chunk in bodies if strength(chunk) >= AS_GOOD * strength(bodies[0])]
        windows = [_window(nodes[chunk.key], len(lines)) for chunk in as_good] or [Window(1, min(HEAD, len(lines)))]
        node = nodes[first[0].key]
        # A definition is shown from where it says what it is; anything else, where the words of the question are.
        defines = "signature" in node.metadata
        made = fitted(lines, merged(windows), "" if defines else question.text, budget)
        if made is None:
            return None
        window, text, cost = made
        shown.append(window)
        as_file = asked.kind == "file" or node.type is NodeType.FILE
        result = Result(
            path=each.path,
            start_line=window.start,
            end_line=window.end,
            symbol="" if as_file else str(node.metadata.get("qualified", "")),
            kind="file" if as_file else _kind(node),
            language=str(node.metadata.get("language", "")),
            score=round(each.score / best, 4)
            if len(shown) == 1
            else round(each.score / best * _fall(each, first[0]), 4),
            why=list(each.why),
            snippet=text,
        )
        return result, cost


def _planned(ranked: Sequence[Ranked], k: int, *, once: bool) -> list[Ranked]:
    """Whose chunk is shown when: the best files first, each once; then what is best, be it another file or more of one
    that was shown. There are more than ``k``, as some may turn out to be shown already."""
    first = list(ranked[: min(k, DISTINCT)])
    if once:
        return list(ranked[:k])
    rest = [(each.score, 0, place, each) for place, each in enumerate(ranked[len(first) : 2 * k], len(first))]
    for place, each in enumerate(ranked[:k]):
        bodies = [chunk for chunk in each.chunks if chunk.type is not NodeType.FILE]
        for depth, chunk in enumerate(bodies[1 : 1 + MORE], 1):
            worth = each.score * AGAIN * min(1.0, strength(chunk) / max(strength(bodies[0]), 1e-9))
            rest.append((worth, depth, place, each))
    rest.sort(key=lambda entry: (-entry[0], entry[1], entry[2]))
    return first + [each for _, _, _, each in rest]


def _window(node: Node, count: int) -> Window:
    start = min(max(1, int(node.metadata.get("start", 1))), max(count, 1))
    return Window(start, min(max(start, int(node.metadata.get("end", start))), max(count, 1)))


def _is_shown(node: Node, shown: Sequence[Window]) -> bool:
    start, end = int(node.metadata.get("start", 1)), int(node.metadata.get("end", 1))
    if node.type is NodeType.FILE:
        return bool(shown)
    return any(start <= window.end and end >= window.start for window in shown)


def _kind(node: Node) -> str:
    return str(node.metadata.get("kind", "")) or node.type.value


def _fall(each: Ranked, chunk: Candidate) -> float:
    """How a further chunk of a file stands to its best."""
    return min(0.9, strength(chunk) / max(strength(each.chunks[0]), 1e-9))
