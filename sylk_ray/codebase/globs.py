"""Paths by globs, as ``.gitignore`` means them: ``*.py`` at any depth, ``src/**/a?.go``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple, cast

from pathspec import GitIgnoreSpec

from sylk_ray.errors import InputError

# An escaped character, a bracket expression (whether it is negated, and what is in it), or one that has no end.
_BRACKET = re.compile(r"\\.|\[([!^]?)((?>\\[^/]|\[:[^]/:[]*:\]|[^\\/])(?:\\[^/]|\[:[^]/:[]*:\]|[^]\\/])*+)\]|\[")
_MEMBER = re.compile(r"\[:([^]:[]*):\]|(\\.|[^\\])-(\\.|[^\\])|(\\.|[^\\])")
_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": r" \t",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": r"!-\~",
    "lower": "a-z",
    "print": r" -\~",
    "punct": r"!-/:-@\[-`{-\~",
    "space": r" \t-\r",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}
_PLACE = "\0"
"""Stands for a bracket expression while pathspec, which knows no classes or escapes in one, reads the rest."""


class InvalidGlob(InputError):
    """A pattern that no path can be compared with."""

    code = "invalid_glob"


class Glob(NamedTuple):
    """A pattern that was read."""

    takes_out: bool
    """Whether it began with ``!``."""
    regex: re.Pattern[str]


def read_glob(pattern: str) -> Glob | None:
    """A line of a ``.gitignore``; None if it is empty or a comment. Raises ValueError or re.error if it is neither."""
    sets: list[str] = []

    def place(found: re.Match[str]) -> str:
        if found[0] == "[":
            raise ValueError("a bracket has no end")
        if found[2] is None:
            return found[0]
        sets.append(_set_of(found[2], negated=bool(found[1])))
        return _PLACE

    line = _BRACKET.sub(place, pattern)
    # Pathspec takes the folder before ``**`` for one that matches too.
    ending = line.rstrip()
    if ending.endswith(("/**", "/**/")):
        line = f"{ending.removesuffix('/')}/*{'/' if ending.endswith('/') else ''}"
    read = next(iter(GitIgnoreSpec.from_lines([line]).patterns), None)
    regex = cast("re.Pattern[str] | None", read.regex) if read else None
    if read is None or read.include is None or regex is None:
        return None
    left = iter(sets)
    return Glob(not read.include, re.compile(re.sub(_PLACE, lambda _: next(left, _PLACE), regex.pattern)))


def _set_of(members: str, *, negated: bool) -> str:
    """The expression for one character that is among these, or is not."""
    made = ""
    for name, low, high, one in _MEMBER.findall(members):
        if name and name not in _CLASSES:
            raise ValueError(f"there is no class {name!r}")
        ends = [re.escape(each.removeprefix("\\") or each) for each in (low, high, one) if each]
        made += _CLASSES[name] if name else "-".join(ends)
    return f"(?!/)[{'^' if negated else ''}{made}]"


def paths_matching(paths: Iterable[str], pattern: str, root: str) -> list[str]:
    """The paths that a glob matches, in their order. It may begin with the root, or ``./``. Raises InvalidGlob."""
    for before in (f"{root}/", "./"):
        if pattern.startswith(before):
            pattern = f"/{pattern.removeprefix(before)}"
    try:
        glob = read_glob(pattern)
    except (ValueError, re.error) as problem:
        raise InvalidGlob(
            f"{pattern!r} is no pattern of paths: {problem}", hint="Patterns are as in .gitignore: src/**/*.py"
        ) from problem
    return [path for path in paths if glob.regex.search(path)] if glob and not glob.takes_out else []
