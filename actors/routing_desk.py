"""What a session's router and the Guide have in common: they hear what is said, and bring it to whom it is for."""

from __future__ import annotations

import asyncio
from datetime import datetime
from functools import cache

from actors.guide_memory import GuideMemory
from actors.skills.guide import GUIDE_SKILLS
from sylk_ray.config import Settings
from sylk_ray.context_window import Routing
from sylk_ray.errors import InputError, SylkError
from sylk_ray.hooks import installed_hooks
from sylk_ray.messaging import SHARED, Address, DeadlinePassed, Request
from sylk_ray.routing import TARGETS, Route, RouteCache
from sylk_ray.runtime import Context, Roles, handler
from sylk_ray.sessions.messages import GUIDE
from sylk_ray.speech import (
    CallSkill,
    Conversant,
    Dispatcher,
    Hear,
    Heard,
    NobodyOfThatName,
    Planner,
    Receivers,
    Said,
    Say,
    Voice,
)
from sylk_ray.speech.errors import Busy
from sylk_ray.speech.metrics import GetRouteMetrics, SessionRouteMetrics
from sylk_ray.speech.registry import (
    GetSharedRoutes,
    KnownRoutes,
    LearnRoute,
    ListAgents,
    RegisterAgent,
    UnregisterAgent,
    key_of,
    shareable,
)
from sylk_ray.speech.tasks import FindTask

AT_ONCE = 48
"""Sayings that wait for their answers. An agent runs 128 concurrent handlers, and the router has more to do."""
MOST_REGISTERED = 100

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
        self.hooks = installed_hooks(ctx.settings.hooks)
        self._memory = GuideMemory(ctx, self.hooks) if self._in_session else None
        self._known = KnownRoutes()
        self._has_asked = False
        self._speaking = 0
        self._route_cache = RouteCache(ctx.clock.now, shared=self._known)
        self.receivers = Receivers(session, ctx.address, voices(ctx.settings) if self._in_session else {})

        def learnt(text: str, route: Route) -> None:
            shared = shareable(route)
            if self._in_session and shared is not None:
                ctx.notify(GUIDE, LearnRoute(key_of(text), shared))

        async def ask(target: Address, message: Request[Heard], *, timeout: float) -> Heard:
            return await self._ask(target, message, ctx, timeout)

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
            ask=ask,
            find_task=lambda name: self._find_task(name, ctx),
            routed=self._note,
        )

    def close_desk(self) -> None:
        """Hear no more."""
        if self._memory is not None:
            self._memory.close()

    def _note(self, routing: Routing) -> None:
        if self._memory is not None:
            self._memory.note(routing)

    async def _ask(self, target: Address, message: Request[Heard], ctx: Context, timeout: float) -> Heard:
        """What is for the Guide is heard at once: a message to oneself would need a place among those that run."""
        if target != ctx.address:
            return await ctx.ask(target, message, timeout=timeout)
        assert isinstance(message, Hear | CallSkill)
        try:
            async with asyncio.timeout(timeout):
                return await (self.hear(message, ctx) if isinstance(message, Hear) else self.call_skill(message, ctx))
        except TimeoutError:
            raise DeadlinePassed(f"{target} did not answer within {timeout:g} s") from None

    async def _find_task(self, name: str, ctx: Context) -> str:
        found = await ctx.ask(ctx.address.beside("orchestrator", "main"), FindTask(name), timeout=10)
        if not found.at_work:
            raise NobodyOfThatName(
                f"nobody is at work on {found.name}", hint=f"`/task {found.name} query` tells what became of it"
            )
        return found.name

    @handler(concurrent=True)
    async def say(self, message: Say, ctx: Context) -> Said:
        """Bring it to whom it is for."""
        if self._speaking >= AT_ONCE:
            raise Busy(f"{AT_ONCE} things are being said to {ctx.address.session} already", hint="wait for an answer")
        self._speaking += 1
        try:
            return await self.say_on(message, ctx)
        finally:
            self._speaking -= 1

    async def say_on(self, message: Say, ctx: Context) -> Said:
        """The same, for one of the own skills."""
        if self._in_session and not self._has_asked:
            self._has_asked = True
            assert self._memory is not None
            try:
                await self._memory.recall()
                self._known.replace(await ctx.ask(GUIDE, GetSharedRoutes(), timeout=2))
            except SylkError as problem:
                ctx.log.info("what was learnt before is not known here: %s", problem)
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
        """One more that can be spoken to; routes may change by it. It is known for as long as the router lives."""
        registered = self.receivers.registered
        if message.name not in registered:
            self._check_name(message, ctx)
        registered[message.name] = message.address
        self._route_cache.agent_joined(message.name)

    def _check_name(self, message: RegisterAgent, ctx: Context) -> None:
        if self.receivers.has(message.name) or message.name in TARGETS:
            raise InputError(f'"{message.name}" is taken', hint="register it by another name")
        if message.address.session not in (ctx.address.session, SHARED):
            raise InputError(f"{message.address} is of another session", hint="register it there")
        if len(self.receivers.registered) >= MOST_REGISTERED:
            raise InputError(f"{MOST_REGISTERED} agents are registered already", hint="unregister those that are gone")

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
