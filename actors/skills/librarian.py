"""What a Librarian can do: look into an indexed codebase for whoever asks, and tell the best of it in few tokens.

::

    registry = Registry(librarian_skills(ask, "/home/me/shop"))

``ask`` answers a request about a codebase: a service in this process, a socket, or an agent that owns what is known.
Source: the spec's 1.1 (skills and their tiers), 6.13 (curated answers) and 6.19 (the small answer where there is none).
"""

from __future__ import annotations

from typing import Any

import msgspec

from actors.skills.curating import Ask, Elsewhere
from actors.skills.librarian_files import LOOKING_AT_FILES
from actors.skills.librarian_graph import DEPENDING
from actors.skills.librarian_names import NAMING
from actors.skills.librarian_search import SEARCHING
from sylk_ray.skills import Permission, Skill

LIBRARIAN_SKILLS: tuple[Skill, ...] = (*NAMING, *SEARCHING, *LOOKING_AT_FILES, *DEPENDING)
"""Called with a LibrarianContext."""


class _Bound(msgspec.Struct, frozen=True):
    ask: Ask
    root: str
    elsewhere: Elsewhere


def librarian_skills(ask: Ask, root: str, elsewhere: Elsewhere | None = None) -> tuple[Skill, ...]:
    """The skills for one codebase, to be called with any context.

    ``root`` is the absolute path of an indexed folder; ``elsewhere`` are the domains beside it that can be asked.
    """
    bound = _Bound(ask, root, elsewhere or {})
    needs = frozenset[Permission]({"search"})
    return tuple(msgspec.structs.replace(each, function=_with(each, bound), needs=needs) for each in LIBRARIAN_SKILLS)


def _with(skill: Skill, bound: _Bound) -> Any:
    async def function(ctx: object, **arguments: Any) -> Any:
        return await skill.function(bound, **arguments)

    return function


__all__ = ["LIBRARIAN_SKILLS", "Ask", "Elsewhere", "librarian_skills"]
