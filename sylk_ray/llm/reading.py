"""Reading the events of an answer: a stream of JSON objects to pieces, in whichever protocol."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from typing import Any, Protocol

from sylk_ray.llm.endpoint import Endpoint
from sylk_ray.llm.errors import ModelUnavailable
from sylk_ray.llm.refusals import refusal_in_stream
from sylk_ray.llm.reply import Piece, Stop, StopPiece


class Reading(Protocol):
    """What has come of one answer so far."""

    def pieces_of(self, event: dict[str, Any]) -> Iterator[Piece]:
        """What an event tells. What it raises for one that is not of its protocol is told as a provider's failure."""
        ...

    @property
    def stop(self) -> Stop | None:
        """Why the answer ended; None while it has not."""
        ...


async def read_answer(endpoint: Endpoint, body: dict[str, Any], reading: Reading) -> AsyncGenerator[Piece]:
    """The pieces of an answer, the last of them a StopPiece. Raises ModelError."""
    async with aclosing(endpoint.events(body)) as events:
        async for event in events:
            if error := event.get("error"):
                raise endpoint.hidden(refusal_in_stream(endpoint.name, error))
            try:
                pieces = read_event(endpoint.name, event, reading)
            except ModelUnavailable as unreadable:
                raise endpoint.hidden(unreadable) from None
            for piece in pieces:
                yield piece
    if reading.stop is None:
        raise ModelUnavailable(f"{endpoint.name} broke off: the answer has no end")
    yield StopPiece(reading.stop)


def text_of(value: Any) -> str:
    """A text, or nothing for null. Raises TypeError."""
    if value is None or isinstance(value, str):
        return value or ""
    raise TypeError(f"a text is wanted, and {type(value).__name__} came")


def read_event(where: str, event: dict[str, Any], reading: Reading) -> list[Piece]:
    """The pieces of one event. Raises ModelUnavailable for one that cannot be read."""
    try:
        return list(reading.pieces_of(event))
    except (AttributeError, KeyError, IndexError, TypeError, ValueError, OverflowError) as problem:
        raise ModelUnavailable(
            f"{where} sent an event that cannot be read: {type(problem).__name__}: {problem}"[:300],
            hint="is this the right `provider` for the address?",
        ) from problem
