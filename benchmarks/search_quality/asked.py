"""What is asked, what would be right, and what a searcher answers."""

from __future__ import annotations

from typing import Protocol

import msgspec


class Place(msgspec.Struct, frozen=True):
    """Lines of a file, counted from 1, both ends included."""

    path: str
    start: int = 1
    end: int = 1 << 30


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """Words that somebody looks for something with, and where it is."""

    repository: str
    language: str
    kind: str
    text: str
    files: tuple[str, ...]
    line: int = 0
    """Where the definition begins that is meant; 0 where a file is."""


class Searcher(Protocol):
    """One way of searching one repository."""

    def search(self, text: str, k: int) -> list[Place]:
        """The best places, the best first."""
        ...
