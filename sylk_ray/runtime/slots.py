"""One living agent in a host: its object, its mailbox, and whether it is at work."""

from __future__ import annotations

import asyncio
import time
from typing import Any, Literal

import msgspec

from sylk_ray.messaging import Address
from sylk_ray.runtime.agent import Agent
from sylk_ray.runtime.clock import Clock
from sylk_ray.runtime.mailbox import Mailbox

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
    )

    def __init__(self, address: Address, agent: Agent[Any], bound: int, clock: Clock) -> None:
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
            str(address), address.role, address.session, state, len(self.mailbox), self.handled, self.handling, cell
        )
