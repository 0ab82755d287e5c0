"""Starts the system's agents in order, looks after them, and ends them in order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import msgspec

from sylk_ray.errors import SylkError
from sylk_ray.messaging import SHARED, Address, DeadlinePassed, Request, said_by
from sylk_ray.runtime import Agent, Context, Host, handler
from sylk_ray.runtime.directory import FLEET
from sylk_ray.runtime.fleet_messages import ShutDown
from sylk_ray.runtime.health import AgentHealth, Condition, GetHealth, Ping
from sylk_ray.sessions import JobRecord
from sylk_ray.sessions.messages import GUIDE, DrainSessions

COORDINATOR = Address(SHARED, "coordinator", "main")
NEEDED = ("fleet", "fair_share", "topics", "guide")
"""In the order in which they start: each may ask those before it."""
LOOK_EVERY_S = 2.0
PATIENCE_S = 10.0


class EndSystem(Request[list[JobRecord]], frozen=True):
    """End everything but the system's own cells. Running jobs are suspended, after ``grace_s`` seconds for what they
    are at; with ``wait`` they come to their ends first. Answers the jobs that can be resumed."""

    flow = said_by("user", to="coordinator")

    wait: bool = False
    grace_s: float = 10.0


class Coordinator(Agent[None]):
    """An agent that does not come to life is tried again for as long as the runtime runs: its cell and all others go
    on meanwhile, and whoever asks it gets an error that says so."""

    role = "coordinator"

    async def on_activate(self, ctx: Context) -> None:
        """Start the others, in the background."""
        now = ctx.clock.now()
        wanted = [*((role, True) for role in NEEDED), *((role, False) for role in ctx.settings.system_agents)]
        self._health = {role: AgentHealth(f"{SHARED}/{role}/main", needed, "starting", now) for role, needed in wanted}
        self._looking = asyncio.create_task(self._look_after(ctx))

    async def on_deactivate(self) -> None:
        """Look no more."""
        self._looking.cancel()

    async def _look_after(self, ctx: Context) -> None:
        for role in self._health:
            await self._look(role, ctx)
        while True:
            await ctx.clock.sleep(LOOK_EVERY_S)
            await asyncio.gather(*(self._look(role, ctx) for role in self._health))

    async def _look(self, role: str, ctx: Context) -> None:
        try:
            await ctx.ask(Address(SHARED, role, "main"), Ping(), timeout=PATIENCE_S)
        except DeadlinePassed as error:
            self._note(role, "silent", error.message, ctx)
        except SylkError as error:
            self._note(role, "failing", error.message.splitlines()[0], ctx)
        else:
            self._note(role, "healthy", "", ctx)

    def _note(self, role: str, condition: Condition, problem: str, ctx: Context) -> None:
        known = self._health[role]
        if known.condition != condition:
            told = ctx.log.info if condition == "healthy" else ctx.log.error
            told("%s is %s%s", known.agent, condition, f": {problem}" if problem else "")
        self._health[role] = msgspec.structs.replace(
            known,
            condition=condition,
            since=known.since if known.condition == condition else ctx.clock.now(),
            problem=problem,
            failures=0 if condition == "healthy" else known.failures + 1,
        )

    @handler(concurrent=True)
    async def health(self, message: GetHealth, ctx: Context) -> list[AgentHealth]:
        """How they are."""
        return list(self._health.values())

    @handler(concurrent=True)
    async def end(self, message: EndSystem, ctx: Context) -> list[JobRecord]:
        """The sessions first, then the cells; the system's own cell is ended by whoever asked."""
        resumable: list[JobRecord] = []
        try:
            patience = None if message.wait else message.grace_s + 60
            drain = DrainSessions(message.wait, message.grace_s)
            resumable = await ctx.ask(GUIDE, drain, timeout=patience or 7 * 24 * 3600.0)
        except SylkError as error:
            ctx.log.warning("not every session was suspended in order: %s", error)
        self._looking.cancel()
        await ctx.ask(FLEET, ShutDown(grace_s=min(message.grace_s, 5.0)), timeout=60)
        return resumable


async def serve(host: Host) -> Callable[[], Awaitable[None]]:
    """Bring the coordinator to life beside a host's agents, whether anyone asks for it or not: a system cell that Ray
    has started again must see to its sessions by itself."""
    await host.ask(COORDINATOR, COORDINATOR, Ping(), timeout=PATIENCE_S)

    async def stop() -> None:
        """It ends with its host."""

    return stop
