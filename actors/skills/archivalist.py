"""What an Archivalist can do: tell what was done, in this session or in all that worked on the same repository.

Source: the spec's 0.5. Without a flag a skill looks into the own session's history; those that look into all say so.
"""

from __future__ import annotations

from typing import Annotated, Literal, Protocol

from pydantic import Field

from actors.archive import LATEST, Archive
from actors.chronicle import LONGEST_TITLE
from sylk_ray.skills import skill
from sylk_ray.speech import Heard, SkillCall


class HasArchive(Protocol):
    """Whose skills these are."""

    archive: Archive


Call = SkillCall[HasArchive]
Kind = Literal["workflow", "decision", "failure", "pattern"]


@skill(domain="storage", keywords=["store", "note", "remember this"], tier="core")
async def store(
    ctx: Call, title: Annotated[str, Field(min_length=1, max_length=LONGEST_TITLE)], text: str, kind: Kind = "decision"
) -> str:
    """Keep something for later sessions that work on the same repository.

    Args:
        title: What it is about, in a few words.
        text: What is to be known.
        kind: decision for what was chosen, pattern for how something is done, failure for what did not work.
    """
    await ctx.ctx.publish("archivalist.stored", memory=kind, title=title, text=text, said_by=ctx.said_by)
    return f"kept: {title}"


@skill(domain="storage", keywords=["query", "entries"], tier="core", only_looks=True)
async def query(ctx: Call, query: str) -> Heard:
    """Find what was done in this session that has to do with a question.

    Args:
        query: A question, or words.
    """
    return await ctx.agent.archive.recalled(query, own=True)


@skill(domain="status", keywords=["briefing", "left off", "resume"], tier="core", only_looks=True)
async def briefing(ctx: Call) -> Heard:
    """Tell how this session stands: its plan, its decisions, and what was done last."""
    return await ctx.agent.archive.briefing()


@skill(domain="history", keywords=["all sessions", "before", "other sessions"], only_looks=True)
async def cross_session_query(ctx: Call, query: str) -> Heard:
    """Find what was done in any session on this repository that has to do with a question.

    Args:
        query: A question, or words.
    """
    return await ctx.agent.archive.recalled(query)


@skill(domain="history", keywords=["past workflows", "past plans"], only_looks=True)
async def workflow_history(ctx: Call, query: str) -> Heard:
    """Find past plans and jobs on this repository.

    Args:
        query: What they were about.
    """
    return await ctx.agent.archive.recalled(query, kinds=["workflow"])


@skill(domain="history", keywords=["timeline", "what changed", "recently"], only_looks=True)
async def session_timeline(ctx: Call, limit: Annotated[int, Field(ge=1, le=200)] = LATEST) -> Heard:
    """Tell what happened in this session, in order.

    Args:
        limit: How many of the latest.
    """
    return await ctx.agent.archive.timeline(limit)


@skill(domain="patterns", keywords=["similar patterns"], only_looks=True)
async def pattern_search(ctx: Call, query: str) -> Heard:
    """Find how something like it was done on this repository.

    Args:
        query: What it is.
    """
    return await ctx.agent.archive.recalled(query, kinds=["pattern"])


@skill(domain="patterns", keywords=["similar failures"], only_looks=True)
async def failure_search(ctx: Call, query: str) -> Heard:
    """Find what failed, or was sent back, on this repository.

    Args:
        query: What it was about.
    """
    return await ctx.agent.archive.recalled(query, kinds=["failure"])


@skill(domain="patterns", keywords=["similar decisions", "decided"], only_looks=True)
async def decision_search(ctx: Call, query: str) -> Heard:
    """Find what was decided on this repository.

    Args:
        query: What it was about.
    """
    return await ctx.agent.archive.recalled(query, kinds=["decision"])


ARCHIVALIST_SKILLS = (
    *(store, query, briefing, cross_session_query, workflow_history, session_timeline),
    *(pattern_search, failure_search, decision_search),
)
