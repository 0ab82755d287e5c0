"""The agent that keeps, in every cell that searches, what is certain not to be found."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from actors.knowledge_messages import KNOWLEDGE, AskCodebase, CodebaseAnswer, GateChanged, GateConfirms, RenewLease
from sylk_ray.codebase.nothing import certainly_nothing
from sylk_ray.errors import SylkError
from sylk_ray.runtime import Agent, Context, handler
from sylk_ray.runtime.directory import GATE

if TYPE_CHECKING:
    from sylk_ray.knowledge.guarding.remote import RemoteGate

QUIET_S = 30.0
"""Without a search for so long, the cell lets its lease run out: no write waits for it any more."""
AGAIN_S = 1.0
"""After an owner that could not be asked."""


class GateKeeper(Agent[None]):
    """``shared/gate/<cell>``: answers searches of its cell whose answer is "nothing", and passes on all others.

    It follows what the knowledge agent publishes, under a lease that it renews while its cell searches. Without a lease
    it passes everything on, so it costs a search nothing but the way through it.
    """

    role = GATE

    async def on_activate(self, ctx: Context) -> None:
        """Nothing is known yet, and nothing refused."""
        self._ctx = ctx
        self._remote: RemoteGate | None = None
        self._following: asyncio.Task[None] | None = None
        self._searched_at = ctx.clock.now()

    async def on_deactivate(self) -> None:
        """The lease runs out."""
        if self._following is not None:
            self._following.cancel()

    @handler(concurrent=True)
    async def ask(self, message: AskCodebase, ctx: Context) -> CodebaseAnswer:
        """Nothing, if that is certain; else what the knowledge agent says."""
        self._searched_at = ctx.clock.now()
        if self._following is None or self._following.done():
            self._following = asyncio.create_task(self._follow(), name=str(ctx.address))
        nothing = certainly_nothing(self._remote.gate, message.request) if self._remote is not None else None
        if nothing is not None:
            return CodebaseAnswer(nothing)
        return await ctx.ask(KNOWLEDGE, message, timeout=max(0.001, ctx.deadline - ctx.clock.now()))

    @handler(concurrent=True)
    async def changed(self, message: GateChanged, ctx: Context) -> None:
        """Something was written: from now on it is not refused."""
        if self._remote is not None:
            ctx.notify(KNOWLEDGE, GateConfirms(self._remote.follow(message.pushed)))

    async def _follow(self) -> None:
        """Renew the lease until nobody has searched for a while."""
        if self._remote is None:
            self._remote = await asyncio.to_thread(_remote_gate)
        awake = self._ctx.keep_awake()
        try:
            while self._ctx.clock.now() - self._searched_at < QUIET_S:
                try:
                    await self._renew(self._remote)
                except Exception as error:
                    # Whatever it is: the lease runs out, and everything is passed on.
                    level = self._ctx.log.info if isinstance(error, SylkError) else self._ctx.log.warning
                    level("the gate has no lease: %s: %s", type(error).__name__, error)
                    await self._ctx.clock.sleep(AGAIN_S)
                self._measure(self._remote)
                await self._ctx.clock.sleep(self._remote.terms.renew_every_s)
        finally:
            awake()

    async def _renew(self, remote: RemoteGate) -> None:
        lasting = remote.terms.duration_s
        leased = await self._ctx.ask(KNOWLEDGE, RenewLease(remote.renewal()), timeout=lasting)
        if not leased.granted:
            return
        snapshots: dict[str, object] = {}
        for domain in remote.wanting(leased.granted):
            name = leased.snapshots.get(domain)
            if name is not None:
                snapshots[domain] = await self._ctx.shelf.get(leased.cell, name)
        self._ctx.notify(KNOWLEDGE, GateConfirms(remote.accept(leased.granted, snapshots)))

    def _measure(self, remote: RemoteGate) -> None:
        for domain, counts in remote.gate.counts.items():
            self._ctx.measured("sylk_gate_noes", counts.noes, domain=domain)
            self._ctx.measured("sylk_gate_maybes", counts.maybes, domain=domain)
            self._ctx.measured("sylk_gate_unsure", counts.unknown, domain=domain)


def _remote_gate() -> RemoteGate:
    # Not on the loop: it takes a quarter of a second to import.
    from sylk_ray.knowledge.guarding.remote import RemoteGate

    return RemoteGate()
