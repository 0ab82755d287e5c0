"""Running an agent's handlers: activation, one message at a time, and what becomes of failures."""

from __future__ import annotations

import asyncio
import logging
import time
import traceback
from collections.abc import Callable, Coroutine
from typing import Any

from sylk_ray.errors import SylkError
from sylk_ray.messaging import Address, DeadlinePassed, HandlerFailed, MailboxFull, Message, NotDecodable, SessionClosed
from sylk_ray.messaging.trace import NO_TRAIL, current_trail, follow
from sylk_ray.messaging.wire import Envelope, decode_envelope
from sylk_ray.runtime.agent import Agent, HandlerSpec
from sylk_ray.runtime.clock import Clock
from sylk_ray.runtime.context import Context
from sylk_ray.runtime.durability import Durability, Household
from sylk_ray.runtime.effects import Effects
from sylk_ray.runtime.journal import Memory
from sylk_ray.runtime.meter import Meter
from sylk_ray.runtime.outbox import Outbox
from sylk_ray.runtime.slots import Slot
from sylk_ray.runtime.supervision import ActivationFailed

YIELD_EVERY = 64
"""Messages an agent handles before it lets the others have the loop."""
CONCURRENT_BOUND = 128
_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 30.0

log = logging.getLogger("sylk.host")


