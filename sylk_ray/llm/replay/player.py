"""A provider that answers from a recording, without a network."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

from sylk_ray.llm.replay.recording import Recording
from sylk_ray.llm.reply import CallPiece, Piece, TextPiece
from sylk_ray.llm.request import Request

AT_ONCE = 24
"""Characters of a text that come in one piece."""


class Replay:
    """Answers as was recorded."""

    def __init__(self, recording: Recording | Path) -> None:
        """A file is read by the first request."""
        self._recording = recording if isinstance(recording, Recording) else None
        self._file = recording.expanduser() if isinstance(recording, Path) else None

    @property
    def name(self) -> str:
        """Its file."""
        return f"replay of {self._file or 'a recording'}"

    async def stream(self, request: Request) -> AsyncGenerator[Piece]:
        """The recorded pieces. Raises UnknownRequest, RecordingUnreadable."""
        if self._recording is None:
            assert self._file is not None
            self._recording = Recording.read(self._file)
        for whole in self._recording.answer(request):
            for piece in in_parts(whole):
                yield piece
                await asyncio.sleep(0)

    async def aclose(self) -> None:
        """There is nothing to close."""


def in_parts(piece: Piece) -> Iterator[Piece]:
    """A piece as it may have come, bit by bit."""
    if isinstance(piece, TextPiece):
        for start in range(0, len(piece.text), AT_ONCE):
            yield TextPiece(piece.text[start : start + AT_ONCE])
    elif isinstance(piece, CallPiece):
        yield CallPiece(piece.index, piece.id, piece.name)
        for start in range(0, len(piece.arguments), AT_ONCE):
            yield CallPiece(piece.index, arguments=piece.arguments[start : start + AT_ONCE])
    else:
        yield piece
