"""Python's standard library: measured with, and so never learned from, nor what others have copied of it."""

from __future__ import annotations

import hashlib
import sysconfig
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from sylk_ray.codebase.reading import read
from training.embedder.harvest import is_written
from training.embedder.pairs import Pair, code_of, pairs_of

FOLDER = Path(sysconfig.get_path("stdlib"))
_ANOTHERS = frozenset({"site-packages", "dist-packages", "test", "tests", "idle_test", "_vendor"})
"""Folders with what is another's, and tests."""


class Said(NamedTuple):
    """All that something says of its code, and the code."""

    queries: frozenset[str]
    bodies: frozenset[bytes]

    def __or__(self, other: Said) -> Said:
        return Said(self.queries | other.queries, self.bodies | other.bodies)

    def has(self, pair: Pair) -> bool:
        """Whether a pair is a copy, of the words or of the code. What a word means is about no code."""
        return pair.kind != "gloss" and (folded(pair.query) in self.queries or body_of(pair) in self.bodies)


def pairs(folder: Path = FOLDER) -> Iterator[Pair]:
    """Of the one that this interpreter came with, or of another one."""
    for path in sorted(folder.rglob("*.py")):
        place = path.relative_to(folder).as_posix()
        if _ANOTHERS & set(place.split("/")) or not path.is_file():
            continue
        text = path.read_text("utf-8", "replace")
        if is_written(text):
            yield from pairs_of(read(place, text), text)


@cache
def said(folder: Path = FOLDER) -> Said:
    """What nothing that is learned from may repeat."""
    return said_by(pairs(folder))


def said_by(pairs: Iterable[Pair]) -> Said:
    """What these say of code, and the code."""
    every = list(pairs)
    queries = frozenset(folded(pair.query) for pair in every if pair.kind in ("doc", "more", "file"))
    return Said(queries, frozenset(map(body_of, every)))


def folded(text: str) -> str:
    """Words as they are compared."""
    return " ".join(text.lower().split())


def body_of(pair: Pair) -> bytes:
    """A checksum of the code, without name and path and however it is indented."""
    return hashlib.blake2b(folded(code_of(pair.document)).encode(), digest_size=12).digest()
