"""What is said to the Guide, and of all sessions together."""

from __future__ import annotations

import asyncio

from actors.at_rest import AtRest
from actors.routing_desk import RoutingDesk
from sylk_ray.routing import Route
from sylk_ray.routing.bounded import Lru
from sylk_ray.runtime import Context, handler
from sylk_ray.runtime.directory import router_of
from sylk_ray.sessions import SessionState
from sylk_ray.sessions.store import SessionStore
from sylk_ray.speech import Said
from sylk_ray.speech.messages import SayAtRest
from sylk_ray.speech.metrics import (
    GetGlobalRouteMetrics,
    GetRouteMetrics,
    GlobalRouteMetrics,
    SessionRouteMetrics,
    sum_of,
)
from sylk_ray.speech.registry import GetSharedRoutes, LearnRoute

SHARED_ROUTES = 1_000
SHARED_FOR_S = 3_600.0


class GuideDesk(RoutingDesk):
    """Half of the Guide. ``_store`` has the records, and is there when the agent is active."""

    _store: SessionStore

    def open_desk(self, ctx: Context) -> None:
        """Be ready to hear."""
        super().open_desk(ctx)
        self._shared: Lru[str, Route] = Lru(ctx.clock.now, max_entries=SHARED_ROUTES)

    @handler(concurrent=True)
    async def say_at_rest(self, message: SayAtRest, ctx: Context) -> Said:
        """Something is said to a session whose agents are put away."""
        session = self._store.session(message.session)
        return await AtRest(session, self._store.latest_job(session), ctx, self.hooks).say(message)

    @handler()
    async def learn_route(self, message: LearnRoute, ctx: Context) -> None:
        """A text was understood in some session."""
        self._shared.put(message.key, message.route, ttl_s=SHARED_FOR_S)

    @handler(concurrent=True)
    async def shared_routes(self, message: GetSharedRoutes, ctx: Context) -> dict[str, Route]:
        """What was understood in all of them."""
        return dict(self._shared.newest())

    @handler(concurrent=True)
    async def global_metrics(self, message: GetGlobalRouteMetrics, ctx: Context) -> GlobalRouteMetrics:
        """How routing has gone everywhere."""
        open_ones = [each.id for each in self._store.sessions.values() if each.state is SessionState.ACTIVE]
        asking = (ctx.ask(router_of(session), GetRouteMetrics(), timeout=3) for session in open_ones)
        answers = await asyncio.gather(*asking, return_exceptions=True)
        told = [self.route_metrics(), *(each for each in answers if isinstance(each, SessionRouteMetrics))]
        silent = [session for session, each in zip(open_ones, answers, strict=True) if isinstance(each, BaseException)]
        return GlobalRouteMetrics(counts=sum_of([each.counts for each in told]), sessions=told, silent=silent)
