"""One cell's links to all others."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from sylk_ray.errors import SylkError
from sylk_ray.messaging import CellLost, DeadlinePassed
from sylk_ray.messaging.wire import Envelope, encode_envelope
from sylk_ray.runtime.clock import Clock
from sylk_ray.runtime.links import Outgoing, PeerLink
from sylk_ray.runtime.receipts import CountedReceipt
from sylk_ray.runtime.transport import Transport


class Peers:
    """``lost`` is called with the name of a cell that died."""

    def __init__(self, cell: str, epoch: str, transport: Transport, clock: Clock, lost: Callable[[str], None]) -> None:
        self._cell = cell
        self._epoch = epoch
        self._transport = transport
        self._clock = clock
        self._lost = lost
        self._ids = itertools.count(1)
        self._links: dict[str, PeerLink] = {}

    async def post(self, cell: str, envelopes: Sequence[Envelope]) -> None:
        """Return when the cell has taken all of them; raises the first refusal, or DeadlinePassed."""
        receipt = CountedReceipt(len(envelopes))
        packets = [
            Outgoing(encode_envelope(envelope), envelope.source, envelope.target, envelope.deadline, receipt)
            for envelope in envelopes
        ]
        link = self._link(cell)
        for packet in packets:
            link.post(packet)
        late = DeadlinePassed(
            f"cell {cell} did not take {len(envelopes)} message(s) for {envelopes[0].target} in time",
            hint="it may be blocked by a handler that does not await, see `sylk ps`",
        )
        left = max(0.0, envelopes[0].deadline - self._clock.now())
        timer = self._clock.call_later(left, lambda: receipt.give_up(late))
        try:
            await receipt.wait()
        finally:
            timer.cancel()

    def answer(self, cell: str, packet: Outgoing) -> None:
        """Send an answer; nobody waits to hear that it arrived."""
        self._link(cell).post(packet)

    def forget(self, cell: str) -> None:
        """A cell died: what was on its way there is refused."""
        link = self._links.pop(cell, None)
        if link is not None:
            link.close(CellLost(f"cell {cell} died"))

    async def close(self, error: SylkError, flush_s: float) -> None:
        """Let what is queued leave, for so long at most, and refuse the rest."""
        for link in list(self._links.values()):
            await link.flush(flush_s)
            link.close(error)

    def _link(self, cell: str) -> PeerLink:
        link = self._links.get(cell)
        if link is None:
            # An epoch of its own: a link that is made anew counts from one, and a peer that never died
            # must not take its batches for repeated ones.
            epoch = f"{self._epoch}.{next(self._ids)}"
            link = self._links[cell] = PeerLink(self._cell, epoch, cell, self._transport, self._clock, self._link_lost)
        return link

    def _link_lost(self, link: PeerLink) -> None:
        if self._links.get(link.peer) is link:
            self._lost(link.peer)
