"""What lives inside a cell: it gives messages to agents and sends what they say. No Ray here: the transport, the
journal, the clock and the metrics are passed in."""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
import uuid
from collections.abc import Sequence
from typing import Any, TypeVar, cast

import msgspec

from sylk_ray.config import Settings
from sylk_ray.errors import SylkError
from sylk_ray.messaging import (
    SHARED,
    Address,
    CellLost,
    DeadlinePassed,
    Event,
    HandlerFailed,
    MailboxFull,
    Message,
    NoHandler,
    NotAllowed,
    NotDecodable,
    Request,
    SessionClosed,
    UnknownAddress,
)
from sylk_ray.messaging.message import reply_type
from sylk_ray.messaging.wire import Envelope, Failure, Refusal, encode_envelope, encode_refusals
from sylk_ray.runtime.agent import HandlerSpec
from sylk_ray.runtime.asks import Asks
from sylk_ray.runtime.clock import Clock
from sylk_ray.runtime.context import Context
from sylk_ray.runtime.directory import Directory, SessionBinding, router_of
from sylk_ray.runtime.history import Published
from sylk_ray.runtime.inbound import Inbound
from sylk_ray.runtime.journal import Journal
from sylk_ray.runtime.links import Outgoing, PeerLink
from sylk_ray.runtime.locating import Locator
from sylk_ray.runtime.meter import Meter, MetricsSink, NoMetrics, RoleLevel
from sylk_ray.runtime.receipts import CountedReceipt
from sylk_ray.runtime.roles import Roles
from sylk_ray.runtime.running import Runner
from sylk_ray.runtime.slots import AgentInfo, Slot
from sylk_ray.runtime.transport import Transport

ReplyT = TypeVar("ReplyT")

WINDOW = 4096
"""Messages of one ``tell_all`` that are encoded at once; two windows are under way."""
REMEMBERED_CLOSED = 10_000

log = logging.getLogger("sylk.host")


