"""The model beside BM25, a small transformer and a general static model, on packages that none was trained on here."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sylk_ray.knowledge.embedding import Rarity, StaticEmbedder
from sylk_ray.knowledge.lexical import K1, dimensions_of, document_vector, query_vector
from sylk_ray.knowledge.vectors import Sparse
from sylk_ray.knowledge.words import identifiers
from training.embedder.installed import NotInstalled
from training.embedder.measuring import Asked, Score, development, score, standard_library
from training.embedder.packages import Package

Similar = npt.NDArray[np.float32]
WORDS = 0.3
"""What saying all the words without end counts beside a cosine of 1, in a hybrid of single documents."""
HERE = "ours, by what is rare here"
"""The model as a search asks it."""


def ways(model: Path) -> dict[str, Callable[[Asked], Similar]]:
    """How alike questions and documents are, [questions, documents], to each of those that are compared."""
    ours = StaticEmbedder(model)
    found: dict[str, Callable[[Asked], Similar]] = {"BM25": by_words, "ours": by_meaning(ours)}
    found[HERE] = by_meaning_here(ours)
    if theirs := _of_minilm():
        found["MiniLM int8"] = theirs
    if general := _of_wordllama():
        found["wordllama"] = general
    return found


def compared(packages: Sequence[Package], cache: Path, model: Path) -> str:
    """A table, by language."""
    every = ways(model)
    lines = ["| language | searcher | MRR@10 | recall@10 | NDCG@10 |", "|---|---|---:|---:|---:|"]
    for asked in (*development(packages, cache), standard_library()):
        found = {name: way(asked) for name, way in every.items()}
        found |= hybrids(found)
        for name, similar in found.items():
            lines.append(_line(asked.language, name, score(similar)))
    return "\n".join(lines)


def by_words(asked: Asked) -> Similar:
    """BM25, [questions, documents], as shares of what a document would have that said all of a question's words without
    end. Words that no document has are part of that."""
    documents = [document_vector(text) for text in asked.documents]
    holding: dict[int, list[tuple[int, float]]] = {}
    for number, vector in enumerate(documents):
        for word, weight in _items(vector):
            holding.setdefault(word, []).append((number, weight))
    similar = np.zeros((len(asked.questions), len(documents)), np.float32)
    for row, question in zip(similar, asked.questions, strict=True):
        vector = query_vector(question)
        most = 0.0
        for word, _ in _items(vector) if vector else ():
            found = holding.get(word, [])
            rarity = np.log(1 + (len(documents) - len(found) + 0.5) / (len(found) + 0.5))
            most += rarity * (K1 + 1)
            for number, weight in found:
                row[number] += rarity * weight
        row /= most or 1.0
    return similar


def hybrid(words: Similar, meaning: Similar) -> Similar:
    """The cosine, and how much of the words there is: few of them change little, whatever the others have (the bound as
    scale is Bruch, Gai and Ingber, 2022)."""
    return meaning + WORDS * words


def hybrids(found: Mapping[str, Similar]) -> dict[str, Similar]:
    """The model with words: alone, and as a search asks it."""
    return {f"{meaning} and BM25": hybrid(found["BM25"], found[meaning]) for meaning in ("ours", HERE)}


def _items(vector: Sparse) -> list[tuple[int, float]]:
    return list(zip(vector.indices.tolist(), vector.values.tolist(), strict=True))


def by_meaning(embedder: StaticEmbedder) -> Callable[[Asked], Similar]:
    """The cosine, [questions, documents]."""

    def similar(asked: Asked) -> Similar:
        questions = np.stack([embedder.embed_query(question) for question in asked.questions])
        return questions @ embedder.embed(asked.documents).T

    return similar


def by_meaning_here(embedder: StaticEmbedder) -> Callable[[Asked], Similar]:
    """The same, of questions whose words count by how rare they are among the documents, as in an index."""

    def similar(asked: Asked) -> Similar:
        having = Counter(word for text in asked.documents for word in document_vector(text).indices.tolist())
        count = len(asked.documents)

        def rare(times: int) -> float:
            return math.log(1 + (count - times + 0.5) / (times + 0.5))

        def embedded(question: str) -> Similar:
            words = dict(each for identifier in identifiers(question) for each in dimensions_of(identifier))
            rarity = Rarity({part: rare(having[dimension]) for part, dimension in words.items()}, count)
            return embedder.embed_query(question, rarity)

        return np.stack(list(map(embedded, asked.questions))) @ embedder.embed(asked.documents).T

    return similar


def _of_minilm() -> Callable[[Asked], Similar] | None:
    try:
        from training.embedder.minilm import MiniLM

        model = MiniLM()
    except (ImportError, NotInstalled):
        return None
    return lambda asked: model.embed(asked.questions) @ model.embed(asked.documents).T


def _of_wordllama() -> Callable[[Asked], Similar] | None:
    try:
        from training.embedder.wordllama import General

        model = General()
    except (ImportError, NotInstalled):
        return None
    return lambda asked: model.embed(asked.questions) @ model.embed(asked.documents).T


def _line(language: str, name: str, found: Score) -> str:
    return f"| {language} | {name} | {found.mrr:.3f} | {found.recall:.3f} | {found.ndcg:.3f} |"
