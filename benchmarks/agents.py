"""Agents that do as little as can be."""

from __future__ import annotations

import asyncio
import time

import msgspec

from sylk_ray.messaging import Address, Message, Request
from sylk_ray.pipelines.messages import Merged, MergeWork, PipelineResult, StartPipeline
from sylk_ray.runtime import Agent, Context, handler
from sylk_ray.runtime.directory import GroupDone, router_of
from sylk_ray.sessions.records import Loops


class Note(Message, frozen=True):
    number: int


class Echo(Request[int], frozen=True):
    number: int


class Notes(Request[tuple[int, bool]], frozen=True):
    """How many notes came since the last question, and whether all were in order."""


class Stream(Request[float], frozen=True):
    """Send notes to another agent; answers the seconds until the last is in its mailbox."""

    target: Address
    count: int


class Paced(Request[list[float]], frozen=True):
    """Tell, or ask, another agent at a steady rate; answers the seconds of each, sorted. A told message counts until
    its receiver's cell has acknowledged it, an asked one until its answer is here."""

    target: Address
    per_second: int
    seconds: float
    asked: bool


class Where(Request[str], frozen=True):
    pass


class Small(Agent[None]):
    role = "small"

    def __init__(self) -> None:
        self.last = -1
        self.count = 0
        self.ordered = True

    @handler()
    async def note(self, message: Note, ctx: Context) -> None:
        self.ordered = self.ordered and message.number == self.last + 1
        self.last = message.number
        self.count += 1

    @handler()
    async def notes(self, message: Notes, ctx: Context) -> tuple[int, bool]:
        answer = (self.count, self.ordered)
        self.last, self.count, self.ordered = -1, 0, True
        return answer

    @handler()
    async def echo(self, message: Echo, ctx: Context) -> int:
        return message.number

    @handler()
    async def where(self, message: Where, ctx: Context) -> str:
        return ctx.cell

    @handler()
    async def stream(self, message: Stream, ctx: Context) -> float:
        notes = [Note(number) for number in range(message.count)]
        started = time.perf_counter()
        await ctx.tell_all(message.target, notes, timeout=120)
        return time.perf_counter() - started

    @handler()
    async def paced(self, message: Paced, ctx: Context) -> list[float]:
        async def one(number: int) -> float:
            started = time.perf_counter()
            if message.asked:
                await ctx.ask(message.target, Echo(number), timeout=30)
            else:
                await ctx.tell(message.target, Note(number))
            return time.perf_counter() - started

        total = int(message.per_second * message.seconds)
        begin = time.perf_counter()
        asks: list[asyncio.Task[float]] = []
        for number in range(total):
            late = begin + number / message.per_second - time.perf_counter()
            if late > 0:
                await asyncio.sleep(late)
            asks.append(asyncio.create_task(one(number)))
        return sorted(await asyncio.gather(*asks))


class NoPipeline(Agent[None]):
    """A pipeline that has nothing to do: what is left is the graph, the messages and the merge queue."""

    role = "pipeline"
    durable = True

    @handler()
    async def start(self, message: StartPipeline, ctx: Context) -> None:
        brief = message.brief
        merge = MergeWork(brief.task, brief.attempt, None, Loops(), PipelineResult())
        await ctx.tell(ctx.address.beside("orchestrator", "main"), merge)

    @handler()
    async def merged(self, message: Merged, ctx: Context) -> None:
        await ctx.tell(router_of(ctx.address.session), GroupDone(ctx.address.name))


class Lines(Request[int], frozen=True):
    """How many lines the book has."""


class Write(Request[int], frozen=True):
    """Add a line, and an event."""


class BookState(msgspec.Struct):
    lines: int = 0


class Book(Agent[BookState]):
    """A durable agent with a history."""

    role = "book"

    @handler()
    async def write(self, message: Write, ctx: Context) -> int:
        self.state.lines += 1
        await ctx.publish("line", number=self.state.lines)
        return self.state.lines

    @handler()
    async def lines(self, message: Lines, ctx: Context) -> int:
        return self.state.lines


class WriteMany(Request[int], frozen=True):
    """Have the book beside write so many lines."""

    count: int


class Author(Agent[None]):
    """Writes from within the session, as agents do."""

    role = "author"

    @handler()
    async def write_many(self, message: WriteMany, ctx: Context) -> int:
        book = ctx.address.beside("book")
        written = 0
        for begin in range(0, message.count, 100):
            wanted = min(100, message.count - begin)
            written = max(await asyncio.gather(*(ctx.ask(book, Write()) for _ in range(wanted))))
        return written
