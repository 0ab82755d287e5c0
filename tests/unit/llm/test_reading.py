"""Whatever events a server sends, they are pieces, or a provider's failure, and never an error of ours."""

from __future__ import annotations

import contextlib
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sylk_ray.llm import CallPiece, ModelUnavailable, Piece, Usage, UsagePiece
from sylk_ray.llm.anthropic_messages import AnthropicReading
from sylk_ray.llm.openai_chat import OpenAIReading
from sylk_ray.llm.reading import Reading, read_event

NAMES = [
    "type", "index", "delta", "choices", "message", "content", "usage", "tool_calls", "function", "name",
    "arguments", "id", "finish_reason", "stop_reason", "content_block", "text", "thinking", "partial_json",
    "input_tokens", "prompt_tokens", "input",
]  # fmt: skip
WORDS = [
    "message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta",
    "message_stop", "text_delta", "thinking_delta", "input_json_delta", "tool_use", "text", "stop",
    "give_the_answer",
]  # fmt: skip
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=5),
    max_leaves=15,
)
EVENTS = st.lists(st.dictionaries(st.sampled_from(NAMES), ANYTHING, max_size=5), max_size=5)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(EVENTS, st.booleans())
def test_events_of_any_form_are_read_or_told_as_the_providers_failure(events: list[dict[str, Any]], wrapped: bool):
    readings: list[Reading] = [OpenAIReading("here"), AnthropicReading(wrapped=wrapped)]
    for reading in readings:
        for event in events:
            with contextlib.suppress(ModelUnavailable):
                pieces = read_event("here", event, reading)
                assert msgspec.json.decode(msgspec.json.encode(pieces), type=list[Piece]) == pieces


def deltas(*calls: dict[str, Any]) -> list[CallPiece]:
    reading = OpenAIReading("here")
    return [
        piece
        for call in calls
        for piece in read_event("here", {"choices": [{"delta": {"tool_calls": [call]}}]}, reading)
        if isinstance(piece, CallPiece)
    ]


def test_calls_without_an_index_are_told_apart_by_their_ids():
    pieces = deltas(
        {"id": "a", "function": {"name": "run", "arguments": "{}"}},
        {"id": "b", "function": {"name": "run", "arguments": "{"}},
        {"function": {"arguments": "}"}},
        {"id": "a", "function": {"arguments": ""}},
    )
    assert [piece.index for piece in pieces] == [0, 1, 1, 0]


def test_arguments_that_are_an_object_already_are_text_again():
    assert deltas({"index": 0, "id": "a", "function": {"name": "run", "arguments": {"x": 1}}})[0].arguments == '{"x":1}'


def test_an_index_that_makes_no_sense_is_a_failure():
    with pytest.raises(ModelUnavailable, match="index of a call"):
        deltas({"index": 10**9, "function": {"name": "run"}})


def test_anthropic_counts_what_it_had_cached_apart_and_we_do_not():
    reading = AnthropicReading(wrapped=False)
    told = {"input_tokens": 10, "cache_read_input_tokens": 30, "cache_creation_input_tokens": 5, "output_tokens": 1}
    start = read_event("here", {"type": "message_start", "message": {"usage": told}}, reading)
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7}}
    assert start == [UsagePiece(Usage(45, 1, 30))]
    assert read_event("here", end, reading) == [UsagePiece(Usage(45, 7, 30))]
    assert reading.stop is None
    read_event("here", {"type": "message_stop"}, reading)
    assert reading.stop == "end"
