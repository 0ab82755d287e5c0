"""What lives inside a cell: it activates agents, delivers to them, runs their handlers one at a time, and sends
what they say. No Ray here: the transport, the journal, the clock and the metrics are passed in."""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
import traceback
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
from sylk_ray.runtime.clock import Clock
from sylk_ray.runtime.context import Context
from sylk_ray.runtime.directory import FLEET, Directory, LocateSession, Resolve, SessionBinding, router_of
from sylk_ray.runtime.history import Published
from sylk_ray.runtime.inbound import Inbound
from sylk_ray.runtime.journal import Journal, Transaction
from sylk_ray.runtime.links import Outgoing, PeerLink
from sylk_ray.runtime.meter import Meter, MetricsSink, NoMetrics, RoleLevel
from sylk_ray.runtime.receipts import CountedReceipt
from sylk_ray.runtime.roles import Roles
from sylk_ray.runtime.slots import AgentInfo, Slot
from sylk_ray.runtime.transport import Transport

ReplyT = TypeVar("ReplyT")

YIELD_EVERY = 64
"""Messages an agent handles before it lets the others have the loop."""
CONCURRENT_BOUND = 128

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
        self.directory = Directory(cell)
        self.meter = Meter()
        self.metrics: MetricsSink = metrics or NoMetrics()
        self._roles = roles
        self._transport = transport
        self._journal = journal
        self._epoch = uuid.uuid4().hex[:8]
        self._ids = itertools.count(1)
        self._slots: dict[Address, Slot] = {}
        self._links: dict[str, PeerLink] = {}
        self._asks: dict[str, tuple[asyncio.Future[Any], str, Address]] = {}
        self._locating: dict[Address, asyncio.Task[str]] = {}
        self._open: set[str] = {SHARED}
        self._closed: dict[str, None] = {}
        self._inbound = Inbound()
        self._progress_at: dict[Address, float] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._stopping = False

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
        while len(self._closed) > 10_000:
            self._closed.pop(next(iter(self._closed)))
        await self._put_away([slot for slot in self._slots.values() if slot.address.session == session])
        over = SessionClosed(f"session {session} was closed")
        for answer, _, asker in list(self._asks.values()):
            if asker.session == session and not answer.done():
                answer.set_exception(over)
        self.directory.unbind(session)
        await self._journal.forget(session)

    async def stop(self, grace_s: float = 5.0) -> None:
        """Orderly end: take no more mail, let handlers finish for ``grace_s`` seconds, put every agent away."""
        self._stopping = True
        busy = [slot.drain for slot in self._slots.values() if slot.drain is not None]
        if busy:
            await asyncio.wait(busy, timeout=grace_s)
        await self._put_away(list(self._slots.values()))
        for link in list(self._links.values()):
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
        at_work = [
            task for slot in slots for task in ([slot.drain] if slot.drain else []) + list(slot.concurrent or ())
        ]
        for task in at_work:
            task.cancel()
        if at_work:
            await asyncio.wait(at_work, timeout=10)
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
        await self._send(envelope, timeout)

    async def tell_all(self, source: Address, target: Address, messages: Sequence[Message], *, timeout: float) -> None:
        """See Context.tell_all."""
        self._check_allowed(source, target, False)
        deadline = self.clock.now() + timeout
        envelopes = [Envelope(self._next_id(), source, target, message, False, deadline) for message in messages]
        cell = await self._cell_of(target)
        if cell == self.cell:
            for envelope in envelopes:
                await self._deliver_here(envelope, timeout)
            return
        window = 8192
        for start in range(0, len(envelopes), window):
            await self._post(cell, envelopes[start : start + window], timeout)

    async def ask(self, source: Address, target: Address, message: Request[ReplyT], *, timeout: float) -> ReplyT:
        """See Context.ask."""
        self._check_allowed(source, target, False)
        identity = self._next_id()
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        envelope = Envelope(identity, source, target, message, True, self.clock.now() + timeout)
        self._asks[identity] = (answer, self.directory.route(target) or "", source)
        timer = self.clock.call_later(timeout, lambda: self._too_late(answer, envelope, timeout))
        try:
            await self._send(envelope, timeout)
            reply = await answer
        finally:
            timer.cancel()
            del self._asks[identity]
        if isinstance(reply, msgspec.Raw):
            try:
                return msgspec.msgpack.decode(reply, type=reply_type(type(message)))
            except msgspec.DecodeError as problem:
                raise NotDecodable(f"the answer of {target} to {message.kind} does not decode: {problem}") from problem
        return cast("ReplyT", reply)

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

    def _too_late(self, answer: asyncio.Future[Any], envelope: Envelope, timeout: float) -> None:
        if not answer.done():
            kind = type(envelope.message).__name__
            answer.set_exception(
                DeadlinePassed(
                    f"{envelope.target} did not answer {kind} within {timeout:g} s", hint="it may still be at it"
                )
            )

    def _check_allowed(self, source: Address, target: Address, direct: bool) -> None:
        if source.session != target.session and SHARED not in (source.session, target.session):
            raise NotAllowed(
                f"{source} may not address {target}: it is of another session",
                hint="agents speak within their session, and with shared agents",
            )
        if direct and (source.session, source.name) != (target.session, target.name):
            raise NotAllowed(f"{source} and {target} share no pipeline; only a pipeline's own agents speak directly")
        if self._stopping or (source.session in self._closed and source.session not in self._open):
            raise SessionClosed(f"session {source.session} is closed")

    def _next_id(self) -> str:
        return f"{self._epoch}-{next(self._ids)}"

    # -- sending ----------------------------------------------------------------------------------------------

    async def _send(self, envelope: Envelope, timeout: float) -> None:
        target = envelope.target
        if target in self._slots:
            await self._deliver_here(envelope, timeout)
            return
        for last in (False, True):
            cell = await self._cell_of(target)
            if cell == self.cell:
                await self._deliver_here(envelope, timeout)
                return
            if envelope.wants_reply and (asked := self._asks.get(envelope.id)):
                self._asks[envelope.id] = (asked[0], cell, asked[2])
            try:
                await self._post(cell, [envelope], timeout)
                return
            except UnknownAddress:
                # The route may be an old one: the session's router knows better.
                self.directory.forget_route(target)
                if last:
                    raise

    async def _post(self, cell: str, envelopes: Sequence[Envelope], timeout: float) -> None:
        receipt = CountedReceipt(len(envelopes))
        packets = [
            Outgoing(encode_envelope(envelope), envelope.source, envelope.target, envelope.deadline, receipt)
            for envelope in envelopes
        ]
        link = self._link(cell)
        for packet in packets:
            link.post(packet)
        late = DeadlinePassed(
            f"cell {cell} did not take {len(envelopes)} message(s) for {envelopes[0].target} within {timeout:g} s",
            hint="it may be blocked by a handler that does not await, see `sylk ps`",
        )
        timer = self.clock.call_later(timeout, lambda: receipt.give_up(late))
        try:
            await receipt.wait()
        finally:
            timer.cancel()

    def _link(self, cell: str) -> PeerLink:
        link = self._links.get(cell)
        if link is None:
            link = self._links[cell] = PeerLink(
                self.cell, self._epoch, cell, self._transport, self.clock, self.peer_lost
            )
        return link

    def peer_lost(self, cell: str) -> None:
        """A cell died: forget the way there and fail what waits for its answers."""
        self._links.pop(cell, None)
        self.directory.forget_cell(cell)
        for answer, asked, _ in list(self._asks.values()):
            if asked == cell and not answer.done():
                answer.set_exception(CellLost(f"cell {cell} died before it answered"))

    async def _cell_of(self, target: Address) -> str:
        if target in self._slots:
            return self.cell
        known = self.directory.route(target)
        if known is not None:
            return known
        if target.session in self._closed and target.session not in self._open:
            raise SessionClosed(f"session {target.session} is closed")
        locating = self._locating.get(target)
        if locating is None:
            locating = self._spawn(self._locate(target))
            self._locating[target] = locating
            locating.add_done_callback(lambda _: self._locating.pop(target, None))
        return await asyncio.shield(locating)

    async def _locate(self, target: Address) -> str:
        me = Address(SHARED, "host", self.cell)
        if self.directory.binding(target.session) is None:
            binding = await self.ask(me, FLEET, LocateSession(target.session), timeout=30)
            self.directory.bind(binding)
            if (route := self.directory.route(target)) is not None:
                return route
        located = await self.ask(me, router_of(target.session), Resolve(target.role, target.name), timeout=60)
        self.directory.learn(target, located.cell)
        return located.cell

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
        acknowledgement = encode_refusals(refusals)
        self._inbound.remember(arrived, acknowledgement)
        return acknowledgement

    def decode(self, payload: bytes) -> Inbound.Arrived:
        """Decode a batch; safe on any thread, so that large ones do not hold up the loop."""
        return self._inbound.decode(payload)

    def _accept_one(self, envelope: Envelope) -> None:
        if envelope.answers:
            self._settle_ask(envelope)
            return
        if isinstance(envelope.message, NotDecodable):
            raise envelope.message
        slot = self._slot_for(envelope.target)
        spec = self._spec(slot, envelope)
        if spec.concurrent:
            self._run_concurrent(slot, spec, envelope)
        elif slot.mailbox.offer(envelope):
            self._wake(slot)
        else:
            raise MailboxFull(f"{envelope.target} is full")

    async def _deliver_here(self, envelope: Envelope, timeout: float) -> None:
        slot = self._slot_for(envelope.target)
        spec = self._spec(slot, envelope)
        if spec.concurrent:
            self._run_concurrent(slot, spec, envelope)
            return
        if not slot.mailbox.offer(envelope):
            await slot.mailbox.put(envelope, timeout)
        self._wake(slot)

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

    def _settle_ask(self, envelope: Envelope) -> None:
        asked = self._asks.get(envelope.answers)
        if asked is None or asked[0].done():
            return
        if envelope.failure is not None:
            asked[0].set_exception(envelope.failure.error())
        else:
            asked[0].set_result(envelope.message)

    # -- running handlers -------------------------------------------------------------------------------------

    def _wake(self, slot: Slot) -> None:
        if slot.drain is None and len(slot.mailbox):
            slot.drain = asyncio.get_running_loop().create_task(self._drain(slot), name=str(slot.address))

    async def _drain(self, slot: Slot) -> None:
        try:
            if not slot.ready:
                await self._activate(slot)
            turns = 0
            while len(slot.mailbox):
                envelope = slot.mailbox.take()
                await self._handle(slot, slot.agent.handlers[type(envelope.message)], envelope)
                turns += 1
                if turns % YIELD_EVERY == 0:
                    await asyncio.sleep(0)
        except _ActivationFailed as failure:
            self._slots.pop(slot.address, None)
            for envelope in slot.mailbox.clear():
                self._fail(envelope, failure.error)
        finally:
            slot.drain = None
            slot.idle_since = time.monotonic()

    async def _activate(self, slot: Slot) -> None:
        try:
            state_type = slot.agent.state_type
            if state_type is not None:
                saved = await self._journal.state_of(slot.address)
                slot.agent.state = state_type() if saved is None else msgspec.msgpack.decode(saved, type=state_type)
            await slot.agent.on_activate(Context(self, slot.address))
        except Exception as problem:
            log.exception("%s could not be activated", slot.address)
            error = HandlerFailed(f"{slot.address} could not be activated: {problem}", hint=traceback.format_exc())
            raise _ActivationFailed(error) from problem
        slot.ready = True

    def _run_concurrent(self, slot: Slot, spec: HandlerSpec, envelope: Envelope) -> None:
        running = slot.concurrent
        if running is None:
            running = slot.concurrent = set()
        if len(running) >= CONCURRENT_BOUND:
            raise MailboxFull(f"{slot.address} runs {CONCURRENT_BOUND} concurrent handlers already")
        task = asyncio.get_running_loop().create_task(self._concurrently(slot, spec, envelope), name=str(slot.address))
        running.add(task)
        task.add_done_callback(running.discard)

    async def _concurrently(self, slot: Slot, spec: HandlerSpec, envelope: Envelope) -> None:
        try:
            if not slot.ready:
                await self._activate(slot)
            await self._handle(slot, spec, envelope)
        except _ActivationFailed as failure:
            self._slots.pop(slot.address, None)
            self._fail(envelope, failure.error)
        finally:
            slot.idle_since = time.monotonic()

    async def _handle(self, slot: Slot, spec: HandlerSpec, envelope: Envelope) -> None:
        address = slot.address
        if self._journal.is_handled(address, envelope.id):
            return
        if envelope.wants_reply and envelope.deadline and self.clock.now() > envelope.deadline:
            self._fail(envelope, DeadlinePassed(f"{address} came to {envelope.message.kind} after its deadline"))
            return
        context = Context(self, address, envelope)
        slot.handling = type(envelope.message).__name__
        started = time.perf_counter()
        failed = True
        try:
            result = await spec.function(slot.agent, envelope.message, context)
            state = msgspec.msgpack.encode(slot.agent.state) if slot.agent.state_type is not None else None
            await self._journal.commit(Transaction(address, envelope.id, state))
            failed = False
        except SylkError as error:
            await self._failed(slot, envelope, error, error, context)
        except Exception as problem:
            trace = traceback.format_exc()
            log.error("%s failed on %s:\n%s", address, slot.handling, trace)  # noqa: TRY400
            error = HandlerFailed(f"{address} failed on {slot.handling}: {problem!r}\n{trace}")
            await self._failed(slot, envelope, error, problem, context)
        else:
            if envelope.wants_reply:
                self._reply(envelope, result)
        finally:
            slot.handling = ""
            slot.handled += 1
            self.meter.handled(address.session, address.role, time.perf_counter() - started, failed)

    async def _failed(
        self, slot: Slot, envelope: Envelope, error: SylkError, raised: Exception, context: Context
    ) -> None:
        if envelope.wants_reply:
            self._fail(envelope, error)
        elif error is raised:
            log.warning("%s could not do %s: %s", slot.address, slot.handling, error)
        try:
            await slot.agent.on_failure(envelope.message, raised, context)
        except Exception:
            log.exception("%s failed in on_failure", slot.address)

    def _reply(self, request: Envelope, result: Any) -> None:
        self._answer(request, Envelope(self._next_id(), request.target, request.source, result, answers=request.id))

    def _fail(self, request: Envelope, error: SylkError) -> None:
        if request.wants_reply:
            answer = Envelope(self._next_id(), request.target, request.source, None, answers=request.id)
            answer.failure = Failure.of(error)
            self._answer(request, answer)

    def _answer(self, request: Envelope, answer: Envelope) -> None:
        if not request.origin:
            self._settle_ask(answer)
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


class _ActivationFailed(Exception):
    def __init__(self, error: SylkError) -> None:
        self.error = error
