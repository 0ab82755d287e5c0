"""What agents ask the Archivalist and the Academic."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from actors.knowledge_messages import CodebaseAnswer
from sylk_ray.codebase.requests import Preflight, Recall
from sylk_ray.messaging import Message, Request, said_by
from sylk_ray.pipelines import Brief


class AskArchivalist(Request[CodebaseAnswer], frozen=True):
    """What was done before, as all sessions' histories have it by now."""

    flow = said_by("any", to="archivalist")
    remembered = False

    request: Recall | Preflight


class Researched(msgspec.Struct, frozen=True):
    """What an Academic's model says to a question."""

    answer: Annotated[str, Meta(min_length=1, description="What to do, and why, in a few sentences or steps.")]
    confidence: Annotated[
        Literal["low", "medium", "high"], Meta(description="high only for what is generally agreed.")
    ] = "medium"
    sources: Annotated[
        tuple[str, ...], Meta(description="Standards, books and documentation by name; none that you only guess.")
    ] = ()
    open_questions: Annotated[tuple[str, ...], Meta(description="What has to be found out elsewhere.")] = ()


class Findings(msgspec.Struct, frozen=True):
    """What came of a question: an answer, or why there is none after so many tries that ``failed``."""

    found: Researched | None = None
    problem: str = ""
    failed: int = 0


class ResearchWanted(Request[int], frozen=True):
    """Who thinks to the Academic: a question, and what is known of it here. Answers how many tries had come to nothing
    before. Asked again, it is the same question."""

    flow = said_by("engineer", "architect", "academic", to="academic")

    brief: Brief
    question: str
    known: str = ""


class ResearchNow(Message, frozen=True):
    """The Academic to itself: the same, in its turn, after so many tries that ``failed``."""

    flow = said_by("academic", to="academic")

    brief: Brief
    question: str
    known: str = ""
    failed: int = 0


class WasResearched(Request[Findings | None], frozen=True):
    """Who thinks to the Academic: what came of it, after so many tries that ``failed``? None while nothing has."""

    flow = said_by("engineer", "architect", "academic", to="academic")
    remembered = False

    question: str
    failed: int = 0
