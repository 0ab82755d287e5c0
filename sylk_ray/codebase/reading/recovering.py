"""Reading on behind a mistake that has swallowed what follows it.

A parser that misses a brace may take the rest of a file for one broken stretch. What comes after is read anew with the
mistake left out: from the next line at the margin that stands behind a blank one.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from sylk_ray.codebase.outline import Outline, Symbol
from sylk_ray.codebase.reading.stretches import touching_as_one

MOST_MISTAKES = 3
"""How often a file is read anew."""


def read_behind_mistakes(text: str, read: Callable[[str], Outline | None]) -> Outline | None:
    """What ``read`` gives for a text, and for what is broken in it what it gives for the rest."""
    outline = read(text)
    if outline is None or not outline.broken:
        return outline
    lines = text.split("\n")
    after = 0
    for _ in range(MOST_MISTAKES):
        first = next((first for first, _ in outline.broken if first > after), None)
        resume = _resume(lines, first) if first else None
        if first is None or resume is None:
            break
        rest = read("\n".join([""] * (resume - 1) + lines[resume - 1 :]))
        if rest is None:
            break
        known = {(each.qualified, each.start_line) for each in outline.symbols}
        if any((each.qualified, each.start_line) not in known for each in rest.symbols):
            outline = _joined(outline, rest, resume)
        after = first
    return outline


def _resume(lines: list[str], first: int) -> int | None:
    for at in range(first, len(lines)):
        line = lines[at]
        if line[:1].isalpha() and not lines[at - 1].strip():
            return at + 1
    return None


def _joined(before: Outline, rest: Outline, resume: int) -> Outline:
    """Up to a line the one, from there the other."""
    symbols = [_cut(each, resume - 1) for each in before.symbols if each.start_line < resume]
    broken = [(first, min(last, resume - 1)) for first, last in before.broken if first < resume]
    return msgspec.structs.replace(
        before,
        symbols=(*symbols, *rest.symbols),
        imports=(*(each for each in before.imports if each.line < resume), *rest.imports),
        references=(*(each for each in before.references if each.line < resume), *rest.references),
        bindings=tuple({(each.within, each.name): each for each in (*rest.bindings, *before.bindings)}.values()),
        parts=(*(each for each in before.parts if each.end_line < resume), *rest.parts),
        declares=before.declares and rest.declares,
        broken=touching_as_one([*broken, *rest.broken]),
    )


def _cut(symbol: Symbol, last: int) -> Symbol:
    return symbol if symbol.end_line <= last else msgspec.structs.replace(symbol, end_line=last)
