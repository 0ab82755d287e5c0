"""One request's trace goes with all that comes of it: messages, steps, events, tools, logs."""

from __future__ import annotations

import asyncio
import logging
from typing import ClassVar

import msgspec
import pytest

from sylk_ray.config import Settings
from sylk_ray.errors import InputError
from sylk_ray.messaging import Address, Message, Request, begin_trace, current_trace, new_trace
from sylk_ray.messaging.trace import current_trail, trace_of, traceparent
from sylk_ray.messaging.wire import decode_envelope
from sylk_ray.runtime import Agent, Context, handler, logs
from sylk_ray.runtime.journal import MemoryJournals, SqliteJournals
from sylk_ray.tools.environment import scrubbed_environment
from sylk_ray.tools.specs import Sandbox

from .conftest import FakeRouter
from .world import World, until

ME, ONE, TWO = Address("s", "desk", "me"), Address("s", "desk", "one"), Address("s", "desk", "two")


class Order(Request[str], frozen=True):
    """Pass it on; answers the trace."""

    what: str


class Make(Message, frozen=True):
    what: str


class Remind(Message, frozen=True):
    """Tell yourself, from a task that lives on."""


class Reminded(Message, frozen=True):
    pass


class DeskState(msgspec.Struct):
    made: list[str] = []


class Desk(Agent[DeskState]):
    role = "desk"
    seen: ClassVar[dict[str, tuple[str, str]]] = {}
    tools: ClassVar[dict[str, dict[str, str]]] = {}
    at_activation: ClassVar[list[str]] = []
    gate: ClassVar[asyncio.Event]
    fails: ClassVar[bool] = False

    def note(self, what: str) -> None:
        self.seen[what] = tuple(current_trail())

    async def on_activate(self, ctx: Context) -> None:
        self.at_activation.append(current_trace())

    @handler()
    async def order(self, message: Order, ctx: Context) -> str:
        self.note(f"{message.what} ordered")
        await ctx.tell(TWO, Make(message.what))
        return current_trace()

    @handler()
    async def make(self, message: Make, ctx: Context) -> None:
        self.note(f"{message.what} made")

        async def tool(tmp: str) -> str:
            self.tools[message.what] = scrubbed_environment(ctx.settings.home, Sandbox(), "run", {})
            await self.gate.wait()
            return tmp

        await ctx.step("tool", tool, "x")
        await ctx.publish("made", what=message.what)
        self.state.made.append(message.what)
        if self.fails:
            raise InputError("no")

    @handler()
    async def remind(self, message: Remind, ctx: Context) -> None:
        self.task = asyncio.create_task(self._later(ctx))

    async def _later(self, ctx: Context) -> None:
        await self.gate.wait()
        await ctx.tell(ctx.address, Reminded())

    @handler()
    async def reminded(self, message: Reminded, ctx: Context) -> None:
        self.note("reminded")

    async def on_failure(self, message: Message, error: Exception, ctx: Context) -> None:
        self.note("failed")


@pytest.fixture(autouse=True)
def desk():
    Desk.seen, Desk.tools, Desk.at_activation, Desk.fails = {}, {}, [], False
    Desk.gate = asyncio.Event()
    Desk.gate.set()


@pytest.fixture(params=["memory", "sqlite"])
async def world(request, tmp_path):
    FakeRouter.places, FakeRouter.events = {TWO: "b"}, []
    memory = MemoryJournals()
    journals = (lambda: memory) if request.param == "memory" else (lambda: SqliteJournals(lambda s: tmp_path / s))
    world = World(journals, Settings(home=tmp_path), desk=Desk)
    yield world
    await world.end()


async def seen(what: str) -> tuple[str, str]:
    async def look() -> dict[str, tuple[str, str]]:
        return Desk.seen

    return (await until(look, lambda found: what in found))[what]


async def given_to_tools(what: str) -> dict[str, str]:
    async def look() -> dict[str, dict[str, str]]:
        return Desk.tools

    return (await until(look, lambda found: what in found))[what]


async def test_a_request_has_one_trace_from_its_asker_to_the_tools_of_another_cell(world):
    a, b = await world.cell("a"), await world.cell("b")
    Desk.gate.clear()
    with begin_trace() as trace:
        assert await a.ask(ME, ONE, Order("cake"), timeout=5) == trace
    made_trace, made_id = await seen("cake made")
    ordered_trace, ordered_id = Desk.seen["cake ordered"]
    assert (ordered_trace, made_trace) == (trace, trace)
    assert ordered_id != made_id
    version, traced, span, flags = (await given_to_tools("cake"))["TRACEPARENT"].split("-")
    assert (version, traced, len(span), flags) == ("00", trace, 16, "01")
    (mail,) = await b.journal_of("s").pending()
    waiting = decode_envelope(mail.packet)
    assert (waiting.trace, waiting.parent) == (trace, ordered_id)
    (step,) = (await b.journal_of("s").steps(TWO, made_id)).values()
    assert step.trace == trace
    Desk.gate.set()
    events = await until(lambda: b.journal_of("s").events(0), bool)
    assert [(event.kind, event.trace) for event in events] == [("made", trace)]


