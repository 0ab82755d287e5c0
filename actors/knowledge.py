"""The agent that owns what is known of codebases, for all sessions."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

from actors.gate_owner import GateOwner
from actors.knowledge_messages import AskCodebase, CodebaseAnswer, GateConfirms, Leased, RenewLease, takes_long
from sylk_ray.codebase.serving import Codebase, open_codebase
from sylk_ray.codebase.serving.frames import Failed
from sylk_ray.errors import SylkError
from sylk_ray.runtime import Agent, Context, handler

AT_ONCE = 16
"""Requests that are answered together; the others wait."""
LONG_AT_ONCE = 4
"""Of those that take long, which have threads of their own: no search waits for an indexing."""


class Knowledge(Agent[None]):
    """Passes requests to the knowledge base in threads, and has no thoughts of its own.

    It listens on the knowledge base's socket as well, so that commands find what the runtime has open. When another
    process owns the knowledge, that one is asked. What cannot be opened is tried again with the next request.
    """

    role = "knowledge"

    async def on_activate(self, ctx: Context) -> None:
        """Open what is known, so that others can be answered; whoever asks is told when that does not go."""
        self._ctx = ctx
        self._gate = GateOwner(ctx)
        self._codebase: Codebase | None = None
        self._opening: asyncio.Task[Codebase] | None = None
        self._quick = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="knowledge")
        self._long = ThreadPoolExecutor(LONG_AT_ONCE, thread_name_prefix="knowledge-long")
        try:
            await self._opened()
        except SylkError as error:
            ctx.log.warning("what is known cannot be opened: %s", error)
        self._measuring = asyncio.create_task(self._measure())

    async def on_deactivate(self) -> None:
        """Let go of it."""
        self._measuring.cancel()
        for pool in (self._quick, self._long):
            pool.shutdown(wait=False, cancel_futures=True)
        if self._opening is not None:
            await asyncio.wait([self._opening])
        if self._codebase is not None:
            await asyncio.to_thread(self._codebase.close)

    @handler(concurrent=True)
    async def ask(self, message: AskCodebase, ctx: Context) -> CodebaseAnswer:
        """What the knowledge base answers, or the error that it raises."""
        pool = self._long if takes_long(message.request) else self._quick
        try:
            codebase = await self._opened()
            answer = await asyncio.get_running_loop().run_in_executor(pool, codebase.ask, message.request)
        except SylkError as error:
            return CodebaseAnswer(Failed.of(error))
        return CodebaseAnswer(answer)

    @handler(concurrent=True)
    async def renew_lease(self, message: RenewLease, ctx: Context) -> Leased:
        """A lease for a cell that searches; none when another process owns the knowledge."""
        base = (await self._opened()).base
        return Leased() if base is None else await self._gate.lease(base.guards, message.asked, ctx.sender)

    @handler(concurrent=True)
    async def gate_confirms(self, message: GateConfirms, ctx: Context) -> None:
        """A cell knows what was published."""
        base = self._codebase.base if self._codebase is not None else None
        if base is not None:
            await self._gate.confirm(base.guards, message.said)

    async def _opened(self) -> Codebase:
        """All who come while it is being opened wait for the same. Raises what ``open_codebase`` does."""
        if self._codebase is not None:
            return self._codebase
        if self._opening is None:
            self._opening = asyncio.create_task(self._open())
        return await asyncio.shield(self._opening)

    async def _open(self) -> Codebase:
        try:
            # Nothing of it may be imported on the loop: Qdrant's client alone takes half a second.
            self._codebase = await asyncio.to_thread(open_codebase, self._ctx.settings.home, serve=True)
        finally:
            self._opening = None
        return self._codebase

    async def _measure(self) -> None:
        """Hand over the gate's numbers as metrics, for as long as this process owns it."""
        while True:
            base = self._codebase.base if self._codebase is not None else None
            if base is not None:
                for domain, known in (await asyncio.to_thread(base.guards.numbers)).items():
                    levels = {
                        "sylk_gate_noes": known.noes,
                        "sylk_gate_maybes": known.maybes,
                        "sylk_gate_false_positives": known.in_vain,
                        "sylk_gate_unsure": known.unknown,
                        "sylk_gate_bytes": known.bytes,
                        "sylk_gate_pending_keys": known.pending,
                        "sylk_gate_readers": known.readers,
                    }
                    for name, level in levels.items():
                        self._ctx.measured(name, level, domain=domain.value)
            await self._ctx.clock.sleep(self._ctx.settings.metrics_every_s)
