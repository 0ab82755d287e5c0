"""Batches that arrive: decoded on any thread, and answered once however often they come."""

from __future__ import annotations

from typing import NamedTuple

from sylk_ray.messaging.wire import Envelope, decode_batch, envelope_of


class Inbound:
    """Remembers the last batch of each source. (source, epoch, sequence) is a batch's identity: a peer has one
    batch in flight, so a repeated one can only be its last."""

    class Arrived(NamedTuple):
        """A decoded batch."""

        source: str
        epoch: str
        sequence: int
        envelopes: list[Envelope]

    def __init__(self) -> None:
        self._last: dict[str, tuple[str, int, bytes]] = {}

    def decode(self, payload: bytes) -> Arrived:
        """Raises NotDecodable for a payload that is no batch."""
        batch = decode_batch(payload)
        envelopes = [envelope_of(packet, batch.source) for packet in batch.packets]
        return self.Arrived(batch.source, batch.epoch, batch.sequence, envelopes)

    def seen(self, arrived: Arrived) -> bytes | None:
        """What was answered to this batch before, if it was."""
        last = self._last.get(arrived.source)
        if last is not None and last[0] == arrived.epoch and arrived.sequence <= last[1]:
            return last[2]
        return None

    def forget(self, source: str) -> None:
        """A peer died."""
        self._last.pop(source, None)

    def remember(self, arrived: Arrived, acknowledgement: bytes) -> None:
        """Keep the answer until the next batch."""
        self._last[arrived.source] = (arrived.epoch, arrived.sequence, acknowledgement)