class Host:
    """The agents of one cell. Everything here runs on the cell's event loop."""

    def __init__(
        self,
        cell: str,
        *,
        roles: Roles,
        transport: Transport,
        journal: Journal,
        clock: Clock,
        settings: Settings,
        metrics: MetricsSink | None = None,
    ) -> None:
        self.cell = cell
        self.clock = clock
        self.settings = settings
        self.directory = Directory()
        self.meter = Meter()
        self.metrics: MetricsSink = metrics or NoMetrics()
        self._roles = roles
        self._transport = transport
        self._journal = journal
        self._epoch = uuid.uuid4().hex[:8]
        self._ids = itertools.count(1)
        self._slots: dict[Address, Slot] = {}
        self._links: dict[str, PeerLink] = {}
        self._me = Address(SHARED, "host", cell)
        self._asks = Asks(clock)
        self._locator = Locator(self.directory, self._ask_as_host)
        self._runner = Runner(
            journal=journal,
            clock=clock,
            meter=self.meter,
            context=lambda address, envelope: Context(self, address, envelope),
            reply=self._reply,
            fail=self._fail,
            gone=self._gone,
        )
        self._open: set[str] = {SHARED}
        self._closed: dict[str, None] = {}
        self._inbound = Inbound()
        self._progress_at: dict[Address, float] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._stopping = False

    def _gone(self, slot: Slot) -> None:
        self._slots.pop(slot.address, None)

    # -- sessions ---------------------------------------------------------------------------------------------

    def open_session(self, binding: SessionBinding) -> None:
        """Host agents of a session from now on."""
        self.directory.bind(binding)
        self._open.add(binding.session)
        self._closed.pop(binding.session, None)

    async def close_session(self, session: str) -> None:
        """Put the session's agents away; their handlers are cancelled, and its messages refused from now on."""
        self._open.discard(session)
        self._closed[session] = None
        while len(self._closed) > REMEMBERED_CLOSED:
            self._closed.pop(next(iter(self._closed)))
        await self._put_away([slot for slot in self._slots.values() if slot.address.session == session])
        self._asks.fail_all(lambda ask: ask.asker.session == session, SessionClosed(f"session {session} was closed"))
        self.forget_session(session)
        await self._journal.forget(session)

    def forget_session(self, session: str) -> None:
        """Forget the ways to a session's agents: it is over, here or elsewhere."""
        self.directory.unbind(session)
        for key in [key for key in self._progress_at if key.session == session]:
            del self._progress_at[key]

    async def stop(self, grace_s: float = 5.0) -> None:
        """Orderly end: activate nobody, let handlers finish for ``grace_s`` seconds and say what they have to say,
        then put every agent away."""
        self._stopping = True
        busy = [task for slot in self._slots.values() for task in slot.tasks()]
        if busy:
            await asyncio.wait(busy, timeout=grace_s)
        await self._put_away(list(self._slots.values()))
        for link in list(self._links.values()):
            await link.flush(1.0)
            link.close(SessionClosed(f"cell {self.cell} stopped"))
        for task in list(self._tasks):
            task.cancel()

    async def deactivate_idle(self, idle_s: float) -> int:
        """Put away agents that have had no mail for that long; returns how many. Their state stays.

        One that keeps things in its attributes stays: they would be lost.
        """
        now = time.monotonic()
        idle = [
            slot
            for slot in self._slots.values()
            if (slot.agent.state_type is not None or slot.agent.keeps_nothing)
            and not slot.busy
            and now - slot.idle_since >= idle_s
        ]
        await self._put_away(idle)
        return len(idle)

    async def _put_away(self, slots: Sequence[Slot]) -> None:
        for slot in slots:
            self._slots.pop(slot.address, None)
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
            if left:
                log.warning("%s was put away with %d messages unread", slot.address, len(left))
            if not slot.ready:
                continue
            try:
                await slot.agent.on_deactivate()
            except Exception:
                log.exception("%s failed while it was put away", slot.address)

    # -- what agents say --------------------------------------------------------------------------------------

    async def tell(
        self, source: Address, target: Address, message: Message, *, timeout: float, direct: bool = False
    ) -> None:
        """See Context.tell and Context.tell_direct."""
        envelope = Envelope(self._next_id(), source, target, message, False, self.clock.now() + timeout)
        self._check_allowed(source, target, direct)
        await self._send(envelope)

    async def tell_all(self, source: Address, target: Address, messages: Sequence[Message], *, timeout: float) -> None:
        """See Context.tell_all."""
        self._check_allowed(source, target, False)
        deadline = self.clock.now() + timeout
        envelopes = [Envelope(self._next_id(), source, target, message, False, deadline) for message in messages]
        cell = await self._cell_of(target, timeout)
        if cell == self.cell:
            for envelope in envelopes:
                await self._deliver_here(envelope)
            return
        # The next window is encoded while the peer takes the one before it.
        windows = [envelopes[start : start + WINDOW] for start in range(0, len(envelopes), WINDOW)]
        under_way: list[asyncio.Task[None]] = []
        try:
            for window in windows:
                under_way.append(self._spawn(self._post(cell, window)))
                if len(under_way) == 2:
                    await under_way.pop(0)
        finally:
            for outcome in await asyncio.gather(*under_way, return_exceptions=True):
                if isinstance(outcome, BaseException):
                    raise outcome

    async def ask(self, source: Address, target: Address, message: Request[ReplyT], *, timeout: float) -> ReplyT:
        """See Context.ask."""
        self._check_allowed(source, target, False)
        request = Envelope(self._next_id(), source, target, message, True, self.clock.now() + timeout)
        ask = self._asks.open(request)
        reply = await self._asks.wait(request, ask, lambda: self._send(request), timeout)
        if isinstance(reply, msgspec.Raw):
            try:
                return msgspec.msgpack.decode(reply, type=reply_type(type(message)))
            except msgspec.DecodeError as problem:
                raise NotDecodable(f"the answer of {target} to {message.kind} does not decode: {problem}") from problem
        return cast("ReplyT", reply)

    async def _ask_as_host(self, target: Address, message: Request[Any], timeout: float) -> Any:
        return await self.ask(self._me, target, message, timeout=timeout)

    async def publish(self, source: Address, event: Event) -> None:
        """Hand an event to the session's router, which numbers it and spreads it."""
        await self.tell(source, router_of(source.session), Published(event), timeout=30)

    def progress(self, event: Event, every_s: float = 0.2) -> None:
        """Hand a passing event to the session's router; at most one each ``every_s`` seconds and task."""
        router = router_of(event.session)
        key = Address(event.session, "progress", event.task or "-")
        now = time.monotonic()
        if now - self._progress_at.get(key, 0.0) >= every_s:
            self._progress_at[key] = now
            self._spawn(self._tell_quietly(router, Published(event, passing=True)))

    async def _tell_quietly(self, target: Address, message: Message) -> None:
        try:
            await self.tell(target, target, message, timeout=1)
        except SylkError as error:
            log.debug("a passing event was dropped: %s", error)

    def _check_allowed(self, source: Address, target: Address, direct: bool) -> None:
        if source.session != target.session and SHARED not in (source.session, target.session):
            raise NotAllowed(
                f"{source} may not address {target}: it is of another session",
                hint="agents speak within their session, and with shared agents",
            )
        if direct and (source.session, source.name) != (target.session, target.name):
            raise NotAllowed(f"{source} and {target} share no pipeline; only a pipeline's own agents speak directly")
        if source.session in self._closed and source.session not in self._open:
            raise SessionClosed(f"session {source.session} is closed")

    def _next_id(self) -> str:
        return f"{self._epoch}-{next(self._ids)}"

    # -- sending ----------------------------------------------------------------------------------------------

    async def _send(self, envelope: Envelope) -> None:
        target = envelope.target
        if target in self._slots:
            await self._deliver_here(envelope)
            return
        for last in (False, True):
            cell = await self._cell_of(target, self._left(envelope))
            if cell == self.cell:
                await self._deliver_here(envelope)
                return
            self._asks.asked(envelope, cell)
            try:
                await self._post(cell, [envelope])
                return
            except UnknownAddress:
                # The route may be an old one: the session's router knows better.
                self.directory.forget_route(target)
                if last:
                    raise

    async def _post(self, cell: str, envelopes: Sequence[Envelope]) -> None:
        receipt = CountedReceipt(len(envelopes))
        packets = [
            Outgoing(encode_envelope(envelope), envelope.source, envelope.target, envelope.deadline, receipt)
            for envelope in envelopes
        ]
        link = self._link(cell)
        for packet in packets:
            link.post(packet)
        late = DeadlinePassed(
            f"cell {cell} did not take {len(envelopes)} message(s) for {envelopes[0].target} in time",
            hint="it may be blocked by a handler that does not await, see `sylk ps`",
        )
        timer = self.clock.call_later(self._left(envelopes[0]), lambda: receipt.give_up(late))
        try:
            await receipt.wait()
        finally:
            timer.cancel()

    def _left(self, envelope: Envelope) -> float:
        return max(0.0, envelope.deadline - self.clock.now())

    def _link(self, cell: str) -> PeerLink:
        link = self._links.get(cell)
        if link is None:
            # An epoch of its own: a link that is made anew counts from one, and a peer that never died
            # must not take its batches for repeated ones.
            epoch = f"{self._epoch}.{next(self._ids)}"
            link = self._links[cell] = PeerLink(self.cell, epoch, cell, self._transport, self.clock, self._link_lost)
        return link

    def _link_lost(self, link: PeerLink) -> None:
        if self._links.get(link.peer) is link:
            self.peer_lost(link.peer)

    def peer_lost(self, cell: str) -> None:
        """A cell died: forget the way there and fail what waits for its answers."""
        link = self._links.pop(cell, None)
        if link is not None:
            link.close(CellLost(f"cell {cell} died"))
        self._inbound.forget(cell)
        self.directory.forget_cell(cell)
        self._asks.fail_all(lambda ask: ask.cell == cell, CellLost(f"cell {cell} died before it answered"))

    async def _cell_of(self, target: Address, timeout: float) -> str:
        if target in self._slots:
            return self.cell
        if target.session in self._closed and target.session not in self._open:
            raise SessionClosed(f"session {target.session} is closed")
        return await self._locator.cell_of(target, timeout)

    # -- receiving --------------------------------------------------------------------------------------------

    async def receive(self, payload: bytes) -> bytes:
        """A batch from a peer: decode it and accept what can be accepted. See ``accept``."""
        return self.accept(self._inbound.decode(payload))

    def accept(self, arrived: Inbound.Arrived) -> bytes:
        """Put each packet in its mailbox; returns the refusals. A batch seen before gets its first answer again.

        When a receiver is full, all that follows to it in the batch is refused as well, so that order holds.
        """
        if (seen := self._inbound.seen(arrived)) is not None:
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
        self._inbound.remember(arrived, acknowledgement)
        return acknowledgement

    def decode(self, payload: bytes) -> Inbound.Arrived:
        """Decode a batch; safe on any thread, so that large ones do not hold up the loop."""
        return self._inbound.decode(payload)

    def _accept_one(self, envelope: Envelope) -> None:
        if envelope.answers:
            self._asks.settle(envelope)
            return
        if isinstance(envelope.message, NotDecodable):
            raise envelope.message
        slot = self._slot_for(envelope.target)
        spec = self._spec(slot, envelope)
        if spec.concurrent:
            self._runner.start_concurrent(slot, spec, envelope)
        elif slot.mailbox.offer(envelope):
            self._runner.wake(slot)
        else:
            raise MailboxFull(f"{envelope.target} is full")

    async def _deliver_here(self, envelope: Envelope) -> None:
        slot = self._slot_for(envelope.target)
        spec = self._spec(slot, envelope)
        if spec.concurrent:
            await self._start_concurrent_in_turn(slot, spec, envelope)
            return
        if not slot.mailbox.offer(envelope):
            await slot.mailbox.put(envelope, self._left(envelope))
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

    def _slot_for(self, target: Address) -> Slot:
        slot = self._slots.get(target)
        if slot is not None:
            return slot
        if self._stopping:
            raise SessionClosed(f"cell {self.cell} is stopping")
        if target.session not in self._open:
            if target.session in self._closed:
                raise SessionClosed(f"session {target.session} is closed")
            raise UnknownAddress(f"{target}: cell {self.cell} hosts no session {target.session!r}")
        agent = self._roles.agent_class(target.role)()
        slot = self._slots[target] = Slot(target, agent, self.settings.mailbox_bound, self.clock)
        return slot

    def _spec(self, slot: Slot, envelope: Envelope) -> HandlerSpec:
        message: Message = envelope.message
        spec = slot.agent.handlers.get(type(message))
        if spec is None:
            kind = type(message).__name__
            raise NoHandler(f"{slot.address} does not understand {kind}, which {envelope.source} sent")
        return spec

    def _reply(self, request: Envelope, result: Any) -> None:
        self._answer(request, Envelope(self._next_id(), request.target, request.source, result, answers=request.id))

    def _fail(self, request: Envelope, error: SylkError) -> None:
        if request.wants_reply:
            answer = Envelope(self._next_id(), request.target, request.source, None, answers=request.id)
            answer.failure = Failure.of(error)
            self._answer(request, answer)

    def _answer(self, request: Envelope, answer: Envelope) -> None:
        if not request.origin:
            self._asks.settle(answer)
            return
        try:
            data = encode_envelope(answer)
        except SylkError as error:
            answer.message, answer.failure = None, Failure.of(error)
            data = encode_envelope(answer)
        deadline = request.deadline or self.clock.now() + 30
        self._link(request.origin).post(Outgoing(data, answer.source, answer.target, deadline, None))

    # -- watching ---------------------------------------------------------------------------------------------

    def agents(self) -> list[AgentInfo]:
        """Every living agent; safe to call from any thread."""
        return [slot.info(self.cell) for slot in list(self._slots.values())]

    def sessions(self) -> list[str]:
        """The sessions with a living agent here."""
        return sorted({address.session for address in list(self._slots)})

    def report(self) -> None:
        """Hand the metrics to their sink."""
        self.meter.report(self.metrics)
        levels: dict[tuple[str, str], RoleLevel] = {}
        for slot in self._slots.values():
            level = levels.setdefault((slot.address.session, slot.address.role), RoleLevel())
            level.active += 1
            level.depth += len(slot.mailbox)
        self.metrics.levels(levels)

    def _spawn(self, work: Any) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
