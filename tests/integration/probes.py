"""Agents that integration tests put into real cells."""

from __future__ import annotations

import asyncio
import time

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