class Runner:
    """Runs what stands in the mailboxes of one host's agents.

    ``context`` makes what a handler is given; ``reply`` and ``fail`` answer a request; ``gone`` is told of an agent
    that could not be activated; ``make`` makes an agent's object anew; ``held`` says whether a session's agents may
    begin with another message; ``spawn`` does something for as long as the host lives.
    """

    def __init__(
        self,
        host: Household,
        *,
        outbox: Outbox,
        meter: Meter,
        context: Callable[[Address, Envelope | None, Effects | None], Context],
        reply: Callable[[Envelope, Any], None],
        fail: Callable[[Envelope, SylkError], None],
        gone: Callable[[Slot], None],
        make: Callable[[Address], Agent[Any]],
        held: Callable[[str], bool],
        spawn: Callable[[Coroutine[Any, Any, None]], object],
    ) -> None:
        self._host = host
        self._clock: Clock = host.clock
        self._meter = meter
        self._context = context
        self._reply = reply
        self._fail = fail
        self._gone = gone
        self._make = make
        self._held = held
        self._spawn = spawn
        self._outbox = outbox
        self._revivals: dict[Address, float] = {}
        self._durability = Durability(
            host, outbox, context=context, reply=reply, fail=fail, remake=self._remake, reload=self._reload
        )

    def is_repeated(self, slot: Slot, envelope: Envelope) -> bool:
        """Whether a durable agent has the message already; noted as in hand, if not."""
        return self._durability.is_repeated(slot, envelope)

    def not_taken(self, slot: Slot, envelope: Envelope) -> None:
        """The message could not be put into the mailbox, and may come again."""
        if slot.remembered is not None:
            slot.remembered.in_hand.discard(envelope.id)

    def wake(self, slot: Slot) -> None:
        """See to it that the mailbox is worked off, and before it what the agent owes."""
        if slot.drain is None and (len(slot.mailbox) or slot.in_arrears):
            slot.drain = asyncio.get_running_loop().create_task(self._drain(slot), name=str(slot.address))

    def start_concurrent(self, slot: Slot, spec: HandlerSpec, envelope: Envelope) -> None:
        """Run a concurrent handler beside whatever else runs; raises MailboxFull when too many do."""
        if len(slot.concurrent) >= CONCURRENT_BOUND:
            raise MailboxFull(f"{slot.address} runs {CONCURRENT_BOUND} concurrent handlers already")
        self._beside(slot, self._concurrently(slot, spec, envelope))

    def awaken(self, slot: Slot, again: str = "") -> None:
        """See to it that the agent is active, and at the mail that the journal has for it; it forgets that it has
        handled the message ``again``."""
        if slot.remembered is not None:
            slot.remembered.handled.pop(again, None)
        self._beside(slot, self._look_for_mail(slot) if slot.ready else self._awaken(slot))

    def _beside(self, slot: Slot, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work, name=str(slot.address))
        slot.concurrent.add(task)
        task.add_done_callback(slot.concurrent.discard)

    async def _awaken(self, slot: Slot) -> None:
        try:
            await self._activated(slot)
        except ActivationFailed as failure:
            log.warning("%s", failure)
        self.wake(slot)

    async def _drain(self, slot: Slot) -> None:
        follow(NO_TRAIL)  # the task was made by whoever sent the first message
        try:
            await self._activated(slot)
            turns = 0
            while (len(slot.mailbox) or slot.in_arrears) and not self._held(slot.address.session):
                if slot.in_arrears:
                    follow(NO_TRAIL)
                    await self._durability.catch_up(slot)
                    continue
                envelope = slot.mailbox.take()
                try:
                    await self._handle(slot, slot.agent.handlers[type(envelope.message)], envelope)
                except ActivationFailed as failure:
                    self._fail(envelope, failure.error)
                    raise
                except Exception as problem:
                    log.exception("%s could not come to the end of a message", slot.address)
                    self._fail(envelope, HandlerFailed(f"{slot.address}: {problem!r}"))
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
            self.wake(slot)
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
        follow(NO_TRAIL)  # whose message it was that brought the agent to life is chance
        try:
            await self._remember(slot)
            await slot.agent.on_activate(self._context(slot.address, None, None))
        except Exception as problem:
            raise self._not_activated(slot, problem) from problem
        slot.ready = True
        self._revivals.pop(slot.address, None)

    def _not_activated(self, slot: Slot, problem: Exception) -> ActivationFailed:
        """It is gone from here. If its mail is kept, it is woken again after a pause that doubles."""
        address = slot.address
        log.error("%s could not be activated", address, exc_info=problem)
        self._gone(slot)
        if slot.remembered is not None:
            pause = self._revivals.get(address, _FIRST_PAUSE_S)
            self._revivals[address] = min(2 * pause, _LONGEST_PAUSE_S)
            self._spawn(self._revive(address, pause))
        trace = "".join(traceback.format_exception(problem))
        return ActivationFailed(HandlerFailed(f"{address} could not be activated: {problem}", hint=trace))

    async def _revive(self, address: Address, pause: float) -> None:
        await self._clock.sleep(pause)
        await self._outbox.awaken(address, address)

    async def _remember(self, slot: Slot) -> None:
        """Give the agent its state, and its mailbox what the journal has for it, before all that came since."""
        agent, remembered = slot.agent, slot.remembered
        if remembered is None:
            if agent.state_type is not None:
                agent.state = agent.state_type()
            return
        journal = self._host.journal_of(slot.address.session)
        memory = Memory(None, {}, []) if journal is None else await journal.recall(slot.address)
        remembered.handled.update(memory.handled)
        remembered.unsent.extend(memory.sent)
        if agent.state_type is not None:
            remembered.saved.restore(agent, memory.state)
        waiting: list[Envelope] = []
        for mail in memory.mail:
            try:
                envelope = decode_envelope(mail.packet)
            except NotDecodable as error:
                log.warning("%s cannot read its mail %s: %s", slot.address, mail.id, error)
                continue
            message: Message = envelope.message
            spec = agent.handlers.get(type(message))
            if spec is None or (spec.concurrent and envelope.id in remembered.in_hand):
                continue
            if spec.concurrent:
                remembered.in_hand.add(envelope.id)
                self._beside(slot, self._concurrently(slot, spec, envelope))
            else:
                waiting.append(envelope)
        remembered.in_hand.update(envelope.id for envelope in waiting)
        slot.mailbox.put_first(waiting)

    async def _look_for_mail(self, slot: Slot) -> None:
        """Take what the journal has for an agent that lives: it may have been lost with the cell that sent it."""
        journal = self._host.journal_of(slot.address.session)
        if journal is None or slot.remembered is None:
            return
        try:
            for mail in (await journal.recall(slot.address)).mail:
                # What it cannot take is its sender's business, who is told when it sends it.
                await self._outbox.resend(mail)
        except SylkError as error:
            log.warning("the mail of %s could not be looked for: %s", slot.address, error)

    async def _reload(self, slot: Slot) -> None:
        """Put an agent back to what the journal has of it; what that says was told is sent again."""
        journal, remembered = self._host.journal_of(slot.address.session), slot.remembered
        assert remembered is not None
        if journal is not None:
            memory = await journal.recall(slot.address)
            if slot.agent.state_type is not None:
                remembered.saved.restore(slot.agent, memory.state)
            remembered.unsent.extend(memory.sent)
        await self._remake(slot)

    async def _remake(self, slot: Slot) -> None:
        """Put an agent back to its last committed state, as a new object; its mailbox stays."""
        remembered = slot.remembered
        assert remembered is not None
        trail = current_trail()
        follow(NO_TRAIL)  # its life goes on after the message that failed
        try:
            await slot.agent.on_deactivate()
        except Exception:
            log.exception("%s failed while it was put away", slot.address)
        slot.agent = self._make(slot.address)
        if slot.agent.state_type is not None:
            remembered.saved.again(slot.agent)
        try:
            await slot.agent.on_activate(self._context(slot.address, None, None))
        except Exception as problem:
            raise self._not_activated(slot, problem) from problem
        finally:
            follow(trail)

    async def _handle(self, slot: Slot, spec: HandlerSpec, envelope: Envelope) -> None:
        address = slot.address
        if envelope.wants_reply and envelope.deadline and self._clock.now() > envelope.deadline:
            self._fail(envelope, DeadlinePassed(f"{address} came to {envelope.message.kind} after its deadline"))
            return
        kind = slot.handling = type(envelope.message).__name__
        follow((envelope.trace, envelope.id))
        started = time.perf_counter()
        well = False
        try:
            message: Message = envelope.message
            if slot.remembered is not None and (message.remembered or not spec.concurrent):
                well = await self._durability.handle(slot, spec, envelope)
            else:
                well = await self._quickly(slot, spec, envelope)
        except asyncio.CancelledError:
            self._fail(envelope, SessionClosed(f"{address} was put away while it was at {kind}"))
            raise
        finally:
            slot.handling = ""
            slot.handled += 1
            self._meter.handled(address.session, address.role, time.perf_counter() - started, not well)

    async def _quickly(self, slot: Slot, spec: HandlerSpec, envelope: Envelope) -> bool:
        """Handle a message of an agent that is not durable: what it tells leaves at once."""
        context = self._context(slot.address, envelope, None)
        try:
            result = await spec.function(slot.agent, envelope.message, context)
        except SylkError as error:
            await self._failed(slot, envelope, error, error, context)
        except (KeyboardInterrupt, SystemExit, asyncio.CancelledError):
            raise
        except BaseException as problem:
            kind, trace = type(envelope.message).__name__, traceback.format_exc()
            log.error("%s failed on %s:\n%s", slot.address, kind, trace)  # noqa: TRY400
            error = HandlerFailed(f"{slot.address} failed on {kind}: {problem!r}\n{trace}")
            await self._failed(slot, envelope, error, problem if isinstance(problem, Exception) else error, context)
        else:
            if envelope.wants_reply:
                self._reply(envelope, result)
            return True
        return False

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
