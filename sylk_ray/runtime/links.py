"""One cell's way to another: batches, one in flight, acknowledged; order kept per sender and receiver.

While a batch is under way the next one gathers, so batches grow exactly as fast as the peer falls behind
(ack clocking). A packet refused because its mailbox is full is held, with all that follows to that receiver, and
tried again; the rest of the link goes on.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Protocol

from sylk_ray.errors import SylkError
from sylk_ray.messaging import Address, CellLost, HandlerFailed, MailboxFull
from sylk_ray.messaging.wire import decode_refusals, encode_batch
from sylk_ray.runtime.clock import Clock
from sylk_ray.runtime.transport import PeerLost, PeerUnavailable, Transport

BATCH_PACKETS = 1024
BATCH_BYTES = 1 << 20
_FIRST_RETRY_S = 0.002
_LAST_RETRY_S = 0.1
_UNAVAILABLE_TRIES = 8

log = logging.getLogger("sylk.links")


class Receipt(Protocol):
    """Who wants to know what became of packets."""

    def accepted(self) -> None:
        """One packet is in its mailbox."""
        ...

    def refused(self, error: SylkError) -> None:
        """One packet will not be delivered."""
        ...


class Outgoing:
    """A packet waiting for its batch."""

    __slots__ = ("data", "deadline", "receipt", "source", "target")

    def __init__(self, data: bytes, source: Address, target: Address, deadline: float, receipt: Receipt | None) -> None:
        self.data = data
        self.source = source
        self.target = target
        self.deadline = deadline
        self.receipt = receipt

    def refuse(self, error: SylkError) -> None:
        """Tell the sender; with nobody listening it is logged, never silent."""
        if self.receipt is None:
            log.warning("a packet from %s to %s was not delivered: %s", self.source, self.target, error)
        else:
            self.receipt.refused(error)


class PeerLink:
    """Everything from this cell to one other."""

    def __init__(
        self, source: str, epoch: str, peer: str, transport: Transport, clock: Clock, lost: Callable[[PeerLink], None]
    ) -> None:
        self._source = source
        self._epoch = epoch
        self.peer = peer
        self._transport = transport
        self._clock = clock
        self._lost = lost
        self._sequence = 0
        self._queue: deque[Outgoing] = deque()
        self._held: dict[Address, deque[Outgoing]] = {}
        self._retry_s: dict[Address, float] = {}
        self._pump: asyncio.Task[None] | None = None

    def post(self, packet: Outgoing) -> None:
        """Queue a packet; it leaves with the next batch."""
        held = self._held.get(packet.target)
        if held is not None:
            held.append(packet)
            return
        self._queue.append(packet)
        self._start()

    async def flush(self, seconds: float) -> None:
        """Let what is queued leave, for so long at most."""
        if self._pump is not None:
            await asyncio.wait([self._pump], timeout=seconds)

    def close(self, error: SylkError) -> None:
        """Refuse all that has not left."""
        if self._pump is not None:
            self._pump.cancel()
        waiting = [*self._queue, *(packet for held in self._held.values() for packet in held)]
        self._queue.clear()
        self._held.clear()
        for packet in waiting:
            packet.refuse(error)

    def _start(self) -> None:
        if self._pump is None and self._queue:
            self._pump = asyncio.get_running_loop().create_task(self._run(), name=f"link to {self.peer}")

    async def _run(self) -> None:
        try:
            while batch := self._next_batch():
                if not await self._exchange(batch):
                    return
        finally:
            self._pump = None
        self._start()

    async def _exchange(self, batch: list[Outgoing]) -> bool:
        """Send a batch and settle each of its packets, whatever happens; False when the peer is lost."""
        self._sequence += 1
        payload = encode_batch(self._source, self._epoch, self._sequence, [packet.data for packet in batch])
        try:
            acknowledgement = await self._deliver(payload)
            self._settle(batch, acknowledgement)
        except PeerLost as problem:
            error = CellLost(
                f"cell {self.peer} died before it acknowledged: {problem}",
                hint="the message may or may not have been handled",
            )
            self._refuse(batch, error)
            self._pump = None
            self.close(error)
            self._lost(self)
            return False
        except asyncio.CancelledError:
            self._refuse(batch, CellLost(f"the link to cell {self.peer} was closed"))
            raise
        except SylkError as error:
            self._refuse(batch, error)
        except Exception as problem:
            log.exception("a batch to cell %s failed", self.peer)
            self._refuse(batch, HandlerFailed(f"cell {self.peer} could not take a batch: {problem!r}"))
        return True

    def _refuse(self, batch: list[Outgoing], error: SylkError) -> None:
        for packet in batch:
            packet.refuse(error)

    def _next_batch(self) -> list[Outgoing]:
        batch: list[Outgoing] = []
        size = 0
        while (
            self._queue and len(batch) < BATCH_PACKETS and (not batch or size + len(self._queue[0].data) <= BATCH_BYTES)
        ):
            packet = self._queue.popleft()
            if packet.target in self._held:
                self._held[packet.target].append(packet)
                continue
            size += len(packet.data)
            batch.append(packet)
        return batch

    async def _deliver(self, payload: bytes) -> bytes:
        delay = _FIRST_RETRY_S * 10
        for attempt in range(_UNAVAILABLE_TRIES):
            try:
                return await self._transport.deliver(self.peer, payload)
            except PeerUnavailable as problem:
                log.info("cell %s is unavailable (try %d): %s", self.peer, attempt + 1, problem)
                await self._clock.sleep(delay)
                delay *= 2
        raise PeerLost(f"cell {self.peer} stayed unavailable")

    def _settle(self, batch: list[Outgoing], acknowledgement: bytes) -> None:
        refusals = {refusal.index: refusal.failure for refusal in decode_refusals(acknowledgement)}
        for index, packet in enumerate(batch):
            failure = refusals.get(index)
            if failure is None:
                # The receiver is moving: the next time that it is full is a new one.
                self._retry_s.pop(packet.target, None)
                if packet.receipt is not None:
                    packet.receipt.accepted()
            elif failure.code == MailboxFull.code and self._clock.now() < packet.deadline:
                self._hold(packet)
            else:
                packet.refuse(failure.error())

    def _hold(self, packet: Outgoing) -> None:
        held = self._held.get(packet.target)
        if held is None:
            held = self._held[packet.target] = deque()
            delay = self._retry_s.get(packet.target, _FIRST_RETRY_S)
            self._retry_s[packet.target] = min(delay * 2, _LAST_RETRY_S)
            target = packet.target
            self._clock.call_later(delay, lambda: self._release(target))
        held.append(packet)

    def _release(self, target: Address) -> None:
        held = self._held.pop(target, None)
        if held is not None:
            self._queue.extendleft(reversed(held))
            self._start()
