"""The small answer where there is nothing, which needs no more than a gate (6.19)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from sylk_ray.codebase.requests import AnyRequest, Recall, RecallAnswer, Search, SearchAnswer, SmartSearch

if TYPE_CHECKING:
    from sylk_ray.knowledge.gate import Gate


def certainly_nothing(gate: Gate, request: AnyRequest) -> SearchAnswer | RecallAnswer | None:
    """The answer that the owner of the knowledge would give, if that is that there is nothing; else None, and it has to
    be asked. A root that seems not to be indexed is for the owner to speak of."""
    # Whoever has a gate has these: a message's types do without.
    from sylk_ray.knowledge.gate import No
    from sylk_ray.knowledge.gate.facets import SCOPE
    from sylk_ray.knowledge.vectors import Equals

    began = time.perf_counter()
    if isinstance(request, Recall):
        verdict = gate.check(request.domain, request.query, Equals(SCOPE, request.root))
        if not isinstance(verdict, No):
            return None
        return nothing_recalled(request, verdict.hint, round((time.perf_counter() - began) * 1000, 3))
    if not isinstance(request, Search | SmartSearch) or not gate.has("code", Equals(SCOPE, request.root)):
        return None
    verdict = gate.check("code", request.query)
    if not isinstance(verdict, No):
        return None
    elsewhere = gate.also_exists_in(request.query, "code")
    return nothing_found(request, verdict.hint, elsewhere, round((time.perf_counter() - began) * 1000, 3))


def nothing_found(asked: Search | SmartSearch, hint: str, also_exists_in: list[str], took_ms: float) -> SearchAnswer:
    """In as few words as can be."""
    return SearchAnswer(
        query=asked.query,
        status="no_matches",
        took_ms=took_ms,
        tokens=0,
        also_exists_in=also_exists_in,
        results=[],
        hint=hint,
        budget=asked.budget,
    )


def nothing_recalled(asked: Recall, hint: str, took_ms: float) -> RecallAnswer:
    """The same, of what was done or found out."""
    return RecallAnswer(query=asked.query, status="no_matches", took_ms=took_ms, memories=[], hint=hint)
