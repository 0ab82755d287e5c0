"""Looking for code by what it does."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal

import msgspec
from pydantic import Field

from actors.skills.curating import (
    MOST_TOKENS,
    Answered,
    DomainResult,
    LibrarianContext,
    Told,
    nothing,
    place,
    with_bodies,
)
from sylk_ray.codebase.requests import AnyAnswer, Result, Search, SearchAnswer, SmartSearch
from sylk_ray.skills import count_tokens, skill

RESULTS = 10
_NARROW = "say more, or give a file_pattern"
_OTHERWISE = "Nothing has these words. Try other ones, or a part of a name."
_HEADINGS = 150
"""Tokens of an answer that are not snippets, about."""


class AllDomains(msgspec.Struct, frozen=True):
    """What every domain has of a question."""

    query: str
    results: dict[str, DomainResult]


@skill(domain="codebase", keywords=["search", "grep", "find", "code", "pattern"], tier="core", only_looks=True)
async def search_code(ctx: LibrarianContext, query: str, file_pattern: str = "", language: str = "") -> Answered:
    """Search the codebase by what the code does, by words in it or by names; returns scored snippets.

    Args:
        query: A question, words, a name or a path.
        file_pattern: Only in files that match this glob, for example src/**/*.py.
        language: Only in this language, for example python.
    """
    asked = Search(
        query=query, root=ctx.root, k=RESULTS, path=file_pattern, language=language, budget=MOST_TOKENS - _HEADINGS
    )
    return _told(_searched(await ctx.ask(asked)), MOST_TOKENS)


@skill(domain="codebase", keywords=["thorough search", "budget", "smart"], only_looks=True)
async def smart_search(
    ctx: LibrarianContext,
    query: str,
    budget: Annotated[int, Field(ge=100, le=8000)] = 2000,
    thoroughness: Literal["quick", "moderate", "thorough"] = "moderate",
) -> Answered:
    """Search the codebase for as much as is worth reading within a budget of tokens.

    Args:
        query: A question, words, a name or a path.
        budget: Tokens that the answer may take.
        thoroughness: How many results are looked at.
    """
    asked = SmartSearch(query=query, root=ctx.root, budget=budget, thoroughness=thoroughness)
    told = _told(_searched(await ctx.ask(asked)), budget)
    if not isinstance(told, Told):
        return told
    return msgspec.structs.replace(told, tokens_used=count_tokens(told.text), budget=budget)


@skill(domain="codebase", keywords=["search everything", "all domains", "history", "research"], only_looks=True)
async def search_all(ctx: LibrarianContext, query: str) -> AllDomains:
    """Search the code and every other domain that is known at once; results by domain.

    Args:
        query: A question, words or a name.
    """
    budget = MOST_TOKENS // (1 + len(ctx.elsewhere))
    code, others = await asyncio.gather(
        ctx.ask(Search(query=query, root=ctx.root, k=RESULTS, budget=budget)),
        asyncio.gather(*(look(query, budget) for look in ctx.elsewhere.values())),
    )
    answer = _searched(code)
    own = DomainResult(
        status=answer.status,
        count=len(answer.results),
        results=with_bodies(_pieces(answer.results), "search_code has them", budget) if answer.results else "",
    )
    return AllDomains(query, {"code": own, **dict(zip(ctx.elsewhere, others, strict=True))})


def _searched(answer: AnyAnswer) -> SearchAnswer:
    assert isinstance(answer, SearchAnswer)
    return answer


def _told(answer: SearchAnswer, budget: int) -> Answered:
    if not answer.results:
        return nothing(answer.hint or _OTHERWISE, also_exists_in=answer.also_exists_in)
    text = with_bodies(_pieces(answer.results), _NARROW, budget)
    return Told(status="found", text=text, also_exists_in=answer.also_exists_in)


def _pieces(results: list[Result]) -> list[tuple[str, str]]:
    return [
        (
            f"{place(each.path, each.start_line, each.end_line)} {each.symbol or each.kind} {each.score:.2f}",
            each.snippet,
        )
        for each in results
    ]


SEARCHING = (search_code, smart_search, search_all)
