"""Asking whoever planned a task about it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from pydantic import Field

from sylk_ray.skills import Skill, skill


def help_skill(answer: Callable[[str], Awaitable[str]]) -> Skill:
    """``ask_for_help``, which is answered by whatever ``answer`` asks."""

    @skill(domain="task", keywords=["ask", "unclear", "help"], only_looks=True)
    async def ask_for_help(ctx: object, question: Annotated[str, Field(min_length=5, max_length=4_000)]) -> str:
        """Ask those who planned the task, when what is wanted is unclear and the files do not tell. It may take long.

        Args:
            question: What you have to know, and what depends on it.
        """
        return await answer(" ".join(question.split()))

    return ask_for_help
