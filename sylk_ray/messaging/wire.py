"""Envelopes and batches: the form messages take between cells (msgpack by msgspec)."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec

from sylk_ray.errors import SylkError, error_of
from sylk_ray.fairness import Lane
from sylk_ray.messaging.address import Address
from sylk_ray.messaging.delivery import NotDecodable, NotEncodable
from sylk_ray.messaging.message import Message, message_type

NO_MSGPACK = (msgspec.DecodeError, UnicodeDecodeError)
"""What msgspec raises for bytes that are not what they should be: the second for text that is no UTF-8."""

_encoder = msgspec.msgpack.Encoder()


class Envelope(msgspec.Struct, gc=False):
    """A message on its way, inside a cell, with all that is known of it besides what it says.

    ``origin`` is the cell that it came from, empty for this one. ``answers`` is the id of the request that this is the
    reply to; ``deadline`` is Unix time in seconds, 0 for none; ``failure`` is set on a reply that is an error.
    ``trace`` is the trace that it belongs to, 32 hexadecimal digits, and ``parent`` the id of the message that was
    being handled when it was sent; each is empty for none. ``priority`` is a ``sylk_ray.fairness.Lane``, which its
    message declares; it tells whoever looks, and changes no order, which is kept per sender and receiver.

    What the specification asks of every message is found here, and so no message repeats it:

    | specification  | here                                                                          |
    |----------------|-------------------------------------------------------------------------------|
    | session id     | ``target.session``, or for a shared agent's mail ``source.session``           |
    | correlation id | ``id`` of a request, ``answers`` of its reply                                 |
    | priority       | ``priority``                                                                  |
    | deadline       | ``deadline``                                                                  |
    | trace id       | ``trace``                                                                     |
    | parent         | ``parent``                                                                    |
    """

    id: str
    source: Address
    target: Address
    message: Any
    wants_reply: bool = False
    deadline: float = 0.0
    answers: str = ""
    origin: str = ""
    failure: Failure | None = None
    trace: str = ""
    parent: str = ""
    priority: int = Lane.NORMAL.value


class Failure(msgspec.Struct, frozen=True, array_like=True):
    """An error's wire form."""

    code: str
    message: str
    hint: str = ""

    @classmethod
    def of(cls, error: SylkError) -> Failure:
        """The wire form of an error."""
        return cls(error.code, error.message, error.hint)

    def error(self) -> SylkError:
        """The error again, as the class it was."""
        return error_of(self.code, self.message, self.hint)


class Packet(msgspec.Struct, frozen=True, array_like=True):
    """An envelope's wire form; ``body`` is the message's own msgpack, addresses are their text."""

    id: str
    source: str
    target: str
    kind: str
    body: msgspec.Raw
    wants_reply: bool = False
    deadline: float = 0.0
    answers: str = ""
    failure: Failure | None = None
    trace: str = ""
    parent: str = ""
    priority: int = Lane.NORMAL.value


class Batch(msgspec.Struct, frozen=True, array_like=True):
    """What one cell sends another in one call; (source, epoch, sequence) makes a repeated one recognisable."""

    source: str
    epoch: str
    sequence: int
    packets: list[Packet]


class Refusal(msgspec.Struct, frozen=True, array_like=True):
    """Packet number ``index`` of a batch was not accepted."""

    index: int
    failure: Failure


_packet_decoder = msgspec.msgpack.Decoder(Packet)
_batch_decoder = msgspec.msgpack.Decoder(Batch)
_refusals_decoder = msgspec.msgpack.Decoder(list[Refusal])
_body_decoders: dict[str, msgspec.msgpack.Decoder[Any]] = {}

REPLY = "reply"
FAILURE = "failure"


