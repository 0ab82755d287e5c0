"""Routes of texts that were classified before: a session's own, with those that all sessions share to fall back on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

from sylk_ray.routing.bounded import Lru, hit_rate
from sylk_ray.routing.intents import Route

LONGEST = 2_000
"""Characters of a text that is worth remembering; longer ones are not said twice."""


class RouteStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """What a route cache has done since it was made."""

    entries: int
    hits: int
    fallback_hits: int
    """Of the hits, those from the shared routes."""
    misses: int
    evictions: int
    invalidations: int

    @property
    def hit_rate(self) -> float:
        return hit_rate(self.hits, self.misses)


class SharedRoutes(Protocol):
    """What a session may do with the routes of all: look."""

    def peek(self, text: str) -> Route | None: ...


class RouteCache:
    """The routes of one session, or (as its ``shared``) those of all.

    A route is kept only when it is confident; ``clock`` gives seconds. It does not outlive an agent: when one leaves,
    what went to it is forgotten, and not taken from the shared routes either; when one joins, everything is forgotten,
    for some of it may have been meant for the newcomer.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        *,
        shared: SharedRoutes | None = None,
        max_entries: int = 1_000,
        ttl_s: float = 600.0,
    ) -> None:
        self._routes: Lru[str, Route] = Lru(clock, max_entries=max_entries)
        self._shared = shared
        self._ttl_s = ttl_s
        self._gone: set[str] = set()
        self._hits = self._fallback_hits = self._misses = self._invalidations = 0

    def get(self, text: str) -> Route | None:
        """Where this text went before, with other spaces or not."""
        key = same_text(text)
        route = self._routes.get(key)
        if route is None and self._shared is not None:
            route = self._shared.peek(text)
            if route is not None and route.target in self._gone:
                route = None
            self._fallback_hits += route is not None
        self._hits += route is not None
        self._misses += route is None
        return route

    def peek(self, text: str) -> Route | None:
        """As ``get`` from its own routes, and changes nothing, not even the statistics."""
        return self._routes.peek(same_text(text))

    def put(self, text: str, route: Route) -> bool:
        """Whether it was kept: a guess, and a text that is too long, are not."""
        key = same_text(text)
        if not route.confident or len(key) > LONGEST:
            return False
        self._routes.put(key, route, ttl_s=self._ttl_s)
        return True

    def agent_left(self, agent: str) -> int:
        """How many routes went to it."""
        self._gone.add(agent)
        dropped = [key for key, route in self._routes.newest() if route.target == agent]
        return self._forget(dropped)

    def agent_joined(self, agent: str) -> int:
        """How many routes are forgotten."""
        self._gone.discard(agent)
        return self._forget([key for key, _ in self._routes.newest()])

    def statistics(self) -> RouteStatistics:
        """As of now."""
        return RouteStatistics(
            entries=len(self._routes),
            hits=self._hits,
            fallback_hits=self._fallback_hits,
            misses=self._misses,
            evictions=self._routes.evictions,
            invalidations=self._invalidations,
        )

    def _forget(self, keys: list[str]) -> int:
        dropped = sum(map(self._routes.discard, keys))
        self._invalidations += dropped
        return dropped


def same_text(text: str) -> str:
    """The same for a text with other spaces. Capitals count: they are what tells an identifier from a word."""
    return " ".join(text.split())
