"""FairShare: admits pipelines, tool processes and model calls over all sessions, by weight."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from actors.token_accounts import TokenAccounts
from sylk_ray.errors import SylkError
from sylk_ray.fairness import Capacity, Decision, FairShare, Snapshot
from sylk_ray.messaging import SHARED, Address, Message, said_by
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
    Usage,
    Wanted,
)

SETTLE_S = 2.5
"""A new FairShare in a runtime that has cells waits so long for their reports before it grants anything."""
TICK_S = 1.0
LOOK_EVERY_S = 10.0


class TimePassed(Message, frozen=True):
    """FairShare to itself: time has passed. Through the mailbox, so that reports that have come are read first: an
    agent that was held up must not take for silent whoever has spoken meanwhile."""

    flow = said_by("fair_share", to="fair_share")


class FairShareAgent(Agent[None]):
    """Carries out what ``sylk_ray.fairness.FairShare`` decides. Of what is held it keeps nothing, for cells
    report that; of what was used up, which nobody could report later, it keeps the accounts."""

    role = "fair_share"

    async def on_activate(self, ctx: Context) -> None:
        """Find out what there is to share."""
        resources = await ctx.ask(FLEET, GetResources(), timeout=30)
        self._ctx = ctx
        self._fair = FairShare(
            capacity_of(resources, ctx), now=ctx.clock.now(), settle_s=SETTLE_S if resources.sessions else 0.0
        )
        self._accounts = TokenAccounts(ctx)
        self._keeping: asyncio.Task[None] | None = None
        self._kept_at = 0.0
        self._ticking = asyncio.create_task(self._tick())
        self._looking = asyncio.create_task(self._look())

    async def on_deactivate(self) -> None:
        """Stop the clock, and write the accounts."""
        self._ticking.cancel()
        self._looking.cancel()
        await self._accounts.keep()

    @handler()
    async def wanted(self, message: Wanted, ctx: Context) -> None:
        """What a cell wants, and gives back."""
        decisions = await self._charge(message.usage)
        now = ctx.clock.now()
        for key in message.given_back:
            decisions += self._fair.release(key, now, holder=message.holder)
        for request in message.wanted:
            decisions += self._fair.request(request, message.holder, now)
        self._tell(decisions)

    @handler()
    async def holding(self, message: Holding, ctx: Context) -> None:
        """All that a cell holds and waits for."""
        decisions = await self._charge(message.usage)
        used = {key: sum(tokens) for key, tokens in message.usage.calls.items()}
        now = ctx.clock.now()
        self._tell([*decisions, *self._fair.heartbeat(message.holder, message.held, message.waiting, now, used=used)])

    async def _charge(self, usage: Usage) -> list[Decision]:
        """The tokens of the calls that are known, and what sessions have used in all, which tells of the others."""
        totals = await self._accounts.report(usage)
        now = self._ctx.clock.now()
        decisions: list[Decision] = []
        for key, (tokens_in, tokens_out) in usage.calls.items():
            decisions += self._fair.charge(key, tokens_in, tokens_out, now)
        for session, tokens in totals.items():
            decisions += self._fair.used_in_all(session, tokens, now)
        return decisions

    @handler()
    async def set_share(self, message: SetShare, ctx: Context) -> None:
        """A session's weight and limits."""
        used = await self._accounts.used(message.session)
        self._tell(self._fair.set_group(message.session, message.group, ctx.clock.now(), tokens_used=used))

    @handler()
    async def close_share(self, message: CloseShare, ctx: Context) -> None:
        """A session is over, or rests."""
        await self._accounts.close(message.session)
        self._tell(self._fair.close_session(message.session, ctx.clock.now()))

    @handler()
    async def shares(self, message: GetShares, ctx: Context) -> Snapshot:
        """For `sylk top`."""
        return self._fair.snapshot(ctx.clock.now())

    @handler()
    async def place(self, message: GetPlace, ctx: Context) -> str:
        """Where something is in line."""
        return self._fair.place(message.key, ctx.clock.now())

    def _tell(self, decisions: Iterable[Decision]) -> None:
        by_cell: dict[str, list[Decision]] = {}
        for decision in decisions:
            by_cell.setdefault(decision.holder, []).append(decision)
        for cell, decided in by_cell.items():
            # Not awaited: a cell that is slow to answer must not hold up the others. Its next report, or its silence,
            # says whether it has heard.
            self._ctx.notify(Address(SHARED, DESK, cell), Decided(decided))

    async def _tick(self) -> None:
        while True:
            now = self._ctx.clock.now()
            due = self._fair.next_wakeup(now)
            pause = TICK_S if due is None else min(TICK_S, max(0.02, due - now))
            await self._ctx.clock.sleep(pause)
            try:
                await self._ctx.tell(self._ctx.address, TimePassed(), timeout=TICK_S)
            except SylkError as error:
                # Its mailbox is full, say: time goes on passing.
                self._ctx.log.warning("fair share is behind: %s", error)

    @handler()
    async def tick(self, message: TimePassed, ctx: Context) -> None:
        """Let go of what silent cells held, and grant what time has freed."""
        now = ctx.clock.now()
        self._tell(self._fair.tick(now))
        if now - self._kept_at >= TICK_S and (self._keeping is None or self._keeping.done()):
            self._kept_at = now
            self._keeping = asyncio.create_task(self._accounts.keep())

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
            self._tell(self._fair.set_capacity(capacity, self._ctx.clock.now()))


def capacity_of(resources: Resources, ctx: Context) -> Capacity:
    """What may be shared out: what the settings say, and CPU slots by the cluster's CPUs where they say nothing."""
    settings = ctx.settings
    slots = settings.cpu_slots or settings.cpu_slots_per_cpu * resources.cpus
    limits = {f"{role}s": float(limit) for role, limit in settings.role_limits.items()}
    for name, provider in settings.providers.items():
        if provider.calls is not None:
            limits[f"model:{name}"] = float(provider.calls)
        if provider.tokens_per_minute is not None:
            limits[f"tokens:{name}"] = provider.tokens_per_minute
    for name, model in settings.models.items():
        if model.concurrency is not None:
            limits[f"model:{name}"] = float(model.concurrency)
        if model.tokens_per_minute is not None:
            limits[f"tokens:{name}"] = model.tokens_per_minute
    return Capacity({"pipelines": float(settings.max_pipelines), "cpu": slots, **limits})
