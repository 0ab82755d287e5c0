"""Texts whose parts hang on conditions (``#if``), as they are where the first of them hold.

A parser reads all branches at once. Where one begins what another ends, as with a brace in each of two, it takes the
rest of the file for broken.
"""

from __future__ import annotations

import re

_DIRECTIVE = re.compile(
    r"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif|elifdef|elifndef|else|endif)\b(?:[^\n\\]|\\\n|\\.)*", re.MULTILINE
)
_NEVER = re.compile(r"\s*#\s*if\s+(?:0|false)\s*$")
_SEEN = re.compile(r"\S")


def first_branches(text: str) -> str:
    """The text with blanks in place of directives, and of all branches but the first of each condition: what remains
    stands where it stood. ``#if 0`` does not hold."""
    parts: list[str] = []
    open_: list[tuple[bool, bool]] = []
    """Of each condition around: whether this branch is kept, and whether one of its branches was."""
    at = 0
    for found in _DIRECTIVE.finditer(text):
        between = text[at : found.start()]
        parts += [between if all(kept for kept, _ in open_) else _blanked(between), _blanked(found[0])]
        at = found.end()
        word = found[1]
        if word.startswith("if"):
            holds = not _NEVER.match(found[0])
            open_.append((holds, holds))
        elif open_ and word == "endif":
            open_.pop()
        elif open_:
            open_[-1] = (not open_[-1][1], True)
    return "".join([*parts, text[at:]])


def _blanked(text: str) -> str:
    return _SEEN.sub(" ", text)
