"""Asking the Librarian before files are read: what agents that think can look up of the code as it is indexed."""

from __future__ import annotations

from actors.knowledge_messages import ask_codebase
from actors.skills.librarian import librarian_skills
from sylk_ray.codebase.requests import AnyAnswer, AnyRequest
from sylk_ray.codebase.serving.opening import DIRECTORY
from sylk_ray.runtime import Context
from sylk_ray.skills import Skill

LOOKS_UP = frozenset({"search_code", "find_symbol", "find_usages"})
"""Of a Librarian's skills: they look into the repository as it is indexed, which may be a little behind."""


def looking_up(repo: str, ctx: Context) -> tuple[Skill, ...]:
    """The skills for a repository; none without an index: they would have nothing to tell, and asking would start
    whoever keeps it."""

    async def look(request: AnyRequest) -> AnyAnswer:
        return await ask_codebase(ctx.ask, request, cell=ctx.cell)

    if not (ctx.settings.home / DIRECTORY).exists():
        return ()
    return tuple(each for each in librarian_skills(look, repo) if each.name in LOOKS_UP)
