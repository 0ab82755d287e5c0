"""What a session's router and the Guide have in common: they hear what is said, and bring it to whom it is for."""

from __future__ import annotations

from datetime import datetime
from functools import cache

from actors.guide_memory import GuideMemory
from actors.skills.guide import GUIDE_SKILLS
from sylk_ray.config import Settings
from sylk_ray.context_window import Routing
from sylk_ray.errors import SylkError
from sylk_ray.hooks import runtime_hooks
from sylk_ray.messaging import SHARED
from sylk_ray.routing import TARGETS, Route, RouteCache
from sylk_ray.runtime import Context, Roles, handler
from sylk_ray.sessions.messages import GUIDE
from sylk_ray.speech import Conversant, Dispatcher, Planner, Receivers, Said, Say, Voice
from sylk_ray.speech.metrics import GetRouteMetrics, SessionRouteMetrics
from sylk_ray.speech.registry import (
    GetSharedRoutes,
    KnownRoutes,
    LearnRoute,
    ListAgents,
    RegisterAgent,
    UnregisterAgent,
)

NOT_VOICES = ("router", "guide")
"""Both are who one speaks to as the guide."""


class RoutingDesk(Conversant[None]):
    """Handlers are concurrent: who waits for an answer holds up nobody."""

    skills = GUIDE_SKILLS
    answers_with = "help"
    about = TARGETS["guide"]

    def open_desk(self, ctx: Context) -> None:
        """Be ready to hear."""
        session = ctx.address.session
        self._in_session = session != SHARED
        self.hooks = runtime_hooks(ctx.settings.hooks)
        self._memory = GuideMemory(ctx, self.hooks) if self._in_session else None
        self._known = KnownRoutes()
        self._has_asked = False
        self._route_cache = RouteCache(ctx.clock.now, shared=self._known)
        self.receivers = Receivers(session, ctx.address, voices(ctx.settings) if self._in_session else {})

        def learnt(text: str, route: Route) -> None:
            if self._in_session:
                ctx.notify(GUIDE, LearnRoute(text, route))

        planner = Planner(
            self.receivers,
            self._route_cache,
            now=lambda: datetime.fromtimestamp(ctx.clock.now()).astimezone(),
            learnt=learnt,
        )
        self._dispatcher = Dispatcher(
            session if self._in_session else "",
            ctx.address,
            receivers=self.receivers,
            planner=planner,
            cache=self._route_cache,
            hooks=self.hooks,
            clock=ctx.clock,
            ask=ctx.ask,
            routed=self._note,
        )

    def close_desk(self) -> None:
        """Hear no more."""
        if self._memory is not None:
            self._memory.close()

    def _note(self, routing: Routing) -> None:
        if self._memory is not None:
            self._memory.note(routing)

    @handler(concurrent=True)
    async def say(self, message: Say, ctx: Context) -> Said:
        """Bring it to whom it is for."""
        return await self.say_on(message, ctx)

    async def say_on(self, message: Say, ctx: Context) -> Said:
        """The same, for one of the own skills."""
        if self._in_session and not self._has_asked:
            self._has_asked = True
            try:
                self._known.replace(await ctx.ask(GUIDE, GetSharedRoutes(), timeout=2))
            except SylkError as problem:
                ctx.log.info("the shared routes are not known here: %s", problem)
        return await self._dispatcher.say(message)

    @handler(concurrent=True)
    async def get_route_metrics(self, message: GetRouteMetrics, ctx: Context) -> SessionRouteMetrics:
        """How routing has gone."""
        return self.route_metrics()

    def route_metrics(self) -> SessionRouteMetrics:
        """The same, for one of the own skills."""
        return self._dispatcher.metrics()

    @handler()
    async def register(self, message: RegisterAgent, ctx: Context) -> None:
        """One more that can be spoken to; routes may change by it."""
        self.receivers.registered[message.name] = message.address
        self._route_cache.agent_joined(message.name)

    @handler()
    async def unregister(self, message: UnregisterAgent, ctx: Context) -> bool:
        """One fewer."""
        self._route_cache.agent_left(message.name)
        return self.receivers.registered.pop(message.name, None) is not None

    @handler(concurrent=True)
    async def list_agents(self, message: ListAgents, ctx: Context) -> dict[str, str]:
        """Whom one can speak to."""
        return self.receivers.about()


def voices(settings: Settings) -> dict[str, Voice]:
    """The roles that can be spoken to in a session."""
    return _voices(tuple(sorted(settings.extra_roles.items())))


@cache
def _voices(extra: tuple[tuple[str, str], ...]) -> dict[str, Voice]:
    roles = Roles.installed(dict(extra))
    found: dict[str, Voice] = {}
    for role in sorted(roles.names()):
        agent = roles.agent_class(role)
        if issubclass(agent, Conversant) and role not in NOT_VOICES:
            found[role] = Voice(role, agent.about, agent.one_a_task)
    return found
