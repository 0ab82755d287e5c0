"""What a handler can do with the world beyond its agent."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from sylk_ray.messaging import Address, Event, Message, Request

if TYPE_CHECKING:
    from sylk_ray.config import Settings
    from sylk_ray.messaging.wire import Envelope
    from sylk_ray.runtime.clock import Clock
    from sylk_ray.runtime.host import Host
    from sylk_ray.runtime.slots import AgentInfo

ReplyT = TypeVar("ReplyT")

TELL_TIMEOUT_S = 30.0


class Context:
    """Passed to every handler. ``sender`` is who sent the message that is being handled."""

    __slots__ = ("_envelope", "_host", "address")

    def __init__(self, host: Host, address: Address, envelope: Envelope | None = None) -> None:
        self._host = host
        self.address = address
        self._envelope = envelope

    @property
    def sender(self) -> Address:
        """Who sent the message; the agent itself while it is being activated."""
        return self.address if self._envelope is None else self._envelope.source

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

    def cell_died(self, cell: str) -> None:
        """Tell this cell's host that another cell died: what waits for it fails now."""
        self._host.peer_lost(cell)

    @property
    def log(self) -> logging.LoggerAdapter[logging.Logger]:
        """A logger whose lines name the agent."""
        return logging.LoggerAdapter(logging.getLogger("sylk.agent"), {"agent": str(self.address)})

    async def tell(self, target: Address, message: Message, *, timeout: float = TELL_TIMEOUT_S) -> None:
        """Send and return once the receiver's mailbox has it; raises a DeliveryError otherwise.

        A full mailbox holds the sender back for up to ``timeout`` seconds.
        """
        await self._host.tell(self.address, target, message, timeout=timeout)

    async def tell_all(self, target: Address, messages: Sequence[Message], *, timeout: float = TELL_TIMEOUT_S) -> None:
        """Send many to one receiver, in order, and return once all are in its mailbox."""
        await self._host.tell_all(self.address, target, messages, timeout=timeout)

    async def ask(self, target: Address, message: Request[ReplyT], *, timeout: float = 30.0) -> ReplyT:
        """Send and wait for the answer, at most ``timeout`` seconds; raises a DeliveryError, or what the
        handler raised when that was a SylkError."""
        return await self._host.ask(self.address, target, message, timeout=timeout)

    async def tell_direct(self, target: Address, message: Message, *, timeout: float = TELL_TIMEOUT_S) -> None:
        """Send past the session's router, to an agent of the same session and the same name: a pipeline's own bus."""
        await self._host.tell(self.address, target, message, timeout=timeout, direct=True)

    async def publish(self, kind: str, *, task: str = "", **data: Any) -> None:
        """Record something that happened in the session's history; its router numbers and spreads it."""
        await self._host.publish(self.address, Event(kind, self.address.session, task, data, 0, self.clock.now()))

    def progress(self, line: str, *, task: str = "") -> None:
        """Show a line of what is going on. Passing: not kept, and dropped when there is too much of it."""
        self._host.progress(Event("task.progress", self.address.session, task, {"line": line}, 0, self.clock.now()))
