"""Asking the Librarian before files are read: what agents that think can look up of the code as it is indexed."""

from __future__ import annotations

from actors.knowledge_messages import ask_codebase
from actors.skills.librarian import librarian_skills
from sylk_ray.codebase.requests import AnyAnswer, AnyRequest, Known, KnownAnswer
from sylk_ray.codebase.serving.opening import DIRECTORY
from sylk_ray.errors import SylkError
from sylk_ray.runtime import Context
from sylk_ray.skills import Skill

LOOKS_UP = frozenset({"search_code", "find_symbol", "find_usages"})
"""Of a Librarian's skills: they look into the repository as it is indexed, which may be a little behind."""
KNOWN_WITHIN_S = 20.0
"""Opening what is known takes a second or two, on a busy machine more."""


async def looking_up(repo: str, ctx: Context) -> tuple[Skill, ...]:
    """The skills for a repository; none for one that is not indexed: they would have nothing to tell. Where nothing is
    known of any, nobody is asked, for that would start whoever keeps it."""

    async def look(request: AnyRequest) -> AnyAnswer:
        return await ask_codebase(ctx.ask, request, cell=ctx.cell)

    if not (ctx.settings.home / DIRECTORY).exists():
        return ()
    try:
        known = await ask_codebase(ctx.ask, Known(root=repo), timeout=KNOWN_WITHIN_S)
    except SylkError as error:
        ctx.log.info("whether %s is indexed cannot be said: %s", repo, error)
        return ()
    if not (isinstance(known, KnownAnswer) and known.known):
        return ()
    return tuple(each for each in librarian_skills(look, repo) if each.name in LOOKS_UP)
