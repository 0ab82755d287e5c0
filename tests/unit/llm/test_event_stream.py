"""Events come out whole, however their bytes were cut."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sylk_ray.llm import event_stream
from sylk_ray.llm.event_stream import EventStream, EventTooLong

STREAM = (
    ': a comment\nevent: x\ndata: {"a": "\u2028\x85\x0b"}\n\n'
    "data: one\r\ndata: two\r\nid: 7\r\n\r\n"
    "data:three\r\rretry: 5\n\ndata:\n\ndata: not whole\n"
).encode()
WHOLE = ['{"a": "\u2028\x85\x0b"}'.encode(), b"one\ntwo", b"three", b""]


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.integers(0, len(STREAM)), max_size=8))
def test_events_are_the_same_wherever_the_bytes_are_cut(cuts: list[int]):
    stream, found = EventStream(), []
    places = [0, *sorted(cuts), len(STREAM)]
    for start, end in itertools.pairwise(places):
        found += stream.feed(STREAM[start:end])
    assert found == WHOLE


def test_an_event_without_an_end_is_given_up(monkeypatch):
    monkeypatch.setattr(event_stream, "LONGEST", 100)
    stream = EventStream()
    assert list(stream.feed(b"data: " + b"x" * 50)) == []
    with pytest.raises(EventTooLong):
        list(stream.feed(b"x" * 50))
