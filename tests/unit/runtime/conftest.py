"""Hosts joined in one process, and a few agents to put in them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import msgspec
import pytest

from sylk_ray.config import Settings
from sylk_ray.messaging import SHARED, Address, Event, Message, Request
from sylk_ray.runtime import (
    Agent,
    Clock,
    Context,
    Host,
    LocalTransport,
    MemoryJournals,
    Roles,
    SessionBinding,
    SystemClock,
    handler,
)
from sylk_ray.runtime.directory import FLEET, Located, LocateSession, Resolve, router_of
from sylk_ray.runtime.history import HistoryGrew, Published


class Add(Message, frozen=True):
    number: int
    note: str = ""


class Total(Request[int], frozen=True):
    pass


class Numbers(Request[list[int]], frozen=True):
    pass


class Boom(Request[int], frozen=True):
    pass


class Slow(Request[str], frozen=True):
    pass


class Peek(Request[str], frozen=True):
    pass


class Forward(Request[int], frozen=True):
    target: Address


class Blob(Request[int], frozen=True):
    data: bytes


class Anything(Message, frozen=True):
    value: object


class CounterState(msgspec.Struct):
    numbers: list[int] = []


class Counter(Agent[CounterState]):
    role = "counter"

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.gate.set()
        self.activated = 0

    async def on_activate(self, ctx: Context) -> None:
        await asyncio.sleep(0)
        self.activated += 1

    @handler()
    async def add(self, message: Add, ctx: Context) -> None:
        await self.gate.wait()
        self.state.numbers.append(message.number)

    @handler()
    async def total(self, message: Total, ctx: Context) -> int:
        return sum(self.state.numbers)

    @handler()
    async def numbers(self, message: Numbers, ctx: Context) -> list[int]:
        return self.state.numbers

    @handler()
    async def boom(self, message: Boom, ctx: Context) -> int:
        raise ValueError("the roof is on fire")

    @handler()
    async def slow(self, message: Slow, ctx: Context) -> str:
        await asyncio.Event().wait()
        return "never"

    @handler(concurrent=True)
    async def peek(self, message: Peek, ctx: Context) -> str:
        return "open" if self.gate.is_set() else "shut"

    @handler()
    async def forward(self, message: Forward, ctx: Context) -> int:
        return await ctx.ask(message.target, Total(), timeout=5)

    @handler()
    async def blob(self, message: Blob, ctx: Context) -> int:
        return len(message.data)


class Broken(Counter):
    """Cannot even be made."""

    def __init__(self) -> None:
        raise OSError("no")


class FakeRouter(Agent[None]):
    """Knows from the test where agents live; keeps what is published."""

    role = "router"
    places: dict[Address, str] = {}
    events: list[Event] = []

    @handler()
    async def resolve(self, message: Resolve, ctx: Context) -> Located:
        return Located(self.places.get(Address(ctx.address.session, message.role, message.name), ctx.cell))

    @handler()
    async def published(self, message: Published, ctx: Context) -> None:
        self.events.append(message.event)

    @handler()
    async def grew(self, message: HistoryGrew, ctx: Context) -> None:
        self.events[:] = await ctx.journal.events(0)


class FakeFleet(Agent[None]):
    role = "fleet"

    @handler()
    async def locate(self, message: LocateSession, ctx: Context) -> SessionBinding:
        return SessionBinding(message.session, "a")


Cells = dict[str, Host]


@pytest.fixture
def clock() -> Clock:
    """The system's clock; a test module that drives time has a fixture of its own."""
    return SystemClock()


@pytest.fixture
async def cells(tmp_path, clock) -> AsyncIterator[Cells]:
    """Cells ``system``, ``a`` (with the router of sessions s and t) and ``b``, all hosting s; ``a`` hosts t."""
    FakeRouter.places, FakeRouter.events = {}, []
    transport = LocalTransport()
    roles = Roles({"counter": Counter, "broken": Broken, "router": FakeRouter, "fleet": FakeFleet})
    settings = Settings(home=tmp_path, mailbox_bound=8)
    journals = MemoryJournals()
    hosts: Cells = {}
    for name in ("system", "a", "b"):
        host = Host(name, roles=roles, transport=transport, journals=journals, clock=clock, settings=settings)
        hosts[name] = host
        transport.join(name, host.receive)
    hosts["transport"] = transport  # type: ignore[assignment]
    for name in ("a", "b"):
        await hosts[name].open_session(SessionBinding("s", "a"))
    await hosts["a"].open_session(SessionBinding("t", "a"))
    yield hosts
    for name in ("system", "a", "b"):
        await hosts[name].stop(grace_s=0)


@pytest.fixture
def me() -> Address:
    """Someone of session s who speaks from a cell."""
    return Address("s", "counter", "me")


@pytest.fixture
def place() -> Callable[[Address, str], Address]:
    """Say where an agent lives."""

    def put(address: Address, cell: str) -> Address:
        FakeRouter.places[address] = cell
        return address

    return put


__all__ = ["FLEET", "SHARED", "router_of"]
