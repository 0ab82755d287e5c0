"""Pairs of all packages, cleaned of repetitions, as arrays that training reads; and the sets to measure with."""

from __future__ import annotations

import hashlib
import random
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

import sylk_ray
from sylk_ray.knowledge.embedding.vocabulary import Vocabulary
from training.embedder import library
from training.embedder.extract import pairs_in, reading
from training.embedder.library import Said, folded
from training.embedder.packages import Package, line_of
from training.embedder.pairs import Pair, code_of
from training.embedder.tokens import Bags, bags, joined
from training.embedder.whole_files import named_by, whole

REPEATED = 2
"""How often the same words may be asked with, in all packages together."""
MOST = {
    "doc": 8_000,
    "more": 3_000,
    "name": 4_000,
    "comment": 5_000,
    "file": 2_000,
    "test": 1_500,
    "section": 1_000,
    "gloss": 90_000,
}
"""Pairs of a kind from one package."""
BARE = 0.3
"""Which part of the definitions is learned as code alone, without name and path: there is not always an index that has
them."""
SEED = 20


_CHOOSING = [
    *(Path(__file__).with_name(name) for name in ("preparing.py", "library.py", "tokens.py", "vocabulary.py")),
    *(Path(sylk_ray.__file__).parent / "knowledge" / "embedding" / name for name in ("places.py", "vocabulary.py")),
]
NOTHING = Said(frozenset(), frozenset())


class Training(NamedTuple):
    """What training reads. Pairs of one file stand together."""

    queries: Bags
    documents: Bags
    kinds: npt.NDArray[np.uint8]
    """Of each pair, a place in ``KINDS``."""
    languages: npt.NDArray[np.uint8]
    files: npt.NDArray[np.int64]
    """Where each file's pairs begin, and where the last one's end."""


KINDS = tuple(MOST)
LANGUAGES = (
    *("english", "python", "javascript", "typescript", "go", "rust", "java", "ruby", "php", "c", "cpp", "csharp"),
    *("haskell", "lua", "kotlin", "scala", "swift", "tsx", "bash", "other"),
)


class Once:
    """Lets the same words through so many times, the same document with the same words never twice, and what is
    another's not at all."""

    def __init__(self, anothers: Said = NOTHING) -> None:
        self._anothers = anothers
        self._asked: Counter[str] = Counter()
        self._seen: set[bytes] = set()

    def keeps(self, pair: Pair) -> bool:
        if self._anothers.has(pair):
            return False
        asked = folded(pair.query)
        whole = hashlib.blake2b(f"{asked}\0{code_of(pair.document)}".encode(), digest_size=12).digest()
        if self._asked[asked] >= REPEATED or whole in self._seen:
            return False
        self._asked[asked] += 1
        self._seen.add(whole)
        return True


def chosen(package: Package, pairs: Iterable[Pair], once: Once) -> list[Pair]:
    """A package's pairs without repetitions, at most so many of a kind, those of one file together."""
    by_kind: dict[str, list[Pair]] = {}
    for pair in pairs:
        if once.keeps(pair):
            by_kind.setdefault(pair.kind, []).append(pair)
    kept: list[Pair] = []
    for kind, some in sorted(by_kind.items()):
        most = MOST[kind]
        kept += random.Random(f"{SEED} {package.name} {kind}").sample(some, most) if len(some) > most else some
    return sorted(kept, key=lambda pair: pair.path)


def training_pairs(packages: Sequence[Package], cache: Path) -> Iterator[list[Pair]]:
    """Of each package that is learned from; nothing that stands in the standard library, or is measured with."""
    measured = (pairs_in(package, cache) for package in packages if package.part == "dev")
    once = Once(library.said() | library.said_by(chain.from_iterable(measured)))
    for package in packages:
        if package.part == "train":
            yield chosen(package, pairs_in(package, cache), once)


def choice_of(packages: Sequence[Package]) -> str:
    """A checksum of what it depends on which pairs there are, and which words: the packages, how they are read, and how
    it is chosen."""
    chosen_by = [path.read_bytes() for path in _CHOOSING]
    every = [*map(line_of, packages), *sys.version_info[:3], reading(), *chosen_by]
    return hashlib.sha256(repr(every).encode()).hexdigest()


def of_packages(packages: Sequence[Package], words: Sequence[str], cache: Path) -> Training:
    """All pairs that are learned from, kept until these or the words are others."""
    path = named_by(cache / "training.npz", choice_of(packages), words)
    if not path.exists():
        made = as_training(training_pairs(packages, cache), Vocabulary(words))
        with whole(path) as file:
            saved(made, file)
    return loaded(path)


def as_training(by_package: Iterable[list[Pair]], vocabulary: Vocabulary) -> Training:
    """In arrays."""
    queries: list[Bags] = []
    documents: list[Bags] = []
    kinds: list[int] = []
    languages: list[int] = []
    files: list[int] = []
    for pairs in by_package:
        before = ""
        for pair in pairs:
            if pair.path != before or pair.kind == "gloss":
                files.append(len(kinds))
                before = pair.path
            kinds.append(KINDS.index(pair.kind))
            languages.append(LANGUAGES.index(pair.language if pair.language in LANGUAGES else "other"))
        queries.append(bags((pair.query for pair in pairs), vocabulary))
        documents.append(bags((learned_as(pair) for pair in pairs), vocabulary))
    return Training(
        joined(queries),
        joined(documents),
        np.asarray(kinds, np.uint8),
        np.asarray(languages, np.uint8),
        np.asarray([*files, len(kinds)], np.int64),
    )


def learned_as(pair: Pair) -> str:
    """A pair's document, of some definitions without name and path."""
    if pair.kind in ("file", "section", "gloss") or not _by_chance(pair.document) < BARE:
        return pair.document
    return code_of(pair.document)


def _by_chance(text: str) -> float:
    """A number in [0, 1), always the same of a text."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest()) / (1 << 32)


def saved(training: Training, file: BinaryIO) -> None:
    """As one file of arrays."""
    arrays = {f"{side}_{name}": each for side in ("queries", "documents") for name, each in _parts(training, side)}
    np.savez(file, kinds=training.kinds, languages=training.languages, files=training.files, **arrays)


def loaded(path: Path) -> Training:
    """What ``saved`` wrote."""
    with np.load(path) as found:
        sides = [Bags(*(found[f"{side}_{name}"] for name in Bags._fields)) for side in ("queries", "documents")]
        return Training(*sides, found["kinds"], found["languages"], found["files"])


def _parts(training: Training, side: str) -> Iterable[tuple[str, npt.NDArray[np.generic]]]:
    return getattr(training, side)._asdict().items()
