"""Which files, and what in them, answer a question best. A pure function of what was found.

A file's score is what its best chunk says by words and by meaning, a little for the next best ones, what it means as a
whole, how well each word of the question has a counterpart in it, what uses it, and much for defining exactly what was
named. Tests, examples, documents and copies are of the code: they come after it unless the question speaks of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple, Protocol

import msgspec

from sylk_ray.codebase.retrieval.question import Question
from sylk_ray.codebase.roles import Role
from sylk_ray.knowledge.model import NodeType
from sylk_ray.knowledge.words import words

WORDS, MEANING = 0.6, 0.75
"""What the best file by words, and by meaning, is given. These, ``WHOLE``, ``IN_PATH`` and ``IN_CHUNK`` were chosen
together, by questions by hand about repositories that were left out in turn; a quarter more or less of each is nearly
as good."""
FALLING = (1.0, 0.3, 0.1)
"""What a file's best, second and third chunk count."""
BY_WORDS = 0.01
"""What BM25 counts beside a cosine where chunks of one file are compared: with less, one whose documentation says just
what is asked comes too late; with more, one without any, as its neighbours mostly have the same words."""
WHOLE = 0.9
"""What the file is given that as a whole means most nearly what is asked."""
IN_PATH, IN_CHUNK = 0.3, 0.5
"""What it is given in whose path, and in whose best chunk, each word of the question has one that means the same."""
NEIGHBOURS = 0.8
"""What a file is given that uses, or is used by, the best one."""
DEFINES, NAMED, PLACED = 1.5, 1.0, 2.0
"""What defining the name that was asked for, being called like it, and being the path that was asked for give."""
MENTIONED = 0.5
"""What of that is given where the name stands in a sentence."""
OTHER_CASE = 0.8
ROLES = {
    Role.CODE: 1.0,
    Role.TEST: 0.5,
    Role.EXAMPLE: 0.5,
    Role.COPY: 0.5,
    Role.DOCUMENT: 0.45,
    Role.CONFIGURATION: 0.4,
}
COMMON, FEWEST = 0.4, 8
"""Where so many files of code have a word in their names, of so many at least, it is what the repository is about, and
tells no role."""
DECLARES = 0.75
"""What a file that only declares counts beside the code: a header, an interface, ``.d.ts``, ``.pyi``."""
LOOKED_AT = 60
"""Files whose words are looked at one by one, and what uses them."""
CHUNKS = 3
"""Of each of them."""


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
    declares: bool = False
    """Whether its file only declares what is defined elsewhere."""


class Ranked(msgspec.Struct, frozen=True, kw_only=True):
    """A file, with its chunks from the best to the worst."""

    path: str
    score: float
    chunks: tuple[Candidate, ...]
    why: tuple[str, ...]


class Counterparts(NamedTuple):
    """How well each word of a question has one that means the same, in the mean; within [0, 1]."""

    in_path: float
    in_chunk: float
    """In that chunk that has the best ones."""


class Around(Protocol):
    """What is known of candidates beside themselves."""

    def counterparts(self, text: str, chunks: Mapping[str, Sequence[int]]) -> Mapping[str, Counterparts]:
        """Of files by their paths, each with chunks of it."""
        ...

    def names_in(self, paths: Sequence[str]) -> Mapping[str, Counter[str]]:
        """The words of the names that files define."""
        ...

    def neighbours(self, keys: Collection[int]) -> Iterable[tuple[int, int, float]]:
        """Which of these chunks use which others, and how sure that is."""
        ...


def rank(question: Question, found: Sequence[Candidate], around: Around) -> list[Ranked]:
    """Files in the order of how well they answer."""
    by_path: dict[str, list[Candidate]] = {}
    for each in sorted(found, key=_from_the_best):
        by_path.setdefault(each.path, []).append(each)
    by_path = {path: chunks for path, chunks in by_path.items() if _says_something(question, path, chunks)}
    roles = _roles_meant(question, by_path, around)
    weights = {path: _weight(question, roles, chunks) for path, chunks in by_path.items()}
    said = _shares({path: [c.words for c in chunks] for path, chunks in by_path.items()}, weights)
    meaning = _shares({path: [c.meaning for c in _bodies(chunks)] for path, chunks in by_path.items()}, weights)
    whole = _shares({path: [max(c.whole for c in chunks)] for path, chunks in by_path.items()}, weights)
    scores = {
        path: WORDS * said[path] + MEANING * meaning[path] + WHOLE * whole[path] + _named(question, path, by_path[path])
        for path in by_path
    }
    first = sorted(scores, key=lambda path: (-scores[path] * weights[path], path))[:LOOKED_AT]
    near = _nearness(first, by_path, scores, around)
    best = {path: [chunk.key for chunk in _bodies(by_path[path])[:CHUNKS]] for path in first}
    met = around.counterparts(question.text, best)
    for path in first:
        scores[path] += NEIGHBOURS * near.get(path, 0.0)
        if path in met:
            scores[path] += IN_PATH * met[path].in_path + IN_CHUNK * met[path].in_chunk
    order = sorted(scores, key=lambda path: (-scores[path] * weights[path], path))
    return [
        Ranked(
            path=path,
            score=scores[path] * weights[path],
            chunks=tuple(by_path[path]),
            why=_why(question, roles, path, by_path[path]),
        )
        for path in order
    ]