async def test_what_nobody_asked_for_has_no_trace(world):
    a, _ = await world.cell("a"), await world.cell("b")
    assert await a.ask(ME, ONE, Order("cake"), timeout=5) == ""
    assert (await seen("cake made"))[0] == ""
    assert "TRACEPARENT" not in await given_to_tools("cake")


async def test_who_wakes_an_agent_up_does_not_own_its_awakening(world):
    a, _ = await world.cell("a"), await world.cell("b")
    with begin_trace():
        await a.ask(ME, ONE, Order("cake"), timeout=5)
    await seen("cake made")
    assert set(Desk.at_activation) == {""}


async def test_an_agent_that_is_made_anew_comes_to_life_for_nobody(world):
    a, _ = await world.cell("a"), await world.cell("b")
    Desk.fails = True
    with begin_trace():
        await a.ask(ME, ONE, Order("cake"), timeout=5)
    await seen("failed")
    assert Desk.at_activation == ["", "", ""]


async def test_two_requests_at_once_keep_their_own_traces(world):
    a, _ = await world.cell("a"), await world.cell("b")

    async def ordered(what: str) -> tuple[str, str]:
        with begin_trace() as trace:
            return trace, await a.ask(ME, ONE, Order(what), timeout=5)

    answers = await asyncio.gather(*(ordered(f"cake {number}") for number in range(20)))
    assert len({trace for trace, _ in answers}) == 20
    for number, (trace, answer) in enumerate(answers):
        assert answer == trace
        assert (await seen(f"cake {number} made"))[0] == trace
    assert current_trace() == ""


async def test_a_trace_outlives_the_cells_that_carried_it(world):
    a, _ = await world.cell("a"), await world.cell("b")
    Desk.gate.clear()
    with begin_trace() as trace:
        await a.ask(ME, ONE, Order("cake"), timeout=5)
    ordered_id = Desk.seen["cake ordered"][1]
    await seen("cake made")
    await world.crash("b")
    Desk.seen.clear()
    Desk.gate.set()
    FakeRouter.places[TWO] = "c"
    c = await world.cell("c", fenced=("b",))
    await c.recover_session("s")
    assert (await seen("cake made"))[0] == trace
    events = await until(lambda: c.journal_of("s").events(0), bool)
    assert [event.trace for event in events] == [trace]
    assert ordered_id


async def test_a_task_that_outlives_its_handler_goes_on_with_its_trace(world):
    a, _ = await world.cell("a"), await world.cell("b")
    Desk.gate.clear()
    with begin_trace() as trace:
        await a.tell(ME, ONE, Remind(), timeout=5)
    with begin_trace():
        assert await a.ask(ME, ONE, Order("cake"), timeout=5) != trace
    Desk.gate.set()
    assert (await seen("reminded"))[0] == trace


async def test_what_is_done_about_a_failure_is_of_the_trace_that_failed(world):
    a, _ = await world.cell("a"), await world.cell("b")
    Desk.fails = True
    with begin_trace() as trace:
        await a.ask(ME, ONE, Order("cake"), timeout=5)
    assert (await seen("failed"))[0] == trace


async def test_a_log_line_names_its_agent_and_its_trace_once(caplog):
    caplog.handler.addFilter(logs.TraceFilter())
    caplog.handler.setFormatter(logging.Formatter(logs._FORMAT.partition(" ")[2]))
    with caplog.at_level(logging.INFO), begin_trace("3f2a91bc" + "0" * 24):
        logs.AgentLog(ONE).warning("no %s left", "flour")
        logging.getLogger("sylk.host").info("it is so")
    logs.AgentLog(ONE).warning("100% done")
    assert caplog.text.splitlines() == [
        "WARNING sylk.agent: s/desk/one [3f2a91bc] no flour left",
        "INFO sylk.host: [3f2a91bc] it is so",
        "WARNING sylk.agent: s/desk/one 100% done",
    ]


TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.mark.parametrize(
    ("header", "trace"),
    [
        (f"00-{TRACE}-{SPAN}-01", TRACE),
        (f"01-{TRACE}-{SPAN}-01-of-later", TRACE),
        (f"00-{TRACE}-{SPAN}-01-more", None),
        (f"ff-{TRACE}-{SPAN}-01", None),
        (f"00-{'0' * 32}-{SPAN}-01", None),
        (f"00-{TRACE}-{'0' * 16}-01", None),
        (f"00-{TRACE.upper()}-{SPAN}-01", None),
        (f"00-{TRACE}-{SPAN}-01\n", None),
        (TRACE, None),
        ("", None),
    ],
)
def test_only_a_valid_header_is_followed(header, trace):
    assert trace_of(header) == trace


def test_what_is_written_into_a_header_can_be_read_from_it():
    trace = new_trace()
    assert trace_of(traceparent(trace)) == trace


def test_a_trace_ends_with_its_block():
    with begin_trace() as outer:
        with begin_trace(TRACE) as inner:
            assert (inner, current_trace()) == (TRACE, TRACE)
        assert current_trace() == outer
    assert current_trace() == ""
