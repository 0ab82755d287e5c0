"""What routing has come to, for people and programs."""

from __future__ import annotations

import msgspec

from sylk_ray.hooks import HookStatistics
from sylk_ray.messaging import Request, said_by
from sylk_ray.routing import RouteStatistics
from sylk_ray.speech.health import TargetHealth


class PendingRequest(msgspec.Struct, frozen=True):
    """Something was said, and is not answered yet. Times are Unix seconds."""

    id: int
    target: str
    text: str
    since: float
    deadline: float


class RouteCounts(msgspec.Struct):
    """Of what was said, since the router came to life."""

    said: int = 0
    answered: int = 0
    refused: int = 0
    """An agent, a hook or the router said no."""
    failed: int = 0
    """No answer came in time, or an agent broke."""
    by_target: dict[str, int] = msgspec.field(default_factory=dict[str, int])
    routed_s: float = 0.0
    """Spent on knowing where it goes, in all."""
    longest_s: float = 0.0


class SessionRouteMetrics(msgspec.Struct, frozen=True, kw_only=True):
    """Of one session; ``session`` is empty for what was said to the Guide itself."""

    session: str = ""
    counts: RouteCounts
    cache: RouteStatistics
    pending: list[PendingRequest] = []
    health: dict[str, TargetHealth] = {}
    hooks: list[HookStatistics] = []


class GlobalRouteMetrics(msgspec.Struct, frozen=True, kw_only=True):
    """Of the Guide and every open session that answered."""

    counts: RouteCounts
    sessions: list[SessionRouteMetrics]
    silent: list[str] = []
    """Open sessions that did not answer."""


class GetRouteMetrics(Request[SessionRouteMetrics], frozen=True):
    """To a session's router: how is it going?"""

    flow = said_by("user", "guide", to=("router", "guide"))


class GetGlobalRouteMetrics(Request[GlobalRouteMetrics], frozen=True):
    """To the Guide: how is it going everywhere?"""

    flow = said_by("user", "guide", to="guide")


def sum_of(all_counts: list[RouteCounts]) -> RouteCounts:
    """What several came to together."""
    total = RouteCounts()
    for each in all_counts:
        total.said += each.said
        total.answered += each.answered
        total.refused += each.refused
        total.failed += each.failed
        total.routed_s += each.routed_s
        total.longest_s = max(total.longest_s, each.longest_s)
        for target, count in each.by_target.items():
            total.by_target[target] = total.by_target.get(target, 0) + count
    return total
