"""What a provider of models does."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Protocol

from sylk_ray.llm.reply import Piece
from sylk_ray.llm.request import Request


class Provider(Protocol):
    """One model at one address, asked once: trying again, choosing and paying is what ``Models`` does."""

    @property
    def name(self) -> str:
        """Where it is asked; what has the same name fails together."""
        ...

    def stream(self, request: Request) -> AsyncGenerator[Piece]:
        """The pieces of the answer as they come; the last is a ``StopPiece``. Closing it ends the request.

        Raises ModelError.
        """
        ...

    async def aclose(self) -> None:
        """Close its connections."""
        ...
