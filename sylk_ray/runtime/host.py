"""What lives inside a cell: it gives messages to agents and sends what they say. No Ray here: the transport, the
journal, the clock and the metrics are passed in."""

from __future__ import annotations

import asyncio
import itertools
import logging
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
    Message,
    NotAllowed,
    NotDecodable,
    Request,
    SessionClosed,
    UnknownAddress,
)
from sylk_ray.messaging.message import reply_type
from sylk_ray.messaging.trace import current_trail
from sylk_ray.messaging.wire import NO_MSGPACK, Envelope
from sylk_ray.runtime.answers import Answers
from sylk_ray.runtime.asks import Asks
from sylk_ray.runtime.clock import Clock
from sylk_ray.runtime.context import Context
from sylk_ray.runtime.directory import Directory, SessionBinding
from sylk_ray.runtime.inbound import Inbound
from sylk_ray.runtime.journal import Journal, Journals, Mail
from sylk_ray.runtime.leases import FAIR_SHARE, Leases
from sylk_ray.runtime.locating import Locator
from sylk_ray.runtime.meter import Meter, MetricsSink, NoMetrics, RoleLevel
from sylk_ray.runtime.outbox import Outbox
from sylk_ray.runtime.peers import Peers
from sylk_ray.runtime.publishing import Publishing
from sylk_ray.runtime.reception import Reception
from sylk_ray.runtime.residence import Residence
from sylk_ray.runtime.roles import Roles
from sylk_ray.runtime.running import Runner
from sylk_ray.runtime.shelf import LocalShelf, Shelf
from sylk_ray.runtime.slots import AgentInfo, Slot
from sylk_ray.runtime.transport import Transport

ReplyT = TypeVar("ReplyT")

