"""Where agents live, as one cell knows it: routes learnt from the sessions' routers and from the fleet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec

from sylk_ray.messaging import SHARED, Address, Message, Request, said_by

ROUTER = "router"
FLEET = Address(SHARED, "fleet", "main")
SYSTEM_CELL = "system"
DESK = "leases"
GATE = "gate"
EVERYWHERE = frozenset({DESK, GATE})
"""Roles of shared agents that each cell has one of, named after the cell."""
OF_THEIR_OWN = frozenset({"knowledge"})
"""Roles of shared agents that have a cell to themselves. The fleet makes it when it is first asked where it is."""

Density = Literal["packed", "session", "dedicated"]


class SessionBinding(msgspec.Struct, frozen=True):
    """What a cell must know of a session to host its agents: where its router lives, and how dense it is.

    ``fenced`` are cells that held agents of it and were replaced; they may write to its journal no more.
    """

    session: str
    router_cell: str
    density: Density = "packed"
    fenced: tuple[str, ...] = ()


def router_of(session: str) -> Address:
    """The address of a session's router."""
    return Address(session, ROUTER, "main")


class Located(msgspec.Struct, frozen=True):
    """The cell that hosts an agent, or will on its first message."""

    cell: str


class LocateSession(Request[SessionBinding], frozen=True):
    """Ask the fleet which cell hosts a session's router."""

    flow = said_by("host", to="fleet")

    session: str


class Place(Request[Located], frozen=True):
    """Ask the fleet for a cell for an agent; it answers the same for agents of one session and name."""

    flow = said_by("router", to="fleet")

    session: str
    role: str
    name: str


class Resolve(Request[Located], frozen=True):
    """Ask a session's router where one of its agents lives."""

    flow = said_by("host", to="router")

    role: str
    name: str


class PlaceShared(Request[Located], frozen=True):
    """Ask the fleet for the cell of a shared agent that has one to itself."""

    flow = said_by("host", to="fleet")

    role: str


class GroupDone(Message, frozen=True):
    """Tell a session's router that the agents which share this name are done with."""

    flow = said_by("pipeline", to="router")

    name: str


class Directory:
    """Routes of this cell: one table for the sessions that it hosts or speaks to, one for the shared agents."""

    def __init__(self) -> None:
        self._sessions: dict[str, SessionBinding] = {}
        self._routes: dict[Address, str] = {}
        self._shared: dict[str, str] = {"gateway": "gateway"}

    def bind(self, binding: SessionBinding) -> None:
        """Learn of a session."""
        self._sessions[binding.session] = binding
        self._routes[router_of(binding.session)] = binding.router_cell

    def unbind(self, session: str) -> None:
        """Forget a session and every route into it."""
        self._sessions.pop(session, None)
        self._forget(lambda address, _: address.session == session)

    def binding(self, session: str) -> SessionBinding | None:
        """What is known of a session."""
        return self._sessions.get(session)

    def route(self, address: Address) -> str | None:
        """The cell of an address, if it is known; shared agents live in the system cell unless told otherwise."""
        if address.session != SHARED or address.role in OF_THEIR_OWN:
            return self._routes.get(address)
        if address.role in EVERYWHERE:
            return address.name
        return self._routes.get(address) or self._shared.get(address.role, SYSTEM_CELL)

    def learn(self, address: Address, cell: str) -> None:
        """Remember where an agent lives."""
        self._routes[address] = cell

    def forget_route(self, address: Address) -> None:
        """A route proved wrong."""
        self._routes.pop(address, None)

    def forget_cell(self, cell: str) -> None:
        """A cell died: no route leads there any more."""
        self._forget(lambda _, known: known == cell)
        for session in [name for name, binding in self._sessions.items() if binding.router_cell == cell]:
            del self._sessions[session]

    def _forget(self, matches: Callable[[Address, str], bool]) -> None:
        for address in [address for address, cell in self._routes.items() if matches(address, cell)]:
            del self._routes[address]
