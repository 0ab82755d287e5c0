"""The languages that structural rewriting knows.

The names are checked here because the parser's wheel answers an unknown one with a panic.
"""

from __future__ import annotations

from difflib import get_close_matches

from sylk_ray.codebase.languages import ALIASES, PARSED
from sylk_ray.errors import InputError

LANGUAGES = PARSED
WITH_DOLLAR_NAMES = frozenset({"bash", "php"})
"""Languages where ``$NAME`` is ordinary code, so an unknown one in a replacement is no mistake."""
_BY_NAME = {alias: name for alias, name in ALIASES.items() if name in PARSED}


def language_of(name: str) -> str:
    """The parser's name of a language; InputError, with the nearest names, if it is unknown."""
    wanted = name.strip().casefold()
    if wanted in _BY_NAME:
        return _BY_NAME[wanted]
    near = dict.fromkeys(_BY_NAME[each] for each in get_close_matches(wanted, _BY_NAME, n=3, cutoff=0.5))
    raise InputError(
        f"the language {name!r} is not known",
        hint=(f"Did you mean {' or '.join(near)}? " if near else "") + f"Known are {', '.join(LANGUAGES)}.",
    )