def encode_envelope(envelope: Envelope) -> bytes:
    """The packet's bytes; raises NotEncodable, naming the sender's message, when a field has no wire form."""
    message = envelope.message
    if envelope.failure is not None:
        kind = FAILURE
    elif envelope.answers:
        kind = REPLY
    else:
        kind = type(message).__name__
    # The message stands where its raw form will be read: encoded once, in place.
    packet = Packet(
        envelope.id,
        _text(envelope.source),
        _text(envelope.target),
        kind,
        message,
        envelope.wants_reply,
        envelope.deadline,
        envelope.answers,
        envelope.failure,
        envelope.trace,
        envelope.parent,
        envelope.priority,
    )
    try:
        return _encoder.encode(packet)
    except (TypeError, ValueError, OverflowError, RecursionError) as problem:
        raise NotEncodable(
            f"{type(message).__name__} from {envelope.source} to {envelope.target} has no wire form: {problem}",
            hint="a message may hold structs, numbers, text, bytes, lists and dicts of those",
        ) from problem


def encode_body(message: Any) -> bytes:
    """A message, or an answer, by itself; raises NotEncodable."""
    try:
        return _encoder.encode(message)
    except (TypeError, ValueError, OverflowError, RecursionError) as problem:
        raise NotEncodable(f"{type(message).__name__} has no wire form: {problem}") from problem


def decode_envelope(data: bytes) -> Envelope:
    """The envelope of one packet that was kept; raises NotDecodable."""
    try:
        envelope = envelope_of(_packet_decoder.decode(data), "")
    except NO_MSGPACK as problem:
        raise NotDecodable(f"a packet of {len(data)} bytes does not decode: {problem}") from problem
    if isinstance(envelope.message, NotDecodable):
        raise envelope.message
    return envelope


def envelope_of(packet: Packet, origin: str) -> Envelope:
    """The envelope again. A body that does not decode gives an envelope whose message is the NotDecodable error;
    a reply's body stays raw, for the asker knows its type."""
    kind = packet.kind
    message: Any = packet.body if kind in (REPLY, FAILURE) else _decode_body(packet)
    return Envelope(
        packet.id,
        _address(packet.source),
        _address(packet.target),
        message,
        packet.wants_reply,
        packet.deadline,
        packet.answers,
        origin,
        packet.failure,
        packet.trace,
        packet.parent,
        packet.priority,
    )


# Every message of a pair carries the same two addresses: looking one up is several times quicker than making it.
@lru_cache(maxsize=16_384)
def _address(text: str) -> Address:
    parts = text.split("/", 2)
    if len(parts) != 3:
        raise NotDecodable(f"{text!r} is no address")
    return Address(*parts)


@lru_cache(maxsize=16_384)
def _text(address: Address) -> str:
    return str(address)


def _decode_body(packet: Packet) -> Message | NotDecodable:
    decoder = _body_decoders.get(packet.kind)
    if decoder is None:
        known = message_type(packet.kind)
        if known is None:
            return NotDecodable(
                f"{packet.target} got a {packet.kind!r} from {packet.source}: no message of that name is known here",
                hint="the module that declares it must be imported by the receiving role",
            )
        decoder = _body_decoders[packet.kind] = msgspec.msgpack.Decoder(known)
    try:
        return decoder.decode(packet.body)
    except NO_MSGPACK as problem:
        return NotDecodable(f"{packet.kind} from {packet.source} to {packet.target} does not decode: {problem}")


def encode_batch(source: str, epoch: str, sequence: int, packets: list[bytes]) -> bytes:
    """One call's payload from packets that are encoded already."""
    return _encoder.encode((source, epoch, sequence, [msgspec.Raw(packet) for packet in packets]))


def decode_batch(data: bytes) -> Batch:
    """The batch of a payload; raises NotDecodable."""
    try:
        return _batch_decoder.decode(data)
    except NO_MSGPACK as problem:
        raise NotDecodable(f"a batch of {len(data)} bytes does not decode: {problem}") from problem


def encode_refusals(refusals: list[Refusal]) -> bytes:
    """The acknowledgement of a batch: an empty list when all was accepted."""
    return _encoder.encode(refusals)


def decode_refusals(data: bytes) -> list[Refusal]:
    """What of a batch was not accepted."""
    return _refusals_decoder.decode(data)
