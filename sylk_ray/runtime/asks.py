"""Requests that wait for their answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from sylk_ray.errors import SylkError
from sylk_ray.messaging import Address, DeadlinePassed
from sylk_ray.messaging.wire import Envelope
from sylk_ray.runtime.clock import Clock


class Ask:
    """One request: who asked, which cell was asked (empty while it is not known), and the answer to come."""

    __slots__ = ("answer", "asker", "cell")

    def __init__(self, asker: Address) -> None:
        self.asker = asker
        self.cell = ""
        self.answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def fail(self, error: SylkError) -> None:
        """Answer with an error, unless there is an answer already."""
        if not self.answer.done():
            self.answer.set_exception(error)


class Asks:
    """The requests of one host, by the ids of their messages."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._open: dict[str, Ask] = {}

    def open(self, request: Envelope) -> Ask:
        """Begin to wait for the answer to a request."""
        ask = self._open[request.id] = Ask(request.source)
        return ask

    def asked(self, request: Envelope, cell: str) -> None:
        """Note which cell has the request, so that its death is the answer."""
        ask = self._open.get(request.id)
        if ask is not None:
            ask.cell = cell

    async def wait(self, request: Envelope, ask: Ask, sending: Callable[[], Any], timeout: float) -> Any:
        """Send, and wait for the answer; raises DeadlinePassed when all of it takes longer than ``timeout``."""
        kind = type(request.message).__name__
        late = DeadlinePassed(
            f"{request.target} did not answer {kind} within {timeout:g} s", hint="it may still be at it"
        )
        timer = self._clock.call_later(timeout, lambda: ask.fail(late))
        try:
            await sending()
            return await ask.answer
        finally:
            timer.cancel()
            if ask.answer.done() and not ask.answer.cancelled():
                ask.answer.exception()  # the sending may have failed first: then nobody else looks at it
            del self._open[request.id]

    def settle(self, reply: Envelope) -> None:
        """An answer came; one that nobody waits for any more is dropped."""
        ask = self._open.get(reply.answers)
        if ask is None or ask.answer.done():
            return
        if reply.failure is not None:
            ask.answer.set_exception(reply.failure.error())
        else:
            ask.answer.set_result(reply.message)

    def fail_all(self, matches: Callable[[Ask], bool], error: SylkError) -> None:
        """Answer every request that matches with an error."""
        for ask in list(self._open.values()):
            if matches(ask):
                ask.fail(error)
