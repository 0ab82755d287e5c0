"""Which files, and what in them, answer a question best. A pure function of what was found.

A file's score is what its best chunk says by words and by meaning, a little for the next best ones, what it means as a
whole, what its definitions are called, and much for defining exactly what was named. Tests, examples and documents are
of the code: they come after it unless the question speaks of them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Protocol

import msgspec

from sylk_ray.codebase.retrieval.question import Question
from sylk_ray.codebase.roles import Role
from sylk_ray.knowledge.model import NodeType

WORDS, MEANING = 1.0, 0.8
"""What the best file by words, and by meaning, is given."""
FALLING = (1.0, 0.3, 0.1)
"""What a file's best, second and third chunk count."""
WHOLE = 0.4
"""What the file is given that as a whole means most nearly what is asked."""
NAMES = 0.4
"""What a file is given whose definitions have all words of the question in their names."""
NEIGHBOURS = 0.3
"""What a file is given that uses, or is used by, the best one."""
DEFINES, NAMED, PLACED = 1.5, 1.0, 2.0
"""What defining the name that was asked for, being called like it, and being the path that was asked for give."""
MENTIONED = 0.5
"""What of that is given where the name stands in a sentence."""
OTHER_CASE = 0.8
ROLES = {Role.CODE: 1.0, Role.TEST: 0.5, Role.EXAMPLE: 0.5, Role.DOCUMENT: 0.45, Role.CONFIGURATION: 0.4}
DECLARES = 0.75
"""What a file of declarations alone counts beside the code: ``.d.ts``, ``.pyi``."""
LOOKED_AT = 60
"""Files whose definitions' names are looked at."""


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A chunk that was found."""

    key: int
    path: str
    type: NodeType
    name: str
    qualified: str
    role: Role
    words: float = 0.0
    """Its score by words (BM25); 0 where it was not found by them."""
    meaning: float = 0.0
    """Its cosine; 0 where it was not found by it."""
    named: float = 0.0
    """1 where it defines what was asked for by name, less where case or the way to it differ."""
    whole: float = 0.0
    """The cosine of its file as a whole; 0 where that was not found."""


class Ranked(msgspec.Struct, frozen=True, kw_only=True):
    """A file, with its chunks from the best to the worst."""

    path: str
    score: float
    chunks: tuple[Candidate, ...]
    why: tuple[str, ...]


class Around(Protocol):
    """What is known of candidates beside themselves."""

    def names_in(self, paths: Sequence[str]) -> Mapping[str, Counter[str]]:
        """The words of the names that files define."""
        ...

    def neighbours(self, keys: Collection[int]) -> Iterable[tuple[int, int, float]]:
        """Which of these chunks use which others, and how sure that is."""
        ...


def rank(question: Question, found: Sequence[Candidate], around: Around) -> list[Ranked]:
    """Files in the order of how well they answer."""
    by_path: dict[str, list[Candidate]] = {}
    for each in found:
        by_path.setdefault(each.path, []).append(each)
    best = _Best(found)
    weights = {path: _weight(question, path, chunks[0].role) for path, chunks in by_path.items()}
    words = _shares({path: [c.words for c in chunks] for path, chunks in by_path.items()}, weights)
    meaning = _shares({path: _meanings(chunks) for path, chunks in by_path.items()}, weights)
    whole = _shares({path: [max(c.whole for c in chunks)] for path, chunks in by_path.items()}, weights)
    scores = {
        path: WORDS * words[path]
        + MEANING * meaning[path]
        + WHOLE * whole[path]
        + _named(question, path, by_path[path])
        for path in by_path
    }
    first = sorted(scores, key=lambda path: (-scores[path] * weights[path], path))[:LOOKED_AT]
    names = around.names_in(first)
    near = _nearness(first, by_path, scores, around)
    for path in first:
        scores[path] += NAMES * _share_of_names(question.words, names.get(path, Counter()))
        scores[path] += NEIGHBOURS * near.get(path, 0.0)
    order = sorted(scores, key=lambda path: (-scores[path] * weights[path], path))
    return [
        Ranked(
            path=path,
            score=scores[path] * weights[path],
            chunks=tuple(sorted(by_path[path], key=best.order)),
            why=_why(question, path, by_path[path], names.get(path, Counter())),
        )
        for path in order
    ]


class _Best:
    """Chunks in order, by the same measures as files."""

    def __init__(self, found: Sequence[Candidate]) -> None:
        self._words = max((each.words for each in found), default=0.0) or 1.0
        self._meaning = max((each.meaning for each in found), default=0.0) or 1.0

    def order(self, chunk: Candidate) -> tuple[bool, float, int]:
        score = WORDS * chunk.words / self._words + MEANING * chunk.meaning / self._meaning + 2 * chunk.named
        return chunk.type is NodeType.FILE, -score, chunk.key


def _meanings(chunks: Iterable[Candidate]) -> list[float]:
    """Of a file's chunks. What it means as a whole counts apart."""
    return [chunk.meaning for chunk in chunks if chunk.type is not NodeType.FILE]


