"""A file cut into what is searched: its definitions, each without those that stand within it, and what lies between.

Every line with a word belongs to exactly one chunk, so a search misses nothing, and nothing counts twice. A chunk has
at most ``LONGEST`` lines; a longer definition goes on in further ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

import msgspec

from sylk_ray.codebase.outline import Outline, Part, Symbol, SymbolKind

LONGEST = 60
"""Lines."""
SMALL = 3
"""A constant of fewer lines is part of what is around it."""

_WORD = re.compile(r"\w")


class Chunk(msgspec.Struct, frozen=True, kw_only=True):
    """Some lines of a file."""

    text: str
    start_line: int
    """Of what it is a part of, as it is shown: the whole definition."""
    end_line: int
    symbol: int | None = None
    """Which of the outline's symbols it is, or goes on with."""
    first: bool = True
    """False for what goes on with a long definition."""
    title: str = ""
    """Of a part of a document, or the name of the definition."""


def cut(outline: Outline, text: str) -> list[Chunk]:
    """The chunks of a file, in the order of their lines."""
    lines = text.split("\n")
    chunks: list[Chunk] = []
    parts = _Parts(outline.parts)
    own: dict[int, list[int]] = {}
    for owner, numbers in _runs(_owners(outline.symbols, len(lines))):
        if owner is None:
            chunks += _between(lines, numbers, parts)
        else:
            own.setdefault(owner, []).extend(numbers)
    for owner, numbers in own.items():
        symbol = outline.symbols[owner]
        for start in range(0, len(numbers), LONGEST):
            piece = numbers[start : start + LONGEST]
            if start and not _says(lines, piece):
                continue
            whole = len(numbers) <= LONGEST
            chunks.append(
                Chunk(
                    text=_joined(lines, piece),
                    start_line=symbol.start_line if whole or not start else piece[0] + 1,
                    end_line=symbol.end_line if whole else piece[-1] + 1,
                    symbol=owner,
                    first=not start,
                    title=symbol.qualified,
                )
            )
    return sorted(chunks, key=lambda chunk: (chunk.start_line, chunk.end_line))


def stands_alone(symbol: Symbol) -> bool:
    """Whether a definition is a chunk of its own: all but small constants."""
    return symbol.kind is not SymbolKind.CONSTANT or symbol.end_line - symbol.start_line + 1 >= SMALL


def _owners(symbols: Sequence[Symbol], count: int) -> list[int | None]:
    """For each line the innermost definition that it stands in."""
    owners: list[int | None] = [None] * count
    by_size = sorted(
        (number for number, symbol in enumerate(symbols) if stands_alone(symbol)),
        key=lambda number: (symbols[number].start_line - symbols[number].end_line, number),
    )
    for number in by_size:
        symbol = symbols[number]
        start, end = symbol.start_line - 1, min(symbol.end_line, count)
        owners[start:end] = [number] * (end - start)
    return owners


def _runs(owners: Sequence[int | None]) -> Iterator[tuple[int | None, range]]:
    """Lines of one owner, as long as they follow each other."""
    start = 0
    for owner, some in groupby(owners):
        end = start + sum(1 for _ in some)
        yield owner, range(start, end)
        start = end


class _Parts:
    """Which part of a document a line belongs to."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = sorted(parts, key=lambda part: part.start_line)

    def titles(self, numbers: range) -> list[tuple[str, range]]:
        """The lines of a run by the part they are in, those of none before the next one's."""
        found: list[tuple[str, range]] = []
        at, end = numbers.start, numbers.stop
        for part in self._parts:
            if part.start_line > end:
                break
            first, after = max(part.start_line - 1, at), min(part.end_line, end)
            if first < after:
                if at < first:
                    found.append(("", range(at, first)))
                found.append((part.title, range(first, after)))
                at = after
        if at < end:
            found.append(("", range(at, end)))
        return found


def _between(lines: Sequence[str], numbers: range, parts: _Parts) -> list[Chunk]:
    chunks: list[Chunk] = []
    for title, some in parts.titles(numbers):
        for start in range(0, len(some), LONGEST):
            piece = _trimmed(lines, some[start : start + LONGEST])
            if piece:
                text = _joined(lines, piece)
                chunks.append(Chunk(text=text, start_line=piece[0] + 1, end_line=piece[-1] + 1, title=title))
    return chunks


def _joined(lines: Sequence[str], numbers: Sequence[int]) -> str:
    first, last = numbers[0], numbers[-1]
    if last - first + 1 == len(numbers):
        return "\n".join(lines[first : last + 1])
    return "\n".join([lines[number] for number in numbers])


def _trimmed(lines: Sequence[str], numbers: Sequence[int]) -> Sequence[int]:
    while numbers and not _WORD.search(lines[numbers[0]]):
        numbers = numbers[1:]
    while numbers and not _WORD.search(lines[numbers[-1]]):
        numbers = numbers[:-1]
    return numbers


def _says(lines: Sequence[str], numbers: Sequence[int]) -> bool:
    return any(_WORD.search(lines[number]) for number in numbers)
