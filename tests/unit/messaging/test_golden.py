"""The wire form stays what it is: cells of one runtime, and journals of an earlier one, are read by it.

When a change is meant, `scripts/golden` writes it down, and the diff shows what others will have to read.
"""

from __future__ import annotations

import json

import msgspec
import pytest

from sylk_ray.messaging.wire import Packet, encode_envelope, envelope_of

from .examples import GOLDEN, answered, example, failed, our_messages, told, wire_forms

PINNED = json.loads(GOLDEN.read_text())
HOW = "when that is meant: scripts/golden"


@pytest.fixture(scope="module")
def forms():
    return wire_forms()


def test_every_message_is_pinned(forms):
    assert sorted(forms) == sorted(PINNED), HOW


@pytest.mark.parametrize("name", PINNED)
def test_the_wire_form_is_what_it_was(forms, name):
    assert forms.get(name) == PINNED[name], HOW


@pytest.mark.parametrize("message", our_messages(), ids=lambda message: message.kind)
def test_a_message_comes_out_as_it_went_in(message):
    sent = example(message)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(sent), type=message) == sent


@pytest.mark.parametrize("envelope", [told(), answered(), failed()], ids=["message", "answer", "failure"])
def test_an_envelope_comes_out_as_it_went_in(envelope):
    arrived = envelope_of(msgspec.msgpack.decode(encode_envelope(envelope), type=Packet), "")
    if isinstance(arrived.message, msgspec.Raw):
        arrived.message = msgspec.msgpack.decode(arrived.message)
    assert arrived == envelope