def _shares(scores: Mapping[str, Iterable[float]], weights: Mapping[str, float]) -> dict[str, float]:
    """Each file's score as a share of the best weighted one's: what counts less does not make the rest small."""
    summed = {
        path: sum(part * score for part, score in zip(FALLING, sorted(some, reverse=True), strict=False))
        for path, some in scores.items()
    }
    most = max((score * weights[path] for path, score in summed.items()), default=0.0)
    return {path: max(0.0, score) / most if most > 0 else 0.0 for path, score in summed.items()}


def _nearness(
    paths: Sequence[str],
    by_path: Mapping[str, Sequence[Candidate]],
    scores: Mapping[str, float],
    around: Around,
) -> dict[str, float]:
    """For each file how good the best other one is that one of its chunks uses, or is used by."""
    path_of = {chunk.key: path for path in paths for chunk in by_path[path]}
    most = max((scores[path] for path in paths), default=0.0) or 1.0
    near: dict[str, float] = {}
    for source, target, sure in around.neighbours(path_of.keys()):
        one, other = path_of[source], path_of[target]
        if one != other:
            near[one] = max(near.get(one, 0.0), sure * scores[other] / most)
            near[other] = max(near.get(other, 0.0), sure * scores[one] / most)
    return near


def _share_of_names(words: Sequence[str], names: Mapping[str, int]) -> float:
    """How many of the words are in names of definitions; fully when they are in three."""
    if not words:
        return 0.0
    return sum(min(1.0, math.log1p(names.get(word, 0)) / math.log(4)) for word in words) / len(words)


def _named(question: Question, path: str, chunks: Iterable[Candidate]) -> float:
    scale = 1.0 if question.is_name else MENTIONED
    score = scale * DEFINES * max((chunk.named for chunk in chunks), default=0.0)
    stem = _plain(PurePosixPath(path).name.partition(".")[0])
    if any(stem == _plain(name) for name in question.names):
        score += scale * NAMED
    if any(path == asked or path.endswith(f"/{asked}") for asked in question.paths):
        score += PLACED
    return score


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _weight(question: Question, path: str, role: Role) -> float:
    weight = 1.0 if role in question.roles else ROLES[role]
    return weight * DECLARES if path.endswith((".d.ts", ".pyi")) else weight


def _why(question: Question, path: str, chunks: Sequence[Candidate], names: Mapping[str, int]) -> tuple[str, ...]:
    why: list[str] = []
    if defined := sorted({chunk.qualified or chunk.name for chunk in chunks if chunk.named}):
        why.append(f"defines {', '.join(defined[:3])}")
    if any(path == asked or path.endswith(f"/{asked}") for asked in question.paths):
        why.append("is the path that was asked for")
    if any(chunk.words for chunk in chunks):
        why.append("says the words")
    nearest = max((chunk.meaning for chunk in chunks), default=0.0)
    if nearest > 0:
        why.append(f"means nearly this ({nearest:.2f})")
    if called := [word for word in question.words if names.get(word)]:
        why.append(f"has names with {', '.join(called[:4])}")
    role = chunks[0].role
    if role is not Role.CODE:
        why.append(
            f"counts less, as {'an' if role is Role.EXAMPLE else 'a'} {role.value}"
            if role not in question.roles
            else f"is a {role.value}"
        )
    return tuple(why)
