"""Questions of packages that nothing was learned from, by language, and how good an order of documents is."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from training.embedder import library
from training.embedder.extract import pairs_in
from training.embedder.packages import Package
from training.embedder.pairs import Pair, head_of, squeezed

QUESTIONS, DOCUMENTS = 200, 600
"""Of a language, at most."""
AT = 10
SEED = 20


class Asked(NamedTuple):
    """Questions about the documents of one language; the question n is answered by the document n."""

    language: str
    questions: list[str]
    documents: list[str]


class Score(NamedTuple):
    """Means over questions, each in [0, 1]."""

    mrr: float
    recall: float
    ndcg: float


def development(packages: Iterable[Package], cache: Path) -> list[Asked]:
    """First sentences of documentation, for the definition that they stood at; by language."""
    by_language: dict[str, list[Pair]] = {}
    for package in packages:
        if package.part == "dev":
            for pair in pairs_in(package, cache):
                by_language.setdefault(pair.language, []).append(pair)
    return [made for language, pairs in sorted(by_language.items()) if (made := asked_about(language, pairs))]


def asked_about(language: str, pairs: Sequence[Pair]) -> Asked | None:
    """The questions of one language's pairs; None if they are too few.

    No document has a sentence in it that is asked with. Of a definition without documentation there is one at most,
    whatever comments it has.
    """
    once: dict[str, Pair] = {}
    for pair in pairs:
        if pair.kind == "doc":
            once.setdefault(pair.query, pair)
    order = random.Random(f"{SEED} {language}")
    mixed = order.sample(sorted(once.values(), key=lambda pair: (pair.path, pair.query)), len(once))
    asked = [pair for pair in mixed if squeezed(pair.query) not in squeezed(pair.document)][:QUESTIONS]
    if len(asked) < QUESTIONS // 2:
        return None
    right = {pair.document for pair in asked}
    sentences = [squeezed(pair.query) for pair in asked]
    others = [each for each in _documents(pairs) if each not in right and not _says_any(each, sentences)]
    others = order.sample(others, min(len(others), DOCUMENTS - len(asked)))
    return Asked(language, [pair.query for pair in asked], [pair.document for pair in asked] + others)


def _says_any(document: str, sentences: Sequence[str]) -> bool:
    """Whether one of these, squeezed, stands in it."""
    whole = squeezed(document)
    return any(each in whole for each in sentences)


def _documents(pairs: Sequence[Pair]) -> list[str]:
    """Of all definitions, in an order of their own. A comment's has the documentation of its definition, so it is there
    only where nothing was said of that."""
    documented = {pair.document for pair in pairs if pair.kind in ("doc", "more")}
    heads = {head_of(document) for document in documented}
    bare: dict[tuple[str, str], str] = {}
    for document in sorted(pair.document for pair in pairs if pair.kind == "comment"):
        name, path = head_of(document)
        if name and (name, path) not in heads:
            bare.setdefault((name, path), document)
    return sorted(documented.union(bare.values()))


def standard_library(folder: Path = library.FOLDER, documents: int = 5_000) -> Asked:
    """The same of Python's standard library, of which nothing is learned either: so many documents, and the first
    sentence of each as a question."""
    once: dict[str, Pair] = {}
    documents_seen: set[str] = set()
    for pair in library.pairs(folder):
        if pair.kind == "doc" and pair.query not in once and pair.document not in documents_seen:
            once[pair.query] = pair
            documents_seen.add(pair.document)
    every = sorted(once.values(), key=lambda pair: (pair.path, pair.query))
    some = random.Random(f"{SEED} standard library").sample(every, min(len(every), documents))
    return Asked("python's standard library", [pair.query for pair in some], [pair.document for pair in some])


def score(similarities: npt.NDArray[np.floating]) -> Score:
    """Of [questions, documents], where the document n answers the question n. Equal ones count against it."""
    own = similarities[np.arange(len(similarities)), np.arange(len(similarities))]
    place = (similarities >= own[:, None]).sum(axis=1)
    found = place <= AT
    return Score(
        float(np.mean(np.where(found, 1 / place, 0.0))),
        float(np.mean(found)),
        float(np.mean(np.where(found, 1 / np.log2(place + 1), 0.0))),
    )
