"""What every provider of models must do. A new one joins by a line in ``KINDS``."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from pathlib import Path

import pytest

from sylk_ray.llm import (
    AnthropicMessages,
    CallPiece,
    ModelError,
    OpenAIChat,
    Piece,
    Provider,
    Request,
    StopPiece,
    TextPiece,
    Tool,
    Usage,
    UsagePiece,
    User,
)
from sylk_ray.llm.replay import Exchange, Recorder, Recording, Replay
from tests.models import ModelServer

LOOK = Tool("look", "Look at a file.", {"type": "object", "properties": {"path": {"type": "string"}}})
TEXT, CALLS, BOTH, UNKNOWN = (Request(messages=(User(text),), tools=(LOOK,)) for text in "tcbu")
DATA = Request(messages=(User("d"),), output_schema={"type": "object", "properties": {"a": {"type": "integer"}}})
LONG = "Words that come bit by bit, as a model says them. " * 4
USED = UsagePiece(Usage(50, 20, 10))
ANSWERS: dict[str, tuple[Request, list[Piece]]] = {
    "text": (TEXT, [TextPiece(LONG), USED, StopPiece("end")]),
    "calls": (
        CALLS,
        [CallPiece(0, "a", "look", '{"path": "a.py"}'), CallPiece(1, "b", "look", "{}"), USED, StopPiece("calls")],
    ),
    "both": (BOTH, [TextPiece("I look. "), CallPiece(0, "a", "look", '{"path": "é"}'), USED, StopPiece("calls")]),
    "data": (DATA, [TextPiece('{"a": 1}'), USED, StopPiece("end")]),
}


def recording() -> Recording:
    return Recording(Exchange.of("m", request, pieces) for request, pieces in ANSWERS.values())


KINDS: dict[str, Callable[[str, Path], Provider]] = {
    "openai": lambda url, folder: OpenAIChat("m", base_url=url),
    "anthropic": lambda url, folder: AnthropicMessages("m", base_url=url),
    "replay": lambda url, folder: Replay(recording()),
    "recorded": lambda url, folder: Recorder(OpenAIChat("m", base_url=url), "m", folder / "recorded.jsonl"),
}


@pytest.fixture(params=KINDS)
async def provider(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Provider]:
    with ModelServer(answer=recording().answer) as server:
        made = KINDS[request.param](server.url, tmp_path)
        yield made
        await made.aclose()


async def pieces_of(provider: Provider, request: Request) -> list[Piece]:
    return [piece async for piece in provider.stream(request)]


def of_call(pieces: list[Piece], order: int) -> tuple[str, str, str]:
    """Id, name and arguments of a call, put together."""
    indexes = sorted({piece.index for piece in pieces if isinstance(piece, CallPiece)})
    parts = [piece for piece in pieces if isinstance(piece, CallPiece) and piece.index == indexes[order]]
    return parts[0].id, parts[0].name, "".join(part.arguments for part in parts)


async def test_a_text_comes_in_several_pieces_and_ends(provider: Provider):
    pieces = await pieces_of(provider, TEXT)
    texts = [piece.text for piece in pieces if isinstance(piece, TextPiece)]
    assert len(texts) > 3
    assert "".join(texts) == LONG
    assert pieces[-1] == StopPiece("end")
    assert [piece for piece in pieces if isinstance(piece, UsagePiece)][-1] == USED
    assert sum(isinstance(piece, StopPiece) for piece in pieces) == 1


async def test_calls_have_their_id_name_and_arguments(provider: Provider):
    pieces = await pieces_of(provider, CALLS)
    assert of_call(pieces, 0) == ("a", "look", '{"path": "a.py"}')
    assert of_call(pieces, 1) == ("b", "look", "{}")
    assert pieces[-1] == StopPiece("calls")


async def test_a_text_and_a_call_come_in_their_order(provider: Provider):
    pieces = await pieces_of(provider, BOTH)
    kinds = [type(piece) for piece in pieces if isinstance(piece, (TextPiece, CallPiece))]
    assert kinds == sorted(kinds, key=[TextPiece, CallPiece].index)
    assert of_call(pieces, 0)[2] == '{"path": "é"}'


async def test_data_is_a_text_of_json(provider: Provider):
    pieces = await pieces_of(provider, DATA)
    assert "".join(piece.text for piece in pieces if isinstance(piece, TextPiece)) == '{"a": 1}'
    assert pieces[-1] == StopPiece("end")


async def test_what_cannot_be_answered_is_a_model_error(provider: Provider):
    with pytest.raises(ModelError):
        await pieces_of(provider, UNKNOWN)


async def test_an_answer_may_be_left_in_the_middle_and_the_next_is_whole(provider: Provider):
    async with aclosing(provider.stream(TEXT)) as stream:
        assert isinstance(await anext(stream), (TextPiece, UsagePiece))
    assert (await pieces_of(provider, CALLS))[-1] == StopPiece("calls")


async def test_answers_may_come_at_the_same_time(provider: Provider):
    many = await asyncio.gather(*(pieces_of(provider, request) for request in [TEXT, CALLS, BOTH, DATA] * 3))
    assert [pieces[-1] for pieces in many] == [StopPiece(end) for end in ("end", "calls", "calls", "end")] * 3


def test_a_provider_has_a_name(provider: Provider):
    assert provider.name
