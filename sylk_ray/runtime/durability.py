"""Handling one message of a durable agent: run, commit, answer, send; and run again what failed.

All that a handler wants done is held back until it commits (see ``effects``). Cut off anywhere before the commit it
has done nothing but its steps, and runs again with their results; cut off after it, its mail waits in the journal.
"""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

import msgspec

from sylk_ray.errors import SylkError
from sylk_ray.messaging import Address, HandlerFailed, Message, NotDecodable, SessionClosed
from sylk_ray.messaging.trace import current_trail, follow
from sylk_ray.messaging.wire import Envelope, decode_envelope, encode_body
from sylk_ray.runtime.agent import Agent, HandlerSpec
from sylk_ray.runtime.clock import Clock
from sylk_ray.runtime.context import Context
from sylk_ray.runtime.effects import Effects
from sylk_ray.runtime.journal import (
    Committed,
    DeadLetter,
    Fenced,
    Journal,
    JournalClosed,
    Mail,
    Transaction,
    failed_message,
    failure_of,
)
from sylk_ray.runtime.outbox import Outbox, mail_of
from sylk_ray.runtime.slots import Remembered, Slot
from sylk_ray.runtime.supervision import ActivationFailed, Refused

REMEMBER_S = 600.0
"""For how long a handled message is known again: longer than anyone goes on sending it."""

log = logging.getLogger("sylk.host")


class Household(Protocol):
    """What handling needs of its host."""

    clock: Clock

    def journal_of(self, session: str) -> Journal | None:
        """The journal of a session that is open here."""
        ...

    def is_durable(self, target: Address) -> bool:
        """Whether mail to it is kept; raises UnknownAddress for a role that there is not."""
        ...

    def next_id(self) -> str:
        """An id for a message."""
        ...

    def happened(self, session: str) -> None:
        """The session's history has grown."""
        ...

    def fenced(self, session: str) -> None:
        """This cell was replaced as a writer of the session."""
        ...

    async def tell(self, source: Address, target: Address, message: Message, *, timeout: float) -> None:
        """Send at once."""
        ...


