"""What the Guide learns while it routes, kept small whatever is routed."""

from __future__ import annotations

from typing import Any

import msgspec

from sylk_ray.context_window.frequent import make_room
from sylk_ray.context_window.guide_summary import (
    FailedRouting,
    GuideSummary,
    RequestPattern,
    RoutingMatch,
    RoutingStats,
)
from sylk_ray.context_window.records import Moment

OTHERS = "(others)"
"""Under which the routings to agents beyond the bound are counted."""


class Routing(msgspec.Struct, frozen=True):
    """One request that was routed."""

    pattern: str
    """The request, in whatever form equal requests are equal."""
    agent: str
    kind: str = ""
    """What sort of request it was, for example an intent and a subject."""
    confidence: float = 1.0
    cached: bool = False
    seconds: float = 0.0
    failure: str = ""
    """Why it did not work; empty when it did."""
    at: float = 0.0
    """Unix time in seconds."""


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """How many of each are kept; texts are cut to ``characters``."""

    known: int = 100
    frequent: int = 50
    failed: int = 30
    patterns: int = 30
    agents: int = 32
    capabilities: int = 16
    characters: int = 200


class RoutingKnowledge:
    """Give it every routing; ``summary`` is all that it knows, and what it can be built again from."""

    def __init__(self, bounds: Bounds | None = None, *, summary: GuideSummary | None = None) -> None:
        self._bounds = Bounds() if bounds is None else bounds
        self._known: dict[str, str] = {}
        self._frequent: dict[tuple[str, str], RoutingMatch] = {}
        self._failed: dict[tuple[str, str], FailedRouting] = {}
        self._patterns: dict[str, RequestPattern] = {}
        self._capabilities: dict[str, dict[str, None]] = {}
        self._stats = RoutingStats()
        if summary is not None:
            self._restore(summary)

    def observe(self, routing: Routing) -> None:
        """Learn from one that worked, or did not."""
        pattern, agent = self._cut(routing.pattern), self._cut(routing.agent)
        self._count(routing, agent)
        self._count_kind(routing, pattern)
        if routing.failure:
            self._learn_failure(routing, pattern, agent)
            return
        _put_last(self._known, pattern, agent, self._bounds.known)
        self._failed.pop((pattern, agent), None)
        self._count_match(routing, pattern, agent)
        if routing.kind:
            self.learn_capability(agent, routing.kind)

    def learn_capability(self, agent: str, capability: str) -> None:
        """An agent has shown, or said, that it can do that."""
        agent = self._cut(agent)
        shown = self._capabilities.get(agent, {})
        _put_last(self._capabilities, agent, shown, self._bounds.agents)
        _put_last(shown, self._cut(capability), None, self._bounds.capabilities)

    async def summarise(self, moment: Moment) -> GuideSummary:
        """The Summariser of a ContextMemory."""
        return self.summary(moment)

    def summary(self, moment: Moment) -> GuideSummary:
        """All of it."""
        return GuideSummary(
            timestamp=moment.at,
            session_id=moment.session,
            context_usage=moment.usage,
            checkpoint_index=moment.index,
            known_routings=dict(self._known),
            frequent_matches=tuple(
                sorted(self._frequent.values(), key=lambda each: (-each.count, each.pattern, each.agent))
            ),
            failed_routings=tuple(self._failed.values()),
            agent_capabilities={agent: tuple(shown) for agent, shown in self._capabilities.items()},
            request_patterns=tuple(sorted(self._patterns.values(), key=lambda each: (-each.count, each.pattern))),
            session_routing_stats=self._stats,
        )

    def _restore(self, summary: GuideSummary) -> None:
        self._known = dict(summary.known_routings)
        self._frequent = {(each.pattern, each.agent): each for each in summary.frequent_matches}
        self._failed = {(each.pattern, each.agent): each for each in summary.failed_routings}
        self._patterns = {each.pattern: each for each in summary.request_patterns}
        self._capabilities = {agent: dict.fromkeys(shown) for agent, shown in summary.agent_capabilities.items()}
        self._stats = summary.session_routing_stats

    def _count(self, routing: Routing, agent: str) -> None:
        stats = self._stats
        routed = stats.routed + 1
        by_agent = dict(stats.by_agent)
        counted = agent if agent in by_agent or len(by_agent) < self._bounds.agents else OTHERS
        by_agent[counted] = by_agent.get(counted, 0) + 1
        self._stats = RoutingStats(
            routed=routed,
            failed=stats.failed + bool(routing.failure),
            cached=stats.cached + routing.cached,
            mean_confidence=_mean(stats.mean_confidence, routing.confidence, routed),
            mean_seconds=_mean(stats.mean_seconds, routing.seconds, routed),
            by_agent=by_agent,
        )

    def _count_kind(self, routing: Routing, pattern: str) -> None:
        if not routing.kind:
            return
        kind = self._cut(routing.kind)
        known = self._patterns.get(kind)
        if known is None:
            over = make_room(self._patterns, self._bounds.patterns)
            self._patterns[kind] = RequestPattern(kind, over + 1, pattern, over)
        else:
            self._patterns[kind] = msgspec.structs.replace(known, count=known.count + 1, example=pattern)

    def _count_match(self, routing: Routing, pattern: str, agent: str) -> None:
        key = (pattern, agent)
        known = self._frequent.get(key)
        if known is None:
            over = make_room(self._frequent, self._bounds.frequent)
            self._frequent[key] = RoutingMatch(pattern, agent, over + 1, routing.confidence, over)
        else:
            seen = known.count + 1 - known.overcount
            confidence = _mean(known.confidence, routing.confidence, seen)
            self._frequent[key] = msgspec.structs.replace(known, count=known.count + 1, confidence=confidence)

    def _learn_failure(self, routing: Routing, pattern: str, agent: str) -> None:
        if self._known.get(pattern) == agent:
            del self._known[pattern]
        key = (pattern, agent)
        count = self._failed[key].count + 1 if key in self._failed else 1
        failed = FailedRouting(pattern, agent, self._cut(routing.failure), count, routing.at)
        _put_last(self._failed, key, failed, self._bounds.failed)

    def _cut(self, text: str) -> str:
        return text[: self._bounds.characters]


def _put_last(items: dict[Any, Any], key: Any, value: Any, size: int) -> None:
    """As the most recent one; the least recent go."""
    items.pop(key, None)
    items[key] = value
    while len(items) > size:
        del items[next(iter(items))]


def _mean(mean: float, value: float, count: int) -> float:
    return mean + (value - mean) / count
