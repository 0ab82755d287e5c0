"""Searching an indexed repository, as a tool of a model."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from actors.knowledge_messages import ask_codebase
from sylk_ray.codebase.requests import Search, SearchAnswer
from sylk_ray.errors import InputError
from sylk_ray.runtime import Context
from sylk_ray.thinking import Usable, usable

TOKENS = 1500
"""Of an answer."""


def codebase_tools(ctx: Context, repo: str) -> list[Usable]:
    """They look into the repository as it is indexed, which may be a little behind."""

    async def search_code(
        query: Annotated[str, Meta(min_length=1, description="What is looked for, in words or by a name.")],
        k: Annotated[int, Meta(ge=1, le=20, description="So many files at most.")] = 5,
    ) -> str:
        """Find code by what it does or what it is called. Lists the best places with their lines."""
        found = await ask_codebase(ctx.ask, Search(query=query, root=repo, k=k, budget=TOKENS), cell=ctx.cell)
        if not isinstance(found, SearchAnswer):
            raise InputError("the index gave no answer to a search")
        shown = [
            f"{each.path}:{each.start_line}-{each.end_line} {each.symbol}\n{each.snippet}" for each in found.results
        ]
        return "\n\n".join(shown) or f"nothing found: {found.hint}"

    return [usable(search_code, "search", looks=True)]