class Durability:
    """``remake`` puts an agent back to its last committed state, ``reload`` to what the journal has of it."""

    def __init__(
        self,
        host: Household,
        outbox: Outbox,
        *,
        context: Callable[[Address, Envelope | None, Effects | None], Context],
        reply: Callable[[Envelope, Any], None],
        fail: Callable[[Envelope, SylkError], None],
        remake: Callable[[Slot], Awaitable[None]],
        reload: Callable[[Slot], Awaitable[None]],
    ) -> None:
        self._host = host
        self._outbox = outbox
        self._context = context
        self._reply = reply
        self._fail = fail
        self._remake = remake
        self._reload = reload

    def is_repeated(self, slot: Slot, envelope: Envelope) -> bool:
        """Whether the agent has the message in hand already, and nobody new waits for its answer."""
        remembered = slot.remembered
        if remembered is None or envelope.wants_reply:
            return False
        if envelope.id in remembered.in_hand or envelope.id in remembered.handled:
            return True
        remembered.in_hand.add(envelope.id)
        return False

    async def handle(self, slot: Slot, spec: HandlerSpec, envelope: Envelope) -> bool:
        """Handle one message to its end; whether that went well."""
        remembered = slot.remembered
        assert remembered is not None
        try:
            known = remembered.handled.get(envelope.id)
            if known is not None:
                if envelope.wants_reply:
                    self._reply(envelope, msgspec.Raw(known[1] or b"\xc0"))
                return True
            return await self._run(slot, remembered, spec, envelope)
        except (Fenced, JournalClosed) as error:
            self._fail(envelope, SessionClosed(f"{slot.address} lives elsewhere now", hint=error.message))
            self._host.fenced(slot.address.session)
            return False
        finally:
            remembered.in_hand.discard(envelope.id)

    async def _run(self, slot: Slot, remembered: Remembered, spec: HandlerSpec, envelope: Envelope) -> bool:
        while True:
            effects = Effects(envelope.id)
            context = self._context(slot.address, envelope, effects)
            agent = slot.agent
            raised: Exception
            try:
                result = await spec.function(agent, envelope.message, context)
                reply = encode_body(result) if envelope.wants_reply else None
                # Within, for what has no wire form is the handler's fault, and undone as any other.
                transaction = self._transaction(slot, agent, envelope, effects, concurrent=spec.concurrent, reply=reply)
            except (Fenced, asyncio.CancelledError, KeyboardInterrupt, SystemExit):
                raise
            except Refused as refusal:
                effects.sealed = True
                self._fail(envelope, refusal.error)
                return False
            except SylkError as error:
                raised, told, pause = error, error, None
                if not envelope.wants_reply:
                    log.warning("%s could not do %s: %s", slot.address, type(envelope.message).__name__, error)
            except BaseException as problem:
                told = self._failure(slot, envelope, problem)
                raised = problem if isinstance(problem, Exception) else told
                again = not envelope.wants_reply
                pause = remembered.restarts.next_pause(self._host.clock.now()) if again else None
            else:
                committed = await self._commit(slot, agent, remembered, transaction, effects)
                if envelope.wants_reply:
                    self._reply(envelope, result)
                if not committed.repeated:
                    await self._send(slot, remembered, effects)
                elif not spec.concurrent:
                    await self._reload(slot)
                return True
            effects.sealed = True
            if pause is None:
                await self._give_up(slot, remembered, spec, envelope, told, raised)
                return False
            log.warning("%s is started again in %.2g s", slot.address, pause)
            await self._host.clock.sleep(pause)
            if not spec.concurrent:
                await self._remake(slot)

    def _failure(self, slot: Slot, envelope: Envelope, problem: BaseException) -> SylkError:
        kind, trace = type(envelope.message).__name__, traceback.format_exc()
        log.error("%s failed on %s:\n%s", slot.address, kind, trace)
        return HandlerFailed(f"{slot.address} failed on {kind}: {problem!r}\n{trace}")

    async def _give_up(
        self,
        slot: Slot,
        remembered: Remembered,
        spec: HandlerSpec,
        envelope: Envelope,
        error: SylkError,
        raised: Exception,
    ) -> None:
        """Nothing of the message is done but what the agent's ``on_failure`` does."""
        if not spec.concurrent:
            await self._remake(slot)
        letter: DeadLetter | None = None
        if error is not raised and not envelope.wants_reply:
            letter = DeadLetter(mail_of(envelope), error.code, error.message, self._host.clock.now())
        # A request is not remembered: asked again, it is tried again.
        id_ = failure_of(envelope.id) if envelope.wants_reply else envelope.id
        effects = await self._tell_agent(slot, remembered, envelope, raised, id_, letter, concurrent=spec.concurrent)
        if envelope.wants_reply:
            self._fail(envelope, error)
        await self._send(slot, remembered, effects)

    async def _tell_agent(
        self,
        slot: Slot,
        remembered: Remembered,
        envelope: Envelope,
        error: Exception,
        record: str,
        letter: DeadLetter | None,
        *,
        concurrent: bool = False,
    ) -> Effects:
        """Commit what the agent's ``on_failure`` does about a message, with the message's dead letter, under the id
        ``record``; answers what is to be sent. Nothing but the letter, when ``on_failure`` itself fails."""
        effects, agent = Effects(envelope.id), slot.agent
        try:
            await agent.on_failure(envelope.message, error, self._context(slot.address, envelope, effects))
            transaction = self._transaction(
                slot, agent, envelope, effects, concurrent=concurrent, reply=None, record=record, buried=letter
            )
        except Fenced:
            raise
        except Exception:
            log.exception("%s failed in on_failure", slot.address)
            effects.sealed = True
            effects = Effects(envelope.id)
            if not concurrent:
                await self._remake(slot)
            agent = slot.agent
            transaction = self._transaction(
                slot, agent, envelope, effects, concurrent=True, reply=None, record=record, buried=letter
            )
        committed = await self._commit(slot, agent, remembered, transaction, effects)
        if committed.repeated and not concurrent:
            # All of it was done before, or was no use any more: what the journal has is true.
            await self._reload(slot)
            return Effects(envelope.id)
        return effects

    async def catch_up(self, slot: Slot) -> None:
        """Before the next message: send what an earlier life of the agent left unsent, in the order in which it was
        committed, and tell the agent of what nobody can take."""
        remembered = slot.remembered
        assert remembered is not None
        try:
            while remembered.unsent:
                mail = remembered.unsent.popleft()
                error = await self._outbox.resend(mail)
                if error is not None:
                    remembered.undelivered.append((mail, error))
            while remembered.undelivered:
                await self._undelivered(slot, remembered, *remembered.undelivered.popleft())
        except ActivationFailed:
            raise
        except (Fenced, JournalClosed):
            remembered.unsent.clear()
            remembered.undelivered.clear()
            self._host.fenced(slot.address.session)
        except Exception:
            # What was not told waits in the journal, and is tried again in the agent's next life.
            log.exception("%s could not be told of mail that was not delivered", slot.address)

    async def _undelivered(self, slot: Slot, remembered: Remembered, mail: Mail, error: SylkError) -> None:
        """Mail of the agent can never be delivered: it is buried, and the agent told, as one step."""
        if not await self._journal(slot).waits(mail.id):
            return
        try:
            envelope = decode_envelope(mail.packet)
        except NotDecodable:
            envelope = None
        if envelope is None or failed_message(mail.id) is not None:
            # Nothing is left to tell of it; or it told of a failure itself, and so it would go on for ever.
            await self._outbox.bury(mail, error)
            return
        log.error("mail %s from %s to %s is a dead letter: %s", mail.id, mail.source, mail.target, error)
        letter = DeadLetter(mail, error.code, error.message, self._host.clock.now())
        follow((envelope.trace, envelope.id))
        envelope.id = failure_of(mail.id)
        effects = await self._tell_agent(slot, remembered, envelope, error, envelope.id, letter)
        await self._send(slot, remembered, effects)

    def _transaction(
        self,
        slot: Slot,
        agent: Agent[Any],
        envelope: Envelope,
        effects: Effects,
        *,
        concurrent: bool,
        reply: bytes | None,
        record: str = "",
        buried: DeadLetter | None = None,
    ) -> Transaction:
        """All that a handler wants recorded, or with a ``record`` id ``on_failure``. Raises NotEncodable, or what
        msgspec does."""
        remembered = slot.remembered
        assert remembered is not None
        keeps = agent.state_type is not None and not concurrent
        return Transaction(
            slot.address,
            record or envelope.id,
            remembered.saved.changes(agent) if keeps else None,
            self._mail(slot, effects, of_failure=bool(record)),
            tuple(effects.events),
            reply,
            max(self._host.clock.now(), envelope.deadline) + REMEMBER_S,
            buried=buried,
        )

    async def _commit(
        self, slot: Slot, agent: Agent[Any], remembered: Remembered, transaction: Transaction, effects: Effects
    ) -> Committed:
        """Nothing is recorded, nor to be sent, when it says ``repeated``: all of it was done before, or is moot."""
        # Before it is written: what a task of the handler's says meanwhile is no part of this any more.
        effects.sealed = True
        committed = await self._journal(slot).commit(transaction)
        if transaction.state is not None and not committed.repeated:
            remembered.saved.note(agent, transaction.state)
        until, reply = transaction.remember_until, transaction.reply
        remembered.note(transaction.message_id, until, reply, self._host.clock.now())
        if effects.events:
            self._host.happened(slot.address.session)
        return committed

    def _mail(self, slot: Slot, effects: Effects, *, of_failure: bool) -> Sequence[Mail]:
        """The mail that is kept, as records; what was told becomes an envelope with an id on the way."""
        kept: list[Mail] = []
        trace, parent = current_trail()
        for number, told in enumerate(effects.told):
            id_ = self._host.next_id()
            envelope = Envelope(failure_of(id_) if of_failure else id_, slot.address, told.target, told.message)
            envelope.trace, envelope.parent, envelope.priority = trace, parent, told.message.priority
            if told.target.session == slot.address.session and self._host.is_durable(told.target):
                kept.append(mail_of(envelope))
                effects.told[number] = told._replace(envelope=envelope)
        return kept

    async def _send(self, slot: Slot, remembered: Remembered, effects: Effects) -> None:
        for told in effects.told:
            if told.envelope is not None:
                error = await self._outbox.send(told.envelope)
                if error is not None:
                    remembered.undelivered.append((mail_of(told.envelope), error))
                continue
            try:
                await self._host.tell(slot.address, told.target, told.message, timeout=told.timeout)
            except SylkError as error:
                log.warning("%s could not tell %s %s: %s", slot.address, told.target, told.message.kind, error)

    def _journal(self, slot: Slot) -> Journal:
        journal = self._host.journal_of(slot.address.session)
        if journal is None:
            raise Fenced(f"session {slot.address.session} is not open here any more")
        return journal
