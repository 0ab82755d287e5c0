"""FairShare: admits pipelines, tool processes and model calls over all sessions, by weight."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from sylk_ray.errors import SylkError
from sylk_ray.fairness import Capacity, Decision, FairShare, Snapshot
from sylk_ray.messaging import SHARED, Address, Message
from sylk_ray.runtime import Agent, Context, handler
from sylk_ray.runtime.directory import FLEET
from sylk_ray.runtime.fleet_messages import GetResources, Resources
from sylk_ray.runtime.leases import (
    DESK,
    CloseShare,
    Decided,
    GetPlace,
    GetShares,
    Holding,
    SetShare,
    Wanted,
)

SETTLE_S = 2.5
"""A new FairShare in a runtime that has cells waits so long for their reports before it grants anything."""
TICK_S = 1.0
LOOK_EVERY_S = 10.0


class TimePassed(Message, frozen=True):
    """FairShare to itself: time has passed. Through the mailbox, so that reports that have come are read first: an
    agent that was held up must not take for silent whoever has spoken meanwhile."""


class FairShareAgent(Agent[None]):
    """Carries out what ``sylk_ray.fairness.FairShare`` decides. It keeps nothing: cells report what they hold."""

    role = "fair_share"

    async def on_activate(self, ctx: Context) -> None:
        """Find out what there is to share."""
        resources = await ctx.ask(FLEET, GetResources(), timeout=30)
        self._ctx = ctx
        self._fair = FairShare(
            capacity_of(resources, ctx), now=ctx.clock.now(), settle_s=SETTLE_S if resources.sessions else 0.0
        )
        self._ticking = asyncio.create_task(self._tick())
        self._looking = asyncio.create_task(self._look())

    async def on_deactivate(self) -> None:
        """Stop the clock."""
        self._ticking.cancel()
        self._looking.cancel()

    @handler()
    async def wanted(self, message: Wanted, ctx: Context) -> None:
        """What a cell wants, and gives back."""
        now = ctx.clock.now()
        decisions: list[Decision] = []
        for key in message.given_back:
            decisions += self._fair.release(key, now, holder=message.holder)
        for request in message.wanted:
            decisions += self._fair.request(request, message.holder, now)
        await self._tell(decisions)

    @handler()
    async def holding(self, message: Holding, ctx: Context) -> None:
        """All that a cell holds and waits for."""
        now = ctx.clock.now()
        await self._tell(self._fair.heartbeat(message.holder, message.held, message.waiting, now))

    @handler()
    async def set_share(self, message: SetShare, ctx: Context) -> None:
        """A session's weight and limits."""
        await self._tell(self._fair.set_group(message.session, message.group, ctx.clock.now()))

    @handler()
    async def close_share(self, message: CloseShare, ctx: Context) -> None:
        """A session is over, or rests."""
        await self._tell(self._fair.close_session(message.session, ctx.clock.now()))

    @handler()
    async def shares(self, message: GetShares, ctx: Context) -> Snapshot:
        """For `sylk top`."""
        return self._fair.snapshot(ctx.clock.now())

    @handler()
    async def place(self, message: GetPlace, ctx: Context) -> str:
        """Where something is in line."""
        return self._fair.place(message.key, ctx.clock.now())

    async def _tell(self, decisions: Iterable[Decision]) -> None:
        by_cell: dict[str, list[Decision]] = {}
        for decision in decisions:
            by_cell.setdefault(decision.holder, []).append(decision)
        for cell, decided in by_cell.items():
            try:
                await self._ctx.tell(Address(SHARED, DESK, cell), Decided(decided), timeout=1.0)
            except SylkError as error:
                # Its next report, or its silence, says the rest.
                self._ctx.log.info("cell %s did not hear of %d decision(s): %s", cell, len(decided), error)

    async def _tick(self) -> None:
        while True:
            now = self._ctx.clock.now()
            due = self._fair.next_wakeup(now)
            pause = TICK_S if due is None else min(TICK_S, max(0.02, due - now))
            await self._ctx.clock.sleep(pause)
            await self._ctx.tell(self._ctx.address, TimePassed())

    @handler()
    async def tick(self, message: TimePassed, ctx: Context) -> None:
        """Let go of what silent cells held, and grant what time has freed."""
        await self._tell(self._fair.tick(ctx.clock.now()))

    async def _look(self) -> None:
        """Nodes come and go."""
        while True:
            await self._ctx.clock.sleep(LOOK_EVERY_S)
            try:
                resources = await self._ctx.ask(FLEET, GetResources(), timeout=10)
            except SylkError as error:
                self._ctx.log.warning("the cluster's resources are not known: %s", error)
                continue
            capacity = capacity_of(resources, self._ctx)
            await self._tell(self._fair.set_capacity(capacity, self._ctx.clock.now()))


def capacity_of(resources: Resources, ctx: Context) -> Capacity:
    """What may be shared out: what the settings say, and CPU slots by the cluster's CPUs where they say nothing."""
    settings = ctx.settings
    slots = settings.cpu_slots or settings.cpu_slots_per_cpu * resources.cpus
    limits = {f"{role}s": float(limit) for role, limit in settings.role_limits.items()}
    return Capacity({"pipelines": float(settings.max_pipelines), "cpu": slots, **limits})
