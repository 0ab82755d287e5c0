"""Agents that integration tests put into real cells."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import msgspec

from sylk_ray.messaging import Address, Message, Request
from sylk_ray.runtime import Agent, Context, handler


class Count(Message, frozen=True):
    number: int


class Counted(Request[list[int]], frozen=True):
    pass


class Send(Request[float], frozen=True):
    """Send numbers to another agent; answers the seconds it took."""

    target: Address
    count: int


class Weigh(Request[int], frozen=True):
    data: bytes


class SendWeight(Request[int], frozen=True):
    target: Address
    megabytes: int


class SendLock(Request[str], frozen=True):
    target: Address


class Odd(Request[int], frozen=True):
    value: object = None


class Hog(Request[None], frozen=True):
    seconds: float


class Raise(Request[None], frozen=True):
    text: str


class Relay(Request[None], frozen=True):
    """Ask another agent to raise."""

    target: Address
    text: str


class WhereAmI(Request[str], frozen=True):
    pass


class Wait(Request[None], frozen=True):
    pass


class Mark(Message, frozen=True):
    """Keep a text, and pass it on to another agent of the session; fails as long as there is a file ``unless``."""

    text: str
    to: str = ""
    unless: str = ""


class Marks(Request[list[str]], frozen=True):
    pass


class SayMark(Request[None], frozen=True):
    """Tell a mark to a keeper of the same session."""

    to: str
    mark: Mark


class Kept(msgspec.Struct):
    texts: list[str] = []


class Keeper(Agent[Kept]):
    """A durable agent, which keeps what it is told."""

    role = "keeper"

    @handler()
    async def mark(self, message: Mark, ctx: Context) -> None:
        if message.unless and Path(message.unless).exists():
            raise RuntimeError(f"{message.unless} is in the way")
        self.state.texts.append(message.text)
        await ctx.publish("marked", text=message.text)
        if message.to:
            await ctx.tell(ctx.address.beside("keeper", message.to), Mark(message.text))

    @handler()
    async def say(self, message: SayMark, ctx: Context) -> None:
        await ctx.tell(ctx.address.beside("keeper", message.to), message.mark)

    @handler()
    async def marks(self, message: Marks, ctx: Context) -> list[str]:
        return self.state.texts


class Probe(Agent[None]):
    role = "probe"

    def __init__(self) -> None:
        self.numbers: list[int] = []

    @handler()
    async def count(self, message: Count, ctx: Context) -> None:
        self.numbers.append(message.number)

    @handler()
    async def counted(self, message: Counted, ctx: Context) -> list[int]:
        return self.numbers

    @handler()
    async def send(self, message: Send, ctx: Context) -> float:
        started = time.perf_counter()
        await ctx.tell_all(message.target, [Count(number) for number in range(message.count)], timeout=60)
        return time.perf_counter() - started

    @handler()
    async def weigh(self, message: Weigh, ctx: Context) -> int:
        return len(message.data)

    @handler()
    async def send_weight(self, message: SendWeight, ctx: Context) -> int:
        return await ctx.ask(message.target, Weigh(b"x" * (message.megabytes << 20)), timeout=60)

    @handler()
    async def send_lock(self, message: SendLock, ctx: Context) -> str:
        try:
            await ctx.ask(message.target, Odd(asyncio.Lock()))
        except Exception as error:
            return type(error).__name__
        return "sent"

    @handler()
    async def odd(self, message: Odd, ctx: Context) -> int:
        return 1

    @handler()
    async def hog(self, message: Hog, ctx: Context) -> None:
        until = time.monotonic() + message.seconds
        while time.monotonic() < until:
            pass

    @handler()
    async def fail(self, message: Raise, ctx: Context) -> None:
        raise RuntimeError(message.text)

    @handler()
    async def relay(self, message: Relay, ctx: Context) -> None:
        await ctx.ask(message.target, Raise(message.text))

    @handler(concurrent=True)
    async def where(self, message: WhereAmI, ctx: Context) -> str:
        return ctx.cell

    @handler()
    async def wait(self, message: Wait, ctx: Context) -> None:
        await asyncio.Event().wait()
