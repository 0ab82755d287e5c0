"""What a handler can do with the world beyond its agent."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from sylk_ray.fairness import Lane
from sylk_ray.messaging import Address, Event, Message, Request, SessionClosed, current_trace
from sylk_ray.messaging.events import publisher
from sylk_ray.runtime.bus import SessionBus
from sylk_ray.runtime.effects import Effects, Told
from sylk_ray.runtime.journal import Journal, Mail
from sylk_ray.runtime.logs import AgentLog
from sylk_ray.runtime.steps import Retry, Steps

if TYPE_CHECKING:
    from sylk_ray.config import Settings
    from sylk_ray.messaging.wire import Envelope
    from sylk_ray.runtime.clock import Clock
    from sylk_ray.runtime.host import Host
    from sylk_ray.runtime.leases import Leases
    from sylk_ray.runtime.shelf import Shelf
    from sylk_ray.runtime.slots import AgentInfo

ReplyT = TypeVar("ReplyT")
ResultT = TypeVar("ResultT")

TELL_TIMEOUT_S = 30.0


class Context:
    """Passed to every handler. ``sender`` is who sent the message that is being handled."""

    __slots__ = ("_effects", "_envelope", "_host", "address")

    def __init__(
        self, host: Host, address: Address, envelope: Envelope | None = None, effects: Effects | None = None
    ) -> None:
        self._host = host
        self.address = address
        self._envelope = envelope
        self._effects = effects

    @property
    def sender(self) -> Address:
        """Who sent the message; the agent itself while it is being activated."""
        return self.address if self._envelope is None else self._envelope.source

    @property
    def deadline(self) -> float:
        """Until when the message that is being handled is waited for, as Unix time in seconds; 0 when nobody says."""
        return 0.0 if self._envelope is None else self._envelope.deadline

    @property
    def clock(self) -> Clock:
        """The runtime's clock."""
        return self._host.clock

    @property
    def settings(self) -> Settings:
        """The runtime's settings."""
        return self._host.settings

    @property
    def cell(self) -> str:
        """The id of the cell that the agent lives in."""
        return self._host.cell

    def neighbours(self) -> list[AgentInfo]:
        """Every living agent of this cell."""
        return self._host.agents()

    def session_over(self, session: str) -> None:
        """Tell this cell's host that a session is over elsewhere: it forgets the ways there."""
        self._host.forget_session(session)

    def on_cell_lost(self, call: Callable[[str], None]) -> Callable[[], None]:
        """Call it with the name of each cell that dies from now on; answers how to stop that."""
        listeners = self._host.on_peer_lost
        listeners.append(call)
        return lambda: listeners.remove(call) if call in listeners else None

    def keep_awake(self) -> Callable[[], None]:
        """Have the agent stay, however long it has had no mail: what it waits for would not wake it. Answers how to
        stop that, which is to be called once."""
        return self._host.keep_awake(self.address)

    def cell_died(self, cell: str) -> None:
        """Tell this cell's host that another cell died: what waits for it fails now."""
        self._host.peer_lost(cell)

    @property
    def log(self) -> AgentLog:
        """A logger whose lines begin with the agent, and with the trace that it works for."""
        return AgentLog(self.address)

    def measured(self, name: str, value: float, **labels: str) -> None:
        """Show a number as a metric; the keys of a name's labels are always the same."""
        self._host.metrics.measured(name, value, labels)

    @property
    def leases(self) -> Leases:
        """What this cell holds of FairShare."""
        return self._host.leases

    @property
    def shelf(self) -> Shelf:
        """Large bytes that this cell shares with others, and what they share."""
        return self._host.shelf

    @property
    def journal(self) -> Journal:
        """The session's journal; raises SessionClosed when the session is not open in this cell."""
        journal = self._host.journal_of(self.address.session)
        if journal is None:
            raise SessionClosed(f"session {self.address.session} is not open in cell {self._host.cell}")
        return journal

    def resend(self, mail: Mail) -> None:
        """Bring a revived dead letter to its receiver, in the background."""
        self._host.resend(mail)

    async def step(
        self,
        name: str,
        function: Callable[..., Awaitable[ResultT]],
        *arguments: Any,
        retry: Retry | None = None,
        mark: Callable[[], Awaitable[str]] | None = None,
        undo: Callable[[str], Awaitable[None]] | None = None,
        within: Callable[[], AbstractAsyncContextManager[None]] = contextlib.nullcontext,
        result: Any = None,
    ) -> ResultT:
        """Await ``function(*arguments)`` once, however often the handler runs: what it returned, or the SylkError that
        it raised, is recorded and comes again when the handler does.

        ``mark`` describes the outside world (a worktree's tree) in a word, before the step. One that was begun and did
        not finish is undone first: ``undo`` gets that mark. It is done ``within`` a context, which is entered before
        the journal is asked whether this cell may begin (a lease that is waited for, say). What the function publishes
        is recorded with its result. ``result`` is the result's type, if the function's annotation does not say it.
        Only handlers of durable agents have steps.
        """
        effects = self._effects
        if effects is None or effects.sealed:
            raise RuntimeError(f"{self.address} is not durable, or its handler is over: there is no step {name!r}")
        steps = Steps(self.journal, self.address, effects, self._host.clock, self._host.happened)
        return await steps.run(
            name, function, arguments, retry=retry, mark=mark, undo=undo, within=within, result_type=result
        )

    async def tell(self, target: Address, message: Message, *, timeout: float = TELL_TIMEOUT_S) -> None:
        """Send. From a handler of a durable agent it leaves when the handler has committed, and to another durable
        agent it is certain to arrive. From anywhere else it leaves at once: this returns when the receiver's mailbox
        has it, and raises a DeliveryError otherwise.

        A full mailbox holds the sender back for up to ``timeout`` seconds.
        """
        await self._tell(target, message, timeout, direct=False)

    async def tell_all(self, target: Address, messages: Sequence[Message], *, timeout: float = TELL_TIMEOUT_S) -> None:
        """Send many to one receiver, in order, as ``tell`` does."""
        if self._held_back:
            for message in messages:
                self._host.check_allowed(self.address, target, message)
            for message in messages:
                await self.tell(target, message, timeout=timeout)
        else:
            await self._host.tell_all(self.address, target, messages, timeout=timeout)

    async def ask(self, target: Address, message: Request[ReplyT], *, timeout: float = 30.0) -> ReplyT:
        """Send at once and wait for the answer, at most ``timeout`` seconds; raises a DeliveryError, or what the
        handler raised when that was a SylkError. A durable agent that asks another the same again, because its
        handler was cut off, gets the answer that there was."""
        effects = self._effects
        request_id = ""
        if effects is not None and not effects.sealed and self._host.is_durable(target):
            request_id = effects.request_id(target, message)
        return await self._host.ask(self.address, target, message, timeout=timeout, request_id=request_id)

    async def tell_direct(self, target: Address, message: Message, *, timeout: float = TELL_TIMEOUT_S) -> None:
        """Send past the session's router, to an agent of the same session and the same name: a pipeline's own bus."""
        await self._tell(target, message, timeout, direct=True)

    @property
    def bus(self) -> SessionBus:
        """The topics of the agent's own session."""
        return SessionBus(self)

    async def publish(
        self, kind: str, *, task: str = "", channel: str = "", priority: Lane = Lane.NORMAL, **data: Any
    ) -> None:
        """Record something that happened in the session's history, with the handler's commit if it has one.

        Its topic is ``session.{id}.{role}.{channel}``, where the channel is the kind's first word unless another is
        given, and ``session.{id}.status`` for jobs and sessions. An agent that serves all sessions publishes to
        ``{role}.{channel}``, which is passed on and not kept."""
        by, now = publisher(self.address.role, channel), self._host.clock.now()
        event = Event(kind, self.address.session, task, data, at=now, trace=current_trace(), by=by, priority=priority)
        effects = self._effects
        if effects is not None and not effects.sealed:
            effects.publish(event)
        else:
            await self._host.publish(self.address, event)

    @property
    def _held_back(self) -> bool:
        return self._effects is not None and not self._effects.sealed

    async def _tell(self, target: Address, message: Message, timeout: float, *, direct: bool) -> None:
        effects = self._effects
        if effects is None or effects.sealed:
            await self._host.tell(self.address, target, message, timeout=timeout, direct=direct)
            return
        self._host.check_allowed(self.address, target, message, direct=direct)
        self._host.is_durable(target)  # raises for a role that there is not
        effects.told.append(Told(target, message, timeout))

    def notify(self, target: Address, message: Message) -> None:
        """Send at once, also from a durable agent's handler, and do not care whether it arrives."""
        self._host.notify(self.address, target, message)

    def progress(self, line: str, *, task: str = "") -> None:
        """Show a line of what is going on. Passing: not kept, and dropped when there is too much of it."""
        by, now = publisher(self.address.role), self.clock.now()
        event = Event("task.progress", self.address.session, task, {"line": line}, 0, now, current_trace())
        self._host.progress(msgspec.structs.replace(event, by=by, priority=Lane.LOW))
