"""A session's durable record, as the runtime sees it, and the one that lives in memory.

A handler's effects commit as one ``Transaction``. What the runtime asks of a journal is small on purpose: every
durable implementation has to pass the same conformance tests.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Protocol

import msgspec

from sylk_ray.messaging import Address


class Transaction(msgspec.Struct, frozen=True):
    """What one handled message changed: the agent's new state, and that the message is done."""

    agent: Address
    message_id: str
    state: bytes | None
    """The state's msgpack; None when the agent keeps none."""


class Journal(Protocol):
    """Where transactions go. Every method is quick enough for the event loop, or awaits."""

    async def commit(self, transaction: Transaction) -> None:
        """Record it whole or not at all; returns when it is as durable as this journal makes things."""
        ...

    async def state_of(self, agent: Address) -> bytes | None:
        """The last committed state of an agent."""
        ...

    def is_handled(self, agent: Address, message_id: str) -> bool:
        """Whether the agent has committed the handling of that message."""
        ...

    async def forget(self, session: str) -> None:
        """Drop all that is recorded of a session."""
        ...


class MemoryJournal:
    """A journal that lasts as long as its process. Remembers the last ``remembered`` handled messages an agent."""

    def __init__(self, remembered: int = 1024) -> None:
        self._remembered = remembered
        self._states: dict[Address, bytes] = {}
        self._handled: dict[Address, OrderedDict[str, None]] = {}

    async def commit(self, transaction: Transaction) -> None:
        """Record it."""
        if transaction.state is not None:
            self._states[transaction.agent] = transaction.state
        handled = self._handled.get(transaction.agent)
        if handled is None:
            handled = self._handled[transaction.agent] = OrderedDict()
        handled[transaction.message_id] = None
        if len(handled) > self._remembered:
            handled.popitem(last=False)

    async def state_of(self, agent: Address) -> bytes | None:
        """The last committed state of an agent."""
        return self._states.get(agent)

    def is_handled(self, agent: Address, message_id: str) -> bool:
        """Whether the agent has committed the handling of that message."""
        handled = self._handled.get(agent)
        return handled is not None and message_id in handled

    async def forget(self, session: str) -> None:
        """Drop all that is recorded of a session."""
        for kept in (self._states, self._handled):
            for agent in [agent for agent in kept if agent.session == session]:
                del kept[agent]
