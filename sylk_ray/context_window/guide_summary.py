"""What the Guide knows of routing, as it is handed to the sink and put back into a compacted context.

Source: ``GuideSummary`` of the spec's "Guide Memory Management".
"""

from __future__ import annotations

import msgspec


class RoutingMatch(msgspec.Struct, frozen=True):
    """A route that is taken often."""

    pattern: str
    agent: str
    count: int
    confidence: float
    """The mean of those that were seen, ``count - overcount`` of them."""
    overcount: int = 0
    """By how much ``count`` may be too high."""


class FailedRouting(msgspec.Struct, frozen=True):
    """A route that did not work, and why the last time."""

    pattern: str
    agent: str
    reason: str
    count: int
    at: float
    """Unix time of the last failure, in seconds."""


class RequestPattern(msgspec.Struct, frozen=True):
    """A kind of request that is made often, and the last one of it."""

    pattern: str
    count: int
    example: str
    overcount: int = 0
    """By how much ``count`` may be too high."""


class RoutingStats(msgspec.Struct, frozen=True):
    """Of all routings of the session."""

    routed: int = 0
    failed: int = 0
    cached: int = 0
    mean_confidence: float = 0.0
    mean_seconds: float = 0.0
    by_agent: dict[str, int] = msgspec.field(default_factory=dict[str, int])


class GuideSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The Guide's summary: complete, so that its knowledge can be built up again from it."""

    timestamp: float
    """Unix time in seconds."""
    session_id: str
    context_usage: float
    checkpoint_index: int
    known_routings: dict[str, str]
    """Pattern to agent, the one used last at the end."""
    frequent_matches: tuple[RoutingMatch, ...]
    """The most frequent first."""
    failed_routings: tuple[FailedRouting, ...]
    """The last one at the end."""
    agent_capabilities: dict[str, tuple[str, ...]]
    request_patterns: tuple[RequestPattern, ...]
    """The most frequent first."""
    session_routing_stats: RoutingStats
