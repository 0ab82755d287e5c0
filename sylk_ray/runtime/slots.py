"""One living agent in a host: its object, its mailbox, and whether it is at work."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import Any, Literal

import msgspec

from sylk_ray.errors import SylkError
from sylk_ray.messaging import Address
from sylk_ray.runtime.agent import Agent
from sylk_ray.runtime.clock import Clock
from sylk_ray.runtime.journal import Mail
from sylk_ray.runtime.mailbox import Mailbox
from sylk_ray.runtime.saving import Saved
from sylk_ray.runtime.supervision import Restarts

AgentState = Literal["activating", "idle", "busy"]


class AgentInfo(msgspec.Struct, frozen=True):
    """What ``sylk ps`` shows of an agent. ``depth`` counts messages waiting; ``handling`` is the kind at work."""

    address: str
    role: str
    session: str
    state: AgentState
    depth: int
    handled: int
    handling: str
    cell: str
    node: str = ""
    restarts: int = 0


class Remembered:
    """What a durable agent knows of its mail: what it has handled, and what it has in hand.

    ``handled`` maps a message's id to (until when it is remembered, the answer's msgpack if it was a request).
    ``unsent`` is what an earlier life of it committed and may not have sent, ``undelivered`` what nobody can take.
    """

    __slots__ = ("handled", "in_hand", "restarts", "saved", "undelivered", "unsent")

    PRUNE_AT = 2048

    def __init__(self, restarts: Restarts) -> None:
        self.handled: dict[str, tuple[float, bytes | None]] = {}
        self.in_hand: set[str] = set()
        self.saved = Saved()
        self.restarts = restarts
        self.unsent: deque[Mail] = deque()
        self.undelivered: deque[tuple[Mail, SylkError]] = deque()

    def note(self, message_id: str, until: float, reply: bytes | None, now: float) -> None:
        """A message was handled."""
        self.handled[message_id] = (until, reply)
        if len(self.handled) % self.PRUNE_AT == 0:
            for known in [known for known, (end, _) in self.handled.items() if end < now]:
                del self.handled[known]


class Slot:
    """The drain task exists only while there is mail: an idle agent costs its object and a deque."""

    __slots__ = (
        "activating",
        "address",
        "agent",
        "concurrent",
        "drain",
        "handled",
        "handling",
        "idle_since",
        "mailbox",
        "ready",
        "remembered",
    )

    def __init__(
        self, address: Address, agent: Agent[Any], bound: int, clock: Clock, remembered: Remembered | None = None
    ) -> None:
        self.address = address
        self.agent = agent
        self.mailbox = Mailbox(bound, clock)
        self.drain: asyncio.Task[None] | None = None
        self.concurrent: set[asyncio.Task[None]] = set()
        self.activating: asyncio.Task[None] | None = None
        self.ready = False
        self.handled = 0
        self.handling = ""
        self.idle_since = time.monotonic()
        self.remembered = remembered
        """None for an agent that is not durable."""

    @property
    def in_arrears(self) -> bool:
        """Whether something is to be done for mail of its own before the next message."""
        remembered = self.remembered
        return remembered is not None and bool(remembered.unsent or remembered.undelivered)

    @property
    def busy(self) -> bool:
        """Whether any handler is at work or waits for its turn."""
        return self.drain is not None or bool(self.concurrent)

    def tasks(self) -> list[asyncio.Task[None]]:
        """All that runs for the agent."""
        return [
            task for task in (self.activating, self.drain, *self.concurrent) if task is not None and not task.done()
        ]

    def info(self, cell: str) -> AgentInfo:
        """The agent as seen from outside."""
        state: AgentState = "activating" if not self.ready and self.busy else "busy" if self.busy else "idle"
        address = self.address
        return AgentInfo(
            str(address),
            address.role,
            address.session,
            state,
            len(self.mailbox),
            self.handled,
            self.handling,
            cell,
            restarts=self.remembered.restarts.count if self.remembered is not None else 0,
        )
