"""Texts whose parts hang on conditions (``#if``), as they are where the first of them hold.

A parser reads all branches at once. Where one begins what another ends, as with a brace in each of two, it takes the
rest of the file for broken.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec

from sylk_ray.codebase.outline import Outline, Symbol
from sylk_ray.codebase.reading.source import blanked

_DIRECTIVE = re.compile(
    r"/\*.*?\*/|//[^\n]*|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'"
    r"|^[ \t]*#[ \t]*(if|ifdef|ifndef|elif|elifdef|elifndef|else|endif)\b(?:[^\n\\/]|\\.|/(?![*/]))*",
    re.MULTILINE | re.DOTALL,
)
"""Comments and strings too, so that none is looked for within them: they have no group."""
_NEVER = re.compile(r"\s*#\s*(?:el)?if\b[\s(]*(?:0|false)[\s)]*$")


class _Condition(NamedTuple):
    kept: bool
    """Whether this branch of it is."""
    done: bool
    """Whether one of its branches was, or is."""


def first_branches(text: str) -> str:
    """The text with blanks in place of directives, and of all branches but the first of each condition: what remains
    stands where it stood. ``#if 0`` does not hold."""
    parts: list[str] = []
    around: list[_Condition] = []
    left_out = 0
    at = 0
    for found in _DIRECTIVE.finditer(text):
        word = found[1]
        if not word:
            continue
        between = text[at : found.start()]
        parts += [blanked(between) if left_out else between, blanked(found[0])]
        at = found.end()
        holds = not _NEVER.match(found[0])
        if word.startswith("if"):
            now = _Condition(holds, holds)
        elif not around:
            continue
        else:
            before = around.pop()
            left_out -= not before.kept
            if word == "endif":
                continue
            now = _Condition(holds and not before.done, holds or before.done)
        around.append(now)
        left_out += not now.kept
    return "".join([*parts, blanked(text[at:]) if left_out else text[at:]])


def with_other_branches(outline: Outline, every: Outline, text: str, read: str) -> Outline:
    """The outline of ``read``, with what the one of all the ``text`` has in lines that are blank in ``read`` alone."""
    said = text.split("\n")
    lines = zip(said, read.split("\n"), strict=True)
    gone = {number for number, (was, now) in enumerate(lines, 1) if was.strip() and not now.strip()}

    def elsewhere(symbol: Symbol) -> bool:
        within = range(symbol.start_line, symbol.end_line + 1)
        return all(line in gone or not said[line - 1].strip() for line in within)

    symbols = [*outline.symbols, *filter(elsewhere, every.symbols)]
    return msgspec.structs.replace(
        outline,
        symbols=tuple(sorted(symbols, key=lambda each: (each.start_line, -each.end_line))),
        imports=(*outline.imports, *(each for each in every.imports if each.line in gone)),
        references=(*outline.references, *(each for each in every.references if each.line in gone)),
        declares=outline.declares and every.declares,
    )