WINDOW = 4096
"""Messages of one ``tell_all`` that are encoded at once; two windows are under way."""

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
        shelf: Shelf | None = None,
    ) -> None:
        self.cell = cell
        self.clock = clock
        self.settings = settings
        self.directory = Directory()
        self.meter = Meter()
        self.metrics: MetricsSink = metrics or NoMetrics()
        self.shelf: Shelf = shelf or LocalShelf(cell)
        self.on_peer_lost: list[Callable[[str], None]] = []
        """Called with the name of each cell that died."""
        self._roles = roles
        self._journals = journals
        self._epoch = uuid.uuid4().hex[:8]
        self._ids = itertools.count(1)
        self._me = Address(SHARED, "host", cell)
        self._peers = Peers(cell, self._epoch, transport, clock, self.peer_lost)
        self._asks = Asks(clock)
        self._locator = Locator(self.directory, self._ask_as_host)
        self._residence = Residence(cell, journals, clock, self._stalled)
        self._outbox = Outbox(self)
        answers = Answers(self._asks, self._peers, clock, self.next_id)
        self._runner = Runner(
            self,
            outbox=self._outbox,
            meter=self.meter,
            context=lambda address, envelope, effects: Context(self, address, envelope, effects),
            reply=answers.reply,
            fail=answers.fail,
            gone=self._gone,
            make=lambda address: self._roles.agent_class(address.role)(),
            held=self._residence.is_held,
            spawn=self._spawn,
        )
        self._reception = Reception(
            cell,
            roles=roles,
            residence=self._residence,
            runner=self._runner,
            settle=self._asks.settle,
            fail=answers.fail,
            clock=clock,
            mailbox_bound=settings.mailbox_bound,
        )
        self._slots = self._reception.slots
        self.leases = Leases(cell, self._tell_fair_share, clock.now)
        self._publishing = Publishing(
            self._residence,
            clock,
            tell=lambda source, target, message: self.tell(source, target, message, timeout=30),
            tell_quietly=self._tell_quietly,
            spawn=self._spawn,
        )
        self._tasks: set[asyncio.Task[Any]] = set()

    def _gone(self, slot: Slot) -> None:
        self._reception.gone(slot)

    # -- sessions ---------------------------------------------------------------------------------------------

    async def open_session(self, binding: SessionBinding) -> None:
        """Host agents of a session from now on. Raises Fenced when this cell was replaced there, and JournalFull."""
        await self._residence.open(binding)
        self.directory.bind(binding)

    async def recover_session(self, session: str) -> None:
        """Bring back what a dead cell held of a session that is open here: every agent with a state, or with mail,
        comes to life wherever it lives now, sends what it had not sent, and finds its mail in the journal. Returns
        when that has begun."""
        journal = self._residence.journal(session)
        if journal is None:
            return
        for agent in await journal.agents():
            self._spawn(self._outbox.awaken(self._me, agent))

    def resend(self, mail: Mail) -> None:
        """Bring a revived dead letter to its receiver, in the background; should this cell die, it waits in the
        journal like all mail."""
        self._spawn(self._resend(mail))

    async def _resend(self, mail: Mail) -> None:
        await self._outbox.awaken(self._me, mail.target, again=mail.id)
        error = await self._outbox.resend(mail)
        if error is not None:
            await self._outbox.bury(mail, error)

    async def suspend_session(self, session: str, grace_s: float) -> None:
        """Put a session's agents away so that they can go on elsewhere: what they are at may end within ``grace_s``
        seconds, and is done again from its last finished step otherwise."""
        self._residence.hold(session)
        busy = [task for slot in self._reception.slots_of(session) for task in slot.tasks()]
        if busy:
            await asyncio.wait(busy, timeout=grace_s)
        await self.close_session(session)

    async def close_session(self, session: str) -> None:
        """Put the session's agents away; their handlers are cancelled, and its messages refused from now on. A cell
        where it was not open only forgets the ways there: the session may go on elsewhere."""
        if not self._residence.is_here(session):
            self.forget_session(session)
            return
        self._residence.refuse(session)
        await self._reception.put_away(self._reception.slots_of(session))
        self._asks.fail_all(lambda ask: ask.asker.session == session, SessionClosed(f"session {session} was closed"))
        self.forget_session(session)
        await self._residence.close(session)

    def forget_session(self, session: str) -> None:
        """Forget the ways to a session's agents: it is over, here or elsewhere."""
        self.directory.unbind(session)
        self._publishing.forget(session)

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
        self._publishing.stalled(session, error)

    async def stop(self, grace_s: float = 5.0) -> None:
        """Orderly end: activate nobody, let handlers finish for ``grace_s`` seconds and say what they have to say,
        then put every agent away."""
        self._reception.close()
        self.leases.close()
        busy = [task for slot in self._slots.values() for task in slot.tasks()]
        if busy:
            await asyncio.wait(busy, timeout=grace_s)
        await self._reception.put_away(list(self._slots.values()))
        await self._peers.close(SessionClosed(f"cell {self.cell} stopped"), 1.0)
        for task in list(self._tasks):
            task.cancel()
        await self._journals.close()

    async def deactivate_idle(self, idle_s: float) -> int:
        """Put away durable agents that have had no mail for that long; returns how many. Their state stays."""
        return await self._reception.put_idle_away(idle_s)

    def keep_awake(self, address: Address) -> Callable[[], None]:
        """See Context.keep_awake."""
        kept = self._reception.kept_awake
        kept[address] += 1

        def let_rest() -> None:
            kept[address] -= 1
            if not kept[address]:
                del kept[address]

        return let_rest

    async def prune(self) -> None:
        """Let the journals forget what nobody needs."""
        await self._residence.prune()

    # -- what agents say --------------------------------------------------------------------------------------

    async def tell(
        self, source: Address, target: Address, message: Message, *, timeout: float, direct: bool = False
    ) -> None:
        """See Context.tell and Context.tell_direct."""
        trace, parent = current_trail()
        deadline = self.clock.now() + timeout
        envelope = Envelope(
            self.next_id(), source, target, message, False, deadline, "", "", None, trace, parent, message.priority
        )
        self.check_allowed(source, target, message, direct=direct)
        await self.send(envelope)

    async def tell_all(self, source: Address, target: Address, messages: Sequence[Message], *, timeout: float) -> None:
        """See Context.tell_all."""
        for message in messages:
            self.check_allowed(source, target, message)
        trace, parent = current_trail()
        deadline = self.clock.now() + timeout
        envelopes = [
            Envelope(
                self.next_id(), source, target, message, False, deadline, "", "", None, trace, parent, message.priority
            )
            for message in messages
        ]
        cell = await self._cell_of(target, timeout)
        if cell == self.cell:
            for envelope in envelopes:
                await self._reception.deliver(envelope)
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
        self.check_allowed(source, target, message)
        trace, parent = current_trail()
        id_, deadline = request_id or self.next_id(), self.clock.now() + timeout
        request = Envelope(id_, source, target, message, True, deadline, "", "", None, trace, parent, message.priority)
        ask = self._asks.open(request)
        reply = await self._asks.wait(request, ask, lambda: self.send(request), timeout)
        if isinstance(reply, msgspec.Raw):
            try:
                return msgspec.msgpack.decode(reply, type=reply_type(type(message)))
            except NO_MSGPACK as problem:
                raise NotDecodable(f"the answer of {target} to {message.kind} does not decode: {problem}") from problem
        return cast("ReplyT", reply)

    async def _ask_as_host(self, target: Address, message: Request[Any], timeout: float) -> Any:
        return await self.ask(self._me, target, message, timeout=timeout)

    async def publish(self, source: Address, event: Event) -> None:
        """Put an event into the session's history."""
        await self._publishing.publish(source, event)

    def happened(self, session: str) -> None:
        """The session's history has grown."""
        self._publishing.happened(session)

    def progress(self, event: Event) -> None:
        """Show a passing event."""
        self._publishing.progress(event)

    def notify(self, source: Address, target: Address, message: Message) -> None:
        """See Context.notify."""
        self._check_flow(source, target, message)
        self._spawn(self._tell_quietly(target, message, source))

    async def _tell_fair_share(self, message: Message) -> None:
        await self.tell(self._me, FAIR_SHARE, message, timeout=5)

    async def _tell_quietly(self, target: Address, message: Message, source: Address | None = None) -> bool:
        try:
            await self.tell(source or self._me, target, message, timeout=1)
        except SylkError as error:
            log.debug("%s to %s was dropped: %s", message.kind, target, error)
            return False
        return True

    def check_allowed(self, source: Address, target: Address, message: Message, *, direct: bool = False) -> None:
        """Raises NotAllowed when the one may not say that to the other, SessionClosed when the sender's is closed."""
        if source.session != target.session and SHARED not in (source.session, target.session):
            raise NotAllowed(
                f"{source} may not address {target}: it is of another session",
                hint="agents speak within their session, and with shared agents",
            )
        if direct and (source.session, source.name) != (target.session, target.name):
            raise NotAllowed(f"{source} and {target} share no pipeline; only a pipeline's own agents speak directly")
        self._check_flow(source, target, message)
        if self._residence.is_closed(source.session):
            raise SessionClosed(f"session {source.session} is closed")

    def _check_flow(self, source: Address, target: Address, message: Message) -> None:
        flow = message.flow
        if flow is not None and not flow.allows(source.role, target.role):
            raise NotAllowed(
                f"{source} may not say {message.kind} to {target}: it goes from {flow}",
                hint=f"see `sylk messages {message.kind}`",
            )

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
            await self._reception.deliver(envelope)
            return
        for last in (False, True):
            cell = await self._cell_of(target, self._left(envelope))
            if cell == self.cell:
                await self._reception.deliver(envelope)
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
        self._reception.forget_peer(cell)
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
        return self.accept(self.decode(payload))

    def accept(self, arrived: Inbound.Arrived) -> bytes:
        """Put each packet in its mailbox; returns the refusals. A batch seen before gets its first answer again."""
        return self._reception.accept(arrived)

    def decode(self, payload: bytes) -> Inbound.Arrived:
        """Decode a batch; safe on any thread, so that large ones do not hold up the loop."""
        return self._reception.inbound.decode(payload)

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
