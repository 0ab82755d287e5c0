"""Running an agent's handlers: activation, one message at a time, and what becomes of failures."""

from __future__ import annotations

import asyncio
import logging
import time
import traceback
from collections.abc import Callable
from typing import Any

import msgspec

from sylk_ray.errors import SylkError
from sylk_ray.messaging import Address, DeadlinePassed, HandlerFailed, MailboxFull, SessionClosed
from sylk_ray.messaging.wire import Envelope
from sylk_ray.runtime.agent import HandlerSpec
from sylk_ray.runtime.clock import Clock
from sylk_ray.runtime.context import Context
from sylk_ray.runtime.journal import Journal, Transaction
from sylk_ray.runtime.meter import Meter
from sylk_ray.runtime.slots import Slot

YIELD_EVERY = 64
"""Messages an agent handles before it lets the others have the loop."""
CONCURRENT_BOUND = 128

log = logging.getLogger("sylk.host")


class Runner:
    """Runs what stands in the mailboxes of one host's agents.

    ``context`` makes what a handler is given; ``reply`` and ``fail`` answer a request; ``gone`` is told of an agent
    that could not be activated.
    """

    def __init__(
        self,
        *,
        journal: Journal,
        clock: Clock,
        meter: Meter,
        context: Callable[[Address, Envelope | None], Context],
        reply: Callable[[Envelope, Any], None],
        fail: Callable[[Envelope, SylkError], None],
        gone: Callable[[Slot], None],
    ) -> None:
        self._journal = journal
        self._clock = clock
        self._meter = meter
        self._context = context
        self._reply = reply
        self._fail = fail
        self._gone = gone

    def wake(self, slot: Slot) -> None:
        """See to it that the mailbox is worked off."""
        if slot.drain is None and len(slot.mailbox):
            slot.drain = asyncio.get_running_loop().create_task(self._drain(slot), name=str(slot.address))

    def start_concurrent(self, slot: Slot, spec: HandlerSpec, envelope: Envelope) -> None:
        """Run a concurrent handler beside whatever else runs; raises MailboxFull when too many do."""
        if len(slot.concurrent) >= CONCURRENT_BOUND:
            raise MailboxFull(f"{slot.address} runs {CONCURRENT_BOUND} concurrent handlers already")
        task = asyncio.get_running_loop().create_task(self._concurrently(slot, spec, envelope), name=str(slot.address))
        slot.concurrent.add(task)
        task.add_done_callback(slot.concurrent.discard)

    async def _drain(self, slot: Slot) -> None:
        try:
            await self._activated(slot)
            turns = 0
            while len(slot.mailbox):
                envelope = slot.mailbox.take()
                await self._handle(slot, slot.agent.handlers[type(envelope.message)], envelope)
                turns += 1
                if turns % YIELD_EVERY == 0:
                    await asyncio.sleep(0)
        except ActivationFailed as failure:
            for envelope in slot.mailbox.clear():
                self._fail(envelope, failure.error)
        finally:
            slot.drain = None
            slot.idle_since = time.monotonic()

    async def _concurrently(self, slot: Slot, spec: HandlerSpec, envelope: Envelope) -> None:
        try:
            await self._activated(slot)
            await self._handle(slot, spec, envelope)
        except ActivationFailed as failure:
            self._fail(envelope, failure.error)
        finally:
            slot.idle_since = time.monotonic()

    async def _activated(self, slot: Slot) -> None:
        """Return when the agent is ready; the first to come activates it, and all others wait for that."""
        if slot.ready:
            return
        if slot.activating is None:
            slot.activating = asyncio.get_running_loop().create_task(self._activate(slot), name=str(slot.address))
        await asyncio.shield(slot.activating)

    async def _activate(self, slot: Slot) -> None:
        try:
            state_type = slot.agent.state_type
            if state_type is not None:
                saved = await self._journal.state_of(slot.address)
                slot.agent.state = state_type() if saved is None else msgspec.msgpack.decode(saved, type=state_type)
            await slot.agent.on_activate(self._context(slot.address, None))
        except Exception as problem:
            log.exception("%s could not be activated", slot.address)
            self._gone(slot)
            error = HandlerFailed(f"{slot.address} could not be activated: {problem}", hint=traceback.format_exc())
            raise ActivationFailed(error) from problem
        slot.ready = True

    async def _handle(self, slot: Slot, spec: HandlerSpec, envelope: Envelope) -> None:
        address = slot.address
        if self._journal.is_handled(address, envelope.id):
            return
        if envelope.wants_reply and envelope.deadline and self._clock.now() > envelope.deadline:
            self._fail(envelope, DeadlinePassed(f"{address} came to {envelope.message.kind} after its deadline"))
            return
        context = self._context(address, envelope)
        kind = slot.handling = type(envelope.message).__name__
        started = time.perf_counter()
        failed = True
        try:
            result = await spec.function(slot.agent, envelope.message, context)
            state = msgspec.msgpack.encode(slot.agent.state) if slot.agent.state_type is not None else None
            await self._journal.commit(Transaction(address, envelope.id, state))
            failed = False
            if envelope.wants_reply:
                self._reply(envelope, result)
        except asyncio.CancelledError:
            self._fail(envelope, SessionClosed(f"{address} was put away while it was at {kind}"))
            raise
        except SylkError as error:
            await self._failed(slot, envelope, error, error, context)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as problem:
            trace = traceback.format_exc()
            log.error("%s failed on %s:\n%s", address, kind, trace)  # noqa: TRY400
            error = HandlerFailed(f"{address} failed on {kind}: {problem!r}\n{trace}")
            await self._failed(slot, envelope, error, problem if isinstance(problem, Exception) else error, context)
        finally:
            slot.handling = ""
            slot.handled += 1
            self._meter.handled(address.session, address.role, time.perf_counter() - started, failed)

    async def _failed(
        self, slot: Slot, envelope: Envelope, error: SylkError, raised: Exception, context: Context
    ) -> None:
        if envelope.wants_reply:
            self._fail(envelope, error)
        elif error is raised:
            log.warning("%s could not do %s: %s", slot.address, type(envelope.message).__name__, error)
        try:
            await slot.agent.on_failure(envelope.message, raised, context)
        except Exception:
            log.exception("%s failed in on_failure", slot.address)


class ActivationFailed(Exception):
    """An agent could not come to life; ``error`` is what its senders get."""

    def __init__(self, error: SylkError) -> None:
        super().__init__(error.message)
        self.error = error