def _says_something(question: Question, path: str, chunks: Iterable[Candidate]) -> bool:
    """Among few files even the nearest one may mean something else altogether."""
    return _is_asked_for(question, path) or any(
        max(chunk.words, chunk.meaning, chunk.named, chunk.whole) > 0 for chunk in chunks
    )


def strength(chunk: Candidate) -> float:
    """How well a chunk answers beside others of its file."""
    return chunk.named + chunk.meaning + BY_WORDS * chunk.words


def _from_the_best(chunk: Candidate) -> tuple[bool, float, int]:
    return chunk.type is NodeType.FILE, -strength(chunk), chunk.key


def _bodies(chunks: Iterable[Candidate]) -> list[Candidate]:
    """A file's chunks without the file as a whole, which counts apart."""
    return [chunk for chunk in chunks if chunk.type is not NodeType.FILE]


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


def _named(question: Question, path: str, chunks: Iterable[Candidate]) -> float:
    scale = 1.0 if question.is_name else MENTIONED
    score = scale * DEFINES * max((chunk.named for chunk in chunks), default=0.0)
    stem = _plain(_stem(path))
    if any(stem == _plain(name) for name in question.names):
        score += scale * NAMED
    if _is_asked_for(question, path):
        score += PLACED
    return score


def _stem(path: str) -> str:
    return PurePosixPath(path).name.partition(".")[0]


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _roles_meant(question: Question, by_path: Mapping[str, Sequence[Candidate]], around: Around) -> Collection[Role]:
    """The kinds of files that a question speaks of; none for a word that much of the code is called by."""
    if not question.roles:
        return ()
    code = [path for path, chunks in by_path.items() if chunks[0].role is Role.CODE]
    code = sorted(code, key=lambda path: (-max(chunk.words for chunk in by_path[path]), path))[:LOOKED_AT]
    names = around.names_in(code)
    called = {path: {*names.get(path, ()), *words(_stem(path))} for path in code}
    return {
        role
        for role, sign in question.roles.items()
        if len(code) < FEWEST or sum(sign in each for each in called.values()) < COMMON * len(code)
    }


def _weight(question: Question, roles: Collection[Role], chunks: Sequence[Candidate]) -> float:
    """What a file counts by what it is; the very one that is asked for counts fully."""
    if _is_meant(question, chunks[0].path):
        return 1.0
    role = chunks[0].role
    weight = 1.0 if role in roles else ROLES[role]
    return weight * DECLARES if _only_declares(question, chunks) else weight


def _only_declares(question: Question, chunks: Sequence[Candidate]) -> bool:
    """Whether another file has more of what is asked for: not if that is a type or a constant."""
    if not chunks[0].declares or question.declarations:
        return False
    return not any(chunk.named and chunk.type is not NodeType.FUNCTION for chunk in chunks)


def _is_asked_for(question: Question, path: str) -> bool:
    return _ends_in(path, question.paths)


def _is_meant(question: Question, path: str) -> bool:
    return _ends_in(path, question.meant)


def _ends_in(path: str, some: Iterable[str]) -> bool:
    return any(path == each or path.endswith(f"/{each}") for each in some)


def _why(question: Question, roles: Collection[Role], path: str, chunks: Sequence[Candidate]) -> tuple[str, ...]:
    why: list[str] = []
    if defined := sorted({chunk.qualified or chunk.name for chunk in chunks if chunk.named}):
        why.append(f"defines {', '.join(defined[:3])}")
    meant = _is_meant(question, path)
    if _is_asked_for(question, path):
        why.append("is the path that was asked for")
    if any(chunk.words for chunk in chunks):
        why.append("says the words")
    nearest = max((chunk.meaning for chunk in chunks), default=0.0)
    if nearest > 0:
        why.append(f"means nearly this ({nearest:.2f})")
    if not meant and _only_declares(question, chunks):
        why.append("counts less, as it only declares")
    role = chunks[0].role
    if role is not Role.CODE:
        why.append(
            f"counts less, as {'an' if role is Role.EXAMPLE else 'a'} {role.value}"
            if role not in roles and not meant
            else f"is {'an' if role is Role.EXAMPLE else 'a'} {role.value}"
        )
    return tuple(why)
