from __future__ import annotations

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sylk_ray.errors import InputError, error_of
from sylk_ray.messaging import Address, DeadlinePassed, Message, NotDecodable, NotEncodable, Request
from sylk_ray.messaging.message import reply_type
from sylk_ray.messaging.wire import (
    Envelope,
    Failure,
    decode_batch,
    encode_batch,
    encode_envelope,
    envelope_of,
)

ME, YOU = Address("s", "engineer", "me"), Address("s", "tester", "you")


class Parcel(Message, frozen=True):
    text: str
    data: bytes = b""
    parts: list[int] = []
    to: Address | None = None


class Count(Request[int], frozen=True):
    pass


class Later(Request["list[Parcel]"], frozen=True):
    pass


def over_the_wire(envelope: Envelope) -> Envelope:
    batch = decode_batch(encode_batch("a", "e", 1, [encode_envelope(envelope)]))
    return envelope_of(batch.packets[0], batch.source)


@given(st.text(), st.binary(), st.lists(st.integers(-(2**63), 2**63)))
def test_a_message_arrives_as_it_was(text, data, parts):
    sent = Envelope("1", ME, YOU, Parcel(text, data, parts, ME), True, 12.5)
    arrived = over_the_wire(sent)
    assert arrived.message == sent.message
    assert (arrived.source, arrived.target, arrived.wants_reply, arrived.deadline) == (ME, YOU, True, 12.5)
    assert arrived.origin == "a"


def test_an_error_arrives_as_its_own_class_with_its_hint():
    reply = Envelope("2", YOU, ME, None, answers="1", failure=Failure.of(DeadlinePassed("too late", hint="wait")))
    error = over_the_wire(reply).failure.error()
    assert (type(error), error.message, error.hint) == (DeadlinePassed, "too late", "wait")


def test_what_has_no_wire_form_is_named():
    with pytest.raises(NotEncodable, match="Parcel"):
        encode_envelope(Envelope("1", ME, YOU, Parcel(object())))


def test_an_unknown_kind_and_a_wrong_body_are_told_apart_from_the_rest_of_the_batch():
    class Packet(msgspec.Struct, array_like=True):
        id: str
        source: str
        target: str
        kind: str
        body: object

    bodies = (("Nope", 1), ("Parcel", 1), ("Parcel", {"text": "x"}))
    packets = [Packet("1", str(ME), str(YOU), kind, body) for kind, body in bodies]
    batch = decode_batch(encode_batch("a", "e", 1, [msgspec.msgpack.encode(packet) for packet in packets]))
    first, second, third = (envelope_of(packet, "a") for packet in batch.packets)
    assert isinstance(first.message, NotDecodable)
    assert isinstance(second.message, NotDecodable)
    assert third.message == Parcel("x")


@given(st.binary(max_size=200))
@example(b"\x94\xa7\x00\x00\x00\x00\x00\x00\x80")
def test_bytes_that_are_no_batch_are_a_typed_error(data):
    try:
        decode_batch(data)
    except NotDecodable:
        return
    assert data


def test_a_request_knows_the_type_of_its_answer():
    assert reply_type(Count) is int
    assert reply_type(Later) == list[Parcel]


def test_an_unknown_code_is_still_an_error_with_its_message():
    error = error_of("from_the_future", "what", "how")
    assert (error.message, error.hint) == ("what", "how")


@pytest.mark.parametrize("text", ["", "a/b", "a/b/c/d", "a//c", "a/b/../c", "a b/c/d", "/b/c"])
def test_what_is_no_address_is_refused(text):
    with pytest.raises(InputError):
        Address.parse(text)


def test_an_address_reads_as_it_prints():
    assert Address.parse(str(ME)) == ME
