"""What arrives in a cell and finds its agent: it is made when it is not there, its mailbox takes what it has room for,
and who cannot be served is told why. Nothing here knows where else agents live, or how an answer travels."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence

from sylk_ray.errors import SylkError
from sylk_ray.messaging import (
    SHARED,
    Address,
    HandlerFailed,
    MailboxFull,
    Message,
    NoHandler,
    NotDecodable,
    SessionClosed,
    UnknownAddress,
)
from sylk_ray.messaging.wire import Envelope, Failure, Refusal, encode_refusals
from sylk_ray.runtime.agent import HandlerSpec
from sylk_ray.runtime.clock import Clock
from sylk_ray.runtime.inbound import Inbound
from sylk_ray.runtime.outbox import Awake
from sylk_ray.runtime.residence import Residence
from sylk_ray.runtime.roles import Roles
from sylk_ray.runtime.running import Runner
from sylk_ray.runtime.slots import Remembered, Slot
from sylk_ray.runtime.supervision import RestartPolicy, Restarts

RESTARTS = RestartPolicy()

log = logging.getLogger("sylk.host")


class Reception:
    """The living agents of one cell, and the way into their mailboxes.

    ``settle`` takes an answer that came; ``fail`` answers a request that will not be handled.
    """

    def __init__(
        self,
        cell: str,
        *,
        roles: Roles,
        residence: Residence,
        runner: Runner,
        settle: Callable[[Envelope], None],
        fail: Callable[[Envelope, SylkError], None],
        clock: Clock,
        mailbox_bound: int,
    ) -> None:
        self.slots: dict[Address, Slot] = {}
        self.kept_awake: Counter[Address] = Counter()
        """Agents that hear of things which would not wake them."""
        self.inbound = Inbound()
        self._cell = cell
        self._roles = roles
        self._residence = residence
        self._runner = runner
        self._settle = settle
        self._fail = fail
        self._clock = clock
        self._mailbox_bound = mailbox_bound
        self._closed = False

    def close(self) -> None:
        """Make no agent any more; those that live go on."""
        self._closed = True

    def forget_peer(self, cell: str) -> None:
        """A cell died, and will repeat nothing."""
        self.inbound.forget(cell)

    def slots_of(self, session: str) -> list[Slot]:
        """The session's living agents."""
        return [slot for slot in self.slots.values() if slot.address.session == session]

    def gone(self, slot: Slot) -> None:
        """An agent lives here no more."""
        if self.slots.get(slot.address) is slot:
            del self.slots[slot.address]

    def accept(self, arrived: Inbound.Arrived) -> bytes:
        """Put each packet in its mailbox; returns the refusals. A batch seen before gets its first answer again.

        When a receiver is full, all that follows to it in the batch is refused as well, so that order holds.
        """
        if (seen := self.inbound.seen(arrived)) is not None:
            return seen
        refusals: list[Refusal] = []
        full: set[Address] = set()
        for index, envelope in enumerate(arrived.envelopes):
            try:
                if envelope.target in full:
                    raise MailboxFull(f"{envelope.target} is full")
                self._accept_one(envelope)
            except MailboxFull as error:
                full.add(envelope.target)
                refusals.append(Refusal(index, Failure.of(error)))
            except SylkError as error:
                refusals.append(Refusal(index, Failure.of(error)))
            except Exception as problem:
                # One packet must not take its whole batch along.
                log.exception("a packet for %s could not be taken", envelope.target)
                error = HandlerFailed(f"{envelope.target} could not take a message: {problem!r}")
                refusals.append(Refusal(index, Failure.of(error)))
        acknowledgement = encode_refusals(refusals)
        self.inbound.remember(arrived, acknowledgement)
        return acknowledgement

    def _accept_one(self, envelope: Envelope) -> None:
        if envelope.answers:
            self._settle(envelope)
            return
        if isinstance(envelope.message, NotDecodable):
            raise envelope.message
        receiver = self._receiver_of(envelope)
        if receiver is None:
            return
        slot, spec = receiver
        try:
            if spec.concurrent:
                self._runner.start_concurrent(slot, spec, envelope)
            elif slot.mailbox.offer(envelope):
                self._runner.wake(slot)
            else:
                raise MailboxFull(f"{envelope.target} is full")
        except MailboxFull:
            self._runner.not_taken(slot, envelope)
            raise

    async def deliver(self, envelope: Envelope) -> None:
        """Put it in its mailbox, waiting for room until its deadline; raises a DeliveryError."""
        receiver = self._receiver_of(envelope)
        if receiver is None:
            return
        slot, spec = receiver
        try:
            if spec.concurrent:
                await self._start_concurrent_in_turn(slot, spec, envelope)
                return
            if not slot.mailbox.offer(envelope):
                await slot.mailbox.put(envelope, self._left(envelope))
        except BaseException:
            self._runner.not_taken(slot, envelope)
            raise
        self._runner.wake(slot)

    async def _start_concurrent_in_turn(self, slot: Slot, spec: HandlerSpec, envelope: Envelope) -> None:
        while True:
            try:
                self._runner.start_concurrent(slot, spec, envelope)
                return
            except MailboxFull:
                left = self._left(envelope)
                if not left:
                    raise
                await asyncio.wait(list(slot.concurrent), timeout=left, return_when=asyncio.FIRST_COMPLETED)

    def _receiver_of(self, envelope: Envelope) -> tuple[Slot, HandlerSpec] | None:
        """Who is to handle it, and how; None when no more is to be done: the agent was woken, or has it already."""
        slot = self._slot_for(envelope.target)
        if isinstance(envelope.message, Awake):
            self._runner.awaken(slot, envelope.message.again)
            return None
        message: Message = envelope.message
        spec = slot.agent.handlers.get(type(message))
        if spec is None:
            kind = type(message).__name__
            raise NoHandler(f"{slot.address} does not understand {kind}, which {envelope.source} sent")
        return None if self._runner.is_repeated(slot, envelope) else (slot, spec)

    def _slot_for(self, target: Address) -> Slot:
        slot = self.slots.get(target)
        if slot is not None:
            return slot
        if self._closed:
            raise SessionClosed(f"cell {self._cell} is stopping")
        if not self._residence.is_open(target.session):
            if self._residence.is_closed(target.session):
                raise SessionClosed(f"session {target.session} is closed")
            raise UnknownAddress(f"{target}: cell {self._cell} hosts no session {target.session!r}")
        made = self._roles.agent_class(target.role)
        durable = made.durable and target.session != SHARED
        remembered = Remembered(Restarts(RESTARTS)) if durable else None
        slot = self.slots[target] = Slot(target, made(), self._mailbox_bound, self._clock, remembered)
        return slot

    async def put_away(self, slots: Sequence[Slot]) -> None:
        """Cancel what agents are at, and refuse what waits for them. Their states stay in the journal."""
        for slot in slots:
            self.gone(slot)
        at_work = [task for slot in slots for task in slot.tasks()]
        for task in at_work:
            task.cancel()
        if at_work:
            await asyncio.wait(at_work, timeout=30)
        for slot in slots:
            left = slot.mailbox.clear()
            for envelope in left:
                if envelope.wants_reply:
                    self._fail(envelope, SessionClosed(f"{slot.address} was put away before it could answer"))
            if left and slot.remembered is None:
                log.warning("%s was put away with %d messages unread", slot.address, len(left))
            if not slot.ready:
                continue
            try:
                await slot.agent.on_deactivate()
            except Exception:
                log.exception("%s failed while it was put away", slot.address)

    async def put_idle_away(self, idle_s: float) -> int:
        """Put away agents that have had no mail for that long; returns how many. Their state stays.

        One that is not durable stays: what it knows would be lost. So does one that is kept awake.
        """
        now = time.monotonic()
        idle = [
            slot
            for slot in self.slots.values()
            if slot.remembered is not None
            and not slot.busy
            and now - slot.idle_since >= idle_s
            and slot.agent.may_rest()
            and not self.kept_awake[slot.address]
        ]
        await self.put_away(idle)
        return len(idle)

    def _left(self, envelope: Envelope) -> float:
        return max(0.0, envelope.deadline - self._clock.now())
