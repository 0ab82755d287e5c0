"""Ways of searching a repository, from the plainest to the product."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from benchmarks.search_quality.asked import Place, Searcher
from sylk_ray.codebase.requests import Search, SearchAnswer
from sylk_ray.codebase.service import CodeService
from sylk_ray.knowledge import KnowledgeBase
from sylk_ray.knowledge.finding import Found

CHUNK = 50
"""Lines."""
K1, B = 1.2, 0.75

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SAYING_NOTHING = (
    "a an and are as at be by can could do does for from has have how if in into is it its no not of on or that the"
    " then there this to was we what when where which who why will with you your"
)
_STOP = frozenset(_SAYING_NOTHING.split())


def _words(text: str) -> list[str]:
    return [word for each in _WORD.findall(text) if (word := each.lower()) not in _STOP and len(word) > 1]


class Bm25:
    """Okapi BM25 over chunks of 50 lines, identifiers cut into their words (Robertson and Walker, 1994)."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._places: list[Place] = []
        self._counts: list[Counter[str]] = []
        for path, text in texts.items():
            lines = text.split("\n")
            for start in range(0, len(lines), CHUNK):
                self._places.append(Place(path, start + 1, min(start + CHUNK, len(lines))))
                self._counts.append(Counter(_words(f"{path}\n" + "\n".join(lines[start : start + CHUNK]))))
        self._lengths = [each.total() for each in self._counts]
        self._mean = sum(self._lengths) / max(len(self._lengths), 1)
        self._holding: dict[str, list[int]] = {}
        for number, counts in enumerate(self._counts):
            for word in counts:
                self._holding.setdefault(word, []).append(number)

    def search(self, text: str, k: int) -> list[Place]:
        scores: Counter[int] = Counter()
        for word in dict.fromkeys(_words(text)):
            holding = self._holding.get(word, [])
            rarity = math.log(1 + (len(self._places) - len(holding) + 0.5) / (len(holding) + 0.5))
            for number in holding:
                times = self._counts[number][word]
                norm = K1 * (1 - B + B * self._lengths[number] / self._mean)
                scores[number] += rarity * times * (K1 + 1) / (times + norm)
        return [self._places[number] for number, _ in scores.most_common(k)]


class Grep:
    """Files by how many of the words they have, then by how many lines have one: what grep -ic gives, put in order."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._lines = {path: text.lower().split("\n") for path, text in texts.items()}
        self._texts = {path: text.lower() for path, text in texts.items()}

    def search(self, text: str, k: int) -> list[Place]:
        asked = dict.fromkeys([text.lower()] if " " not in text else _words(text))
        found: list[tuple[int, int, Place]] = []
        for path, lines in self._lines.items():
            there = [word for word in asked if word in self._texts[path]]
            if not there:
                continue
            per_line = [sum(word in line for word in there) for line in lines]
            best = max(range(len(lines)), key=per_line.__getitem__)
            place = Place(path, max(1, best - 4), best + 6)
            found.append((-len(there), -sum(map(bool, per_line)), place))
        found.sort(key=lambda each: (each[0], each[1], each[2].path))
        return [place for _, _, place in found[:k]]


class Meaning:
    """By the vectors alone."""

    def __init__(self, base: KnowledgeBase, scope: str) -> None:
        self._base, self._scope = base, scope

    def search(self, text: str, k: int) -> list[Place]:
        return _places(self._base.search.by_meaning(text, k, scope=self._scope))


class Words:
    """By the words alone."""

    def __init__(self, base: KnowledgeBase, scope: str) -> None:
        self._base, self._scope = base, scope

    def search(self, text: str, k: int) -> list[Place]:
        return _places(self._base.search.by_words(text, k, scope=self._scope))


class Product:
    """What ``sylk search`` answers."""

    def __init__(self, service: CodeService, scope: str) -> None:
        self._service, self._scope = service, scope

    def search(self, text: str, k: int) -> list[Place]:
        answer = self._service.handle(Search(query=text, root=self._scope, k=min(k, 10)))
        assert isinstance(answer, SearchAnswer)
        return [Place(each.path, each.start_line, each.end_line) for each in answer.results]


def searchers(texts: Mapping[str, str], root: Path, base: KnowledgeBase, service: CodeService) -> dict[str, Searcher]:
    """Every way of searching one repository, by what it is called."""
    scope = str(root.resolve())
    return {
        "BM25, 50 lines": Bm25(texts),
        "grep": Grep(texts),
        "meaning alone": Meaning(base, scope),
        "words alone": Words(base, scope),
        "sylk search": Product(service, scope),
    }


def _places(found: list[Found]) -> list[Place]:
    return [
        Place(each.node.path, int(each.node.metadata.get("start", 1)), int(each.node.metadata.get("end", 1)))
        for each in found
        if each.node.path
    ]
