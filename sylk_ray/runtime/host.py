"""What lives inside a cell: it gives messages to agents and sends what they say. No Ray here: the transport, the
journal, the clock and the metrics are passed in."""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import msgspec

from sylk_ray.config import Settings
from sylk_ray.errors import SylkError
from sylk_ray.messaging import (
    SHARED,
    Address,
    CellLost,
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
from sylk_ray.runtime.history import HistoryGrew, Published
from sylk_ray.runtime.inbound import Inbound
from sylk_ray.runtime.journal import Journal, Journals, Mail
from sylk_ray.runtime.leases import FAIR_SHARE, Leases
from sylk_ray.runtime.links import Outgoing
from sylk_ray.runtime.locating import Locator
from sylk_ray.runtime.meter import Meter, MetricsSink, NoMetrics, RoleLevel
from sylk_ray.runtime.outbox import Awake, Outbox
from sylk_ray.runtime.peers import Peers
from sylk_ray.runtime.residence import Residence
from sylk_ray.runtime.roles import Roles
from sylk_ray.runtime.running import Runner
from sylk_ray.runtime.slots import AgentInfo, Remembered, Slot
from sylk_ray.runtime.supervision import RestartPolicy, Restarts
from sylk_ray.runtime.transport import Transport

ReplyT = TypeVar("ReplyT")

WINDOW = 4096
"""Messages of one ``tell_all`` that are encoded at once; two windows are under way."""
RESTARTS = RestartPolicy()

log = logging.getLogger("sylk.host")


class Host:
    """The agents of one cell. Everything here runs on the cell's event loop."""

    def __init__(
        self,
        cell: str,
        *,
        roles: Roles,
        transport: Transport,
        journals: Journals,
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
        self.on_peer_lost: list[Callable[[str], None]] = []
        """Called with the name of each cell that died."""
        self._roles = roles
        self._journals = journals
        self._epoch = uuid.uuid4().hex[:8]
        self._ids = itertools.count(1)
        self._slots: dict[Address, Slot] = {}
        self._me = Address(SHARED, "host", cell)
        self._peers = Peers(cell, self._epoch, transport, clock, self.peer_lost)
        self._asks = Asks(clock)
        self._locator = Locator(self.directory, self._ask_as_host)
        self._residence = Residence(cell, journals, clock, self._stalled)
        self._outbox = Outbox(self)
        self._runner = Runner(
            self,
            outbox=self._outbox,
            meter=self.meter,
            context=lambda address, envelope, effects: Context(self, address, envelope, effects),
            reply=self._reply,
            fail=self._fail,
            gone=self._gone,
            make=lambda address: self._roles.agent_class(address.role)(),
            held=self._residence.is_held,
        )
        self.leases = Leases(cell, self._tell_fair_share, clock.now)
        self._inbound = Inbound()
        self._nudged: set[str] = set()
        self._progress_at: dict[Address, float] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._stopping = False

    def _gone(self, slot: Slot) -> None:
        if self._slots.get(slot.address) is slot:
            del self._slots[slot.address]

    # -- sessions ---------------------------------------------------------------------------------------------

    async def open_session(self, binding: SessionBinding) -> None:
        """Host agents of a session from now on. Raises Fenced when this cell was replaced there, and JournalFull."""
        await self._residence.open(binding)
        self.directory.bind(binding)

    async def recover_session(self, session: str) -> None:
        """Bring back what a dead cell held of a session that is open here: all mail that waits is sent again, and
        every agent with a state comes to life wherever it lives now. Returns when that has begun."""
        journal = self._residence.journal(session)
        if journal is None:
            return
        for agent in await journal.agents():
            self._spawn(self._recover(agent, journal))

    async def _recover(self, agent: Address, journal: Journal) -> None:
        # An agent that comes to life finds its mail in the journal; what is sent again is for one that lives.
        try:
            await self._outbox.awaken(self._me, agent)
            for mail in (await journal.recall(agent)).mail:
                await self._outbox.resend(mail)
        except SylkError as error:
            log.warning("%s could not be brought back yet: %s", agent, error)

    def resend(self, mail: Mail) -> None:
        """Bring a revived dead letter to its receiver, in the background; should this cell die, it waits in the
        journal like all mail."""
        self._spawn(self._resend(mail))

    async def _resend(self, mail: Mail) -> None:
        await self._outbox.awaken(self._me, mail.target, again=mail.id)
        await self._outbox.resend(mail)

    async def suspend_session(self, session: str, grace_s: float) -> None:
        """Put a session's agents away so that they can go on elsewhere: what they are at may end within ``grace_s``
        seconds, and is done again from its last finished step otherwise."""
        self._residence.hold(session)
        busy = [task for slot in self._slots_of(session) for task in slot.tasks()]
        if busy:
            await asyncio.wait(busy, timeout=grace_s)
        await self.close_session(session)

    async def close_session(self, session: str) -> None:
        """Put the session's agents away; their handlers are cancelled, and its messages refused from now on. A cell
        where it was not open only forgets the ways there: the session may go on elsewhere."""
        if self._residence.journal(session) is None:
            self.forget_session(session)
            return
        self._residence.refuse(session)
        await self._put_away(self._slots_of(session))
        self._asks.fail_all(lambda ask: ask.asker.session == session, SessionClosed(f"session {session} was closed"))
        self.forget_session(session)
        await self._residence.close(session)

    def _slots_of(self, session: str) -> list[Slot]:
        return [slot for slot in self._slots.values() if slot.address.session == session]

    def forget_session(self, session: str) -> None:
        """Forget the ways to a session's agents: it is over, here or elsewhere."""
        self.directory.unbind(session)
        for key in [key for key in self._progress_at if key.session == session]:
            del self._progress_at[key]

    async def fence_off(self, session: str, cell: str) -> None:
        """Replace a cell as a writer of a session that is open here."""
        journal = self._residence.journal(session)
        if journal is not None:
            await journal.fence(cell)

    def fenced(self, session: str) -> None:
        """This cell was replaced in a session without knowing it: it stops all that it does there."""
        log.error("cell %s was replaced in session %s, and lets go of it", self.cell, session)
        self._residence.refuse(session)
        self._spawn(self.close_session(session))

    def _stalled(self, session: str, error: SylkError | None) -> None:
        told = {"reason": error.message, "hint": error.hint} if error is not None else {}
        kind = "session.stalled" if error is not None else "session.unstalled"
        event = Event(kind, session, "", told, 0, self.clock.now())
        self._spawn(self._tell_quietly(router_of(session), Published(event, passing=True)))

    async def stop(self, grace_s: float = 5.0) -> None:
        """Orderly end: activate nobody, let handlers finish for ``grace_s`` seconds and say what they have to say,
        then put every agent away."""
        self._stopping = True
        self.leases.close()
        busy = [task for slot in self._slots.values() for task in slot.tasks()]
        if busy:
            await asyncio.wait(busy, timeout=grace_s)
        await self._put_away(list(self._slots.values()))
        await self._peers.close(SessionClosed(f"cell {self.cell} stopped"), 1.0)
        for task in list(self._tasks):
            task.cancel()
        await self._journals.close()

    async def deactivate_idle(self, idle_s: float) -> int:
        """Put away agents that have had no mail for that long; returns how many. Their state stays.

        One that is not durable stays: what it knows would be lost.
        """
        now = time.monotonic()
        idle = [
            slot
            for slot in self._slots.values()
            if slot.remembered is not None
            and not slot.busy
            and now - slot.idle_since >= idle_s
            and slot.agent.may_rest()
        ]
        await self._put_away(idle)
        return len(idle)

    async def prune(self) -> None:
        """Let the journals forget what nobody needs."""
        await self._residence.prune()

    async def _put_away(self, slots: Sequence[Slot]) -> None:
        for slot in slots:
            self._gone(slot)
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

    # -- what agents say --------------------------------------------------------------------------------------

    async def tell(
        self, source: Address, target: Address, message: Message, *, timeout: float, direct: bool = False
    ) -> None:
        """See Context.tell and Context.tell_direct."""
        envelope = Envelope(self.next_id(), source, target, message, False, self.clock.now() + timeout)
        self.check_allowed(source, target, direct=direct)
        await self.send(envelope)

    async def tell_all(self, source: Address, target: Address, messages: Sequence[Message], *, timeout: float) -> None:
        """See Context.tell_all."""
        self.check_allowed(source, target)
        deadline = self.clock.now() + timeout
        envelopes = [Envelope(self.next_id(), source, target, message, False, deadline) for message in messages]
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
                under_way.append(self._spawn(self._peers.post(cell, window)))
                if len(under_way) == 2:
                    await under_way.pop(0)
        finally:
            for outcome in await asyncio.gather(*under_way, return_exceptions=True):
                if isinstance(outcome, BaseException):
                    raise outcome

    async def ask(
        self, source: Address, target: Address, message: Request[ReplyT], *, timeout: float, request_id: str = ""
    ) -> ReplyT:
        """See Context.ask."""
        self.check_allowed(source, target)
        request = Envelope(request_id or self.next_id(), source, target, message, True, self.clock.now() + timeout)
        ask = self._asks.open(request)
        reply = await self._asks.wait(request, ask, lambda: self.send(request), timeout)
        if isinstance(reply, msgspec.Raw):
            try:
                return msgspec.msgpack.decode(reply, type=reply_type(type(message)))
            except msgspec.DecodeError as problem:
                raise NotDecodable(f"the answer of {target} to {message.kind} does not decode: {problem}") from problem
        return cast("ReplyT", reply)

    async def _ask_as_host(self, target: Address, message: Request[Any], timeout: float) -> Any:
        return await self.ask(self._me, target, message, timeout=timeout)

    async def publish(self, source: Address, event: Event) -> None:
        """Put an event into the session's history; where its journal is not open, its router does that."""
        journal = self._residence.journal(event.session)
        if journal is None:
            await self.tell(source, router_of(event.session), Published(event), timeout=30)
            return
        await journal.add_events([event])
        self.happened(event.session)

    def happened(self, session: str) -> None:
        """Let the session's router know, soon, that its history has grown."""
        if session not in self._nudged:
            self._nudged.add(session)
            self._spawn(self._nudge(session))

    async def _nudge(self, session: str) -> None:
        await asyncio.sleep(0)
        self._nudged.discard(session)
        await self._tell_quietly(router_of(session), HistoryGrew())

    def progress(self, event: Event, every_s: float = 0.2) -> None:
        """Hand a passing event to the session's router; at most one each ``every_s`` seconds and task."""
        router = router_of(event.session)
        key = Address(event.session, "progress", event.task or "-")
        now = time.monotonic()
        if now - self._progress_at.get(key, 0.0) >= every_s:
            self._progress_at[key] = now
            self._spawn(self._tell_quietly(router, Published(event, passing=True)))

    def notify(self, source: Address, target: Address, message: Message) -> None:
        """See Context.notify."""
        self._spawn(self._tell_quietly(target, message, source))

    async def _tell_fair_share(self, message: Message) -> None:
        await self.tell(self._me, FAIR_SHARE, message, timeout=5)

    async def _tell_quietly(self, target: Address, message: Message, source: Address | None = None) -> None:
        try:
            await self.tell(source or target, target, message, timeout=1)
        except SylkError as error:
            log.debug("a passing event was dropped: %s", error)

    def check_allowed(self, source: Address, target: Address, *, direct: bool = False) -> None:
        """Raises NotAllowed when the one may not speak to the other, SessionClosed when the sender's is closed."""
        if source.session != target.session and SHARED not in (source.session, target.session):
            raise NotAllowed(
                f"{source} may not address {target}: it is of another session",
                hint="agents speak within their session, and with shared agents",
            )
        if direct and (source.session, source.name) != (target.session, target.name):
            raise NotAllowed(f"{source} and {target} share no pipeline; only a pipeline's own agents speak directly")
        if self._residence.is_closed(source.session):
            raise SessionClosed(f"session {source.session} is closed")

    def is_durable(self, target: Address) -> bool:
        """Whether mail to an agent of a session is kept; raises UnknownAddress for a role that there is not."""
        return target.session != SHARED and self._roles.agent_class(target.role).durable

    def journal_of(self, session: str) -> Journal | None:
        """The journal of a session that is open here."""
        return self._residence.journal(session)

    def next_id(self) -> str:
        """An id that no other message has."""
        return f"{self._epoch}-{next(self._ids)}"

    # -- sending ----------------------------------------------------------------------------------------------

    async def send(self, envelope: Envelope) -> None:
        """Bring it to its receiver's mailbox; raises a DeliveryError."""
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
                await self._peers.post(cell, [envelope])
                return
            except UnknownAddress:
                # The route may be an old one: the session's router knows better.
                self.directory.forget_route(target)
                if last:
                    raise

    def _left(self, envelope: Envelope) -> float:
        return max(0.0, envelope.deadline - self.clock.now())

    def peer_lost(self, cell: str) -> None:
        """A cell died: forget the way there and fail what waits for its answers."""
        self._peers.forget(cell)
        self._inbound.forget(cell)
        self.directory.forget_cell(cell)
        self._asks.fail_all(lambda ask: ask.cell == cell, CellLost(f"cell {cell} died before it answered"))
        for call in self.on_peer_lost:
            call(cell)

    async def _cell_of(self, target: Address, timeout: float) -> str:
        if target in self._slots:
            return self.cell
        if self._residence.is_closed(target.session):
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
        if isinstance(envelope.message, Awake):
            self._runner.awaken(slot, envelope.message.again)
            return
        spec = self._spec(slot, envelope)
        if self._runner.is_repeated(slot, envelope):
            return
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

    async def _deliver_here(self, envelope: Envelope) -> None:
        slot = self._slot_for(envelope.target)
        if isinstance(envelope.message, Awake):
            self._runner.awaken(slot, envelope.message.again)
            return
        spec = self._spec(slot, envelope)
        if self._runner.is_repeated(slot, envelope):
            return
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

    def _slot_for(self, target: Address) -> Slot:
        slot = self._slots.get(target)
        if slot is not None:
            return slot
        if self._stopping:
            raise SessionClosed(f"cell {self.cell} is stopping")
        if not self._residence.is_open(target.session):
            if self._residence.is_closed(target.session):
                raise SessionClosed(f"session {target.session} is closed")
            raise UnknownAddress(f"{target}: cell {self.cell} hosts no session {target.session!r}")
        made = self._roles.agent_class(target.role)
        durable = made.durable and target.session != SHARED
        remembered = Remembered(Restarts(RESTARTS)) if durable else None
        slot = self._slots[target] = Slot(target, made(), self.settings.mailbox_bound, self.clock, remembered)
        return slot

    def _spec(self, slot: Slot, envelope: Envelope) -> HandlerSpec:
        message: Message = envelope.message
        spec = slot.agent.handlers.get(type(message))
        if spec is None:
            kind = type(message).__name__
            raise NoHandler(f"{slot.address} does not understand {kind}, which {envelope.source} sent")
        return spec

    def _reply(self, request: Envelope, result: Any) -> None:
        self._answer(request, Envelope(self.next_id(), request.target, request.source, result, answers=request.id))

    def _fail(self, request: Envelope, error: SylkError) -> None:
        if request.wants_reply:
            answer = Envelope(self.next_id(), request.target, request.source, None, answers=request.id)
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
        self._peers.answer(request.origin, Outgoing(data, answer.source, answer.target, deadline, None))

    # -- watching ---------------------------------------------------------------------------------------------

    def agents(self) -> list[AgentInfo]:
        """Every living agent; safe to call from any thread."""
        return [slot.info(self.cell) for slot in list(self._slots.values())]

    def sessions(self) -> list[str]:
        """The sessions with a living agent here."""
        return sorted({address.session for address in list(self._slots)})

    def bindings(self) -> list[SessionBinding]:
        """The sessions that are open here."""
        return self._residence.bindings()

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
