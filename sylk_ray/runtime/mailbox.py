"""A bounded queue of messages that hands a full mailbox's next place to the sender who waited longest."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence

from sylk_ray.messaging import MailboxFull
from sylk_ray.messaging.wire import Envelope
from sylk_ray.runtime.clock import Clock


class Mailbox:
    """Order is kept: once one sender waits, every later one waits behind it."""

    __slots__ = ("_bound", "_clock", "_mail", "_waiting")

    def __init__(self, bound: int, clock: Clock) -> None:
        self._bound = bound
        self._clock = clock
        self._mail: deque[Envelope] = deque()
        self._waiting: deque[tuple[Envelope, asyncio.Future[None]]] = deque()

    def __len__(self) -> int:
        return len(self._mail)

    def offer(self, envelope: Envelope) -> bool:
        """Take the envelope if there is room; False pushes back."""
        if self._waiting or len(self._mail) >= self._bound:
            return False
        self._mail.append(envelope)
        return True

    async def put(self, envelope: Envelope, timeout: float) -> None:
        """Take the envelope, waiting for room at most ``timeout`` seconds; then raises MailboxFull."""
        if self.offer(envelope):
            return
        taken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        place = (envelope, taken)
        self._waiting.append(place)
        timer = self._clock.call_later(timeout, lambda: self._give_up(envelope, taken, timeout))
        try:
            await taken
        finally:
            timer.cancel()
            if place in self._waiting:
                self._waiting.remove(place)

    def _give_up(self, envelope: Envelope, taken: asyncio.Future[None], waited: float) -> None:
        if not taken.done():
            taken.set_exception(
                MailboxFull(
                    f"{envelope.target} stayed full ({self._bound} messages) for {waited:g} s",
                    hint="it is slower than its senders: send less, or raise mailbox_bound",
                )
            )

    def take(self) -> Envelope:
        """The next envelope; raises IndexError when there is none."""
        envelope = self._mail.popleft()
        while self._waiting:
            waiter, taken = self._waiting.popleft()
            if not taken.done():
                self._mail.append(waiter)
                taken.set_result(None)
                break
        return envelope

    def put_first(self, envelopes: Sequence[Envelope]) -> None:
        """Put kept mail before all else, whatever the bound: it was accepted long ago. What came again is dropped."""
        kept = {envelope.id for envelope in envelopes}
        later = [envelope for envelope in self._mail if envelope.id not in kept]
        self._mail = deque([*envelopes, *later])

    def clear(self) -> list[Envelope]:
        """Empty it, for a receiver that is going away; who waits is told that their message was not taken."""
        left = [*self._mail, *(envelope for envelope, _ in self._waiting)]
        for envelope, taken in self._waiting:
            if not taken.done():
                taken.set_exception(MailboxFull(f"{envelope.target} was put away before it had room"))
        self._mail.clear()
        self._waiting.clear()
        return left
