"""What a text was understood to be: for whom, with which intent, about what, and how sure that is."""

from __future__ import annotations

from enum import StrEnum

import msgspec

LIBRARIAN, ARCHIVALIST, ACADEMIC, ARCHITECT = "librarian", "archivalist", "academic", "architect"
INSPECTOR, TESTER, ORCHESTRATOR, GUIDE = "inspector", "tester", "orchestrator", "guide"

TARGETS: dict[str, str] = {
    LIBRARIAN: "where things are in this codebase, how they work, which patterns it follows",
    ARCHIVALIST: "what was done, decided and learnt before, what changed, where work was left off",
    ACADEMIC: "research outside this codebase: best practices, comparisons, papers, standards",
    ARCHITECT: "something to build, fix or change, and the plan for it",
    INSPECTOR: "reviews, linters, type checks, issues found in the code",
    TESTER: "running, writing and explaining tests, coverage, benchmarks",
    ORCHESTRATOR: "the work that is running: its status, pausing, cancelling, retrying",
    GUIDE: "help, agents, commands and sessions",
}
"""Whom free text can be for, and what for."""

CONFIDENT = 0.8
"""From here on a route is taken as it is and its intent may be looked up in a cache; under it, it is a guess."""


class Intent(StrEnum):
    """What is wanted. Those of the Librarian and of the Archivalist are apart but for GENERAL, which all share."""

    LOCATE = "locate"
    PATTERN = "pattern"
    EXPLAIN = "explain"
    HISTORICAL = "historical"
    ACTIVITY = "activity"
    OUTCOME = "outcome"
    SIMILAR = "similar"
    RESUME = "resume"
    GENERAL = "general"


INTENTS: dict[str, tuple[Intent, ...]] = {
    LIBRARIAN: (Intent.LOCATE, Intent.PATTERN, Intent.EXPLAIN, Intent.GENERAL),
    ARCHIVALIST: (
        Intent.HISTORICAL,
        Intent.ACTIVITY,
        Intent.OUTCOME,
        Intent.SIMILAR,
        Intent.RESUME,
        Intent.GENERAL,
    ),
}
"""The intents of each agent that has more than GENERAL."""


def intents_of(target: str) -> tuple[Intent, ...]:
    """The intents that a text for this agent can have."""
    return INTENTS.get(target, (Intent.GENERAL,))


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """Where free text goes. It travels with the message, so that the agent can look in its cache first."""

    target: str
    intent: Intent = Intent.GENERAL
    subject: str = ""
    """In snake_case, with synonyms folded; empty when the text names none."""
    time_scope: str = ""
    """One of ``time_scope.SCOPES``, or empty."""
    confidence: float
    """The share of such texts that were understood rightly, 0 to 1."""
    reasons: tuple[str, ...] = ()
    """Why, for a person."""

    @property
    def confident(self) -> bool:
        return self.confidence >= CONFIDENT
