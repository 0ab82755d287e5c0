"""A provider that writes down what is said to another one, and what comes back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

from sylk_ray.llm.errors import KeyMissing
from sylk_ray.llm.keys import Key
from sylk_ray.llm.provider import Provider
from sylk_ray.llm.replay.recording import Exchange, append
from sylk_ray.llm.reply import Piece, StopPiece
from sylk_ray.llm.request import Request


class Recorder:
    """Adds each exchange that came to its end to a file; what was cut off is not recorded."""

    def __init__(self, provider: Provider, model: str, file: Path, key: Key | None = None) -> None:
        self._provider = provider
        self._model = model
        self._file = file.expanduser()
        self._key = key or Key()

    @property
    def name(self) -> str:
        """The provider's."""
        return self._provider.name

    async def stream(self, request: Request) -> AsyncGenerator[Piece]:
        """The provider's pieces."""
        pieces: list[Piece] = []
        async with aclosing(self._provider.stream(request)) as stream:
            async for piece in stream:
                pieces.append(piece)
                if isinstance(piece, StopPiece):
                    exchange = Exchange.of(self._model, request, pieces, self._secrets())
                    await asyncio.to_thread(append, self._file, exchange)
                yield piece

    async def aclose(self) -> None:
        """Close the provider."""
        await self._provider.aclose()

    def _secrets(self) -> list[str]:
        try:
            return [key] if (key := self._key.read()) else []
        except KeyMissing:
            return []
