"""Paths by globs, as ``.gitignore`` means them: ``*.py`` at any depth, ``src/**/a?.go``."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pathspec

from sylk_ray.errors import InputError


class InvalidGlob(InputError):
    """A pattern that no path can be compared with."""

    code = "invalid_glob"


def paths_matching(paths: Iterable[str], pattern: str, root: str) -> list[str]:
    """The paths that a glob matches, in their order. It may begin with the root, or ``./``. Raises InvalidGlob."""
    for before in (f"{root}/", "./"):
        if pattern.startswith(before):
            pattern = f"/{pattern.removeprefix(before)}"
    try:
        spec = pathspec.GitIgnoreSpec.from_lines([pattern])
        return [path for path in paths if spec.match_file(path)]
    except (ValueError, re.error) as problem:
        raise InvalidGlob(
            f"{pattern!r} is no pattern of paths: {problem}", hint="Patterns are as in .gitignore: src/**/*.py"
        ) from problem
