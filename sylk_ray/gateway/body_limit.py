"""How large a request may be."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sylk_ray.errors import InputError
from sylk_ray.gateway.answers import refusal

LARGEST = 2 << 20
_DRAINED = 32 << 20
"""More than the limit is read and thrown away, up to here: a client that still sends would not see the answer."""


class TooLarge(InputError):
    """A request whose body is above the limit."""

    code = "too_large"


class BodyLimit:
    """Takes a body in before the application sees the request, and refuses one that is too large."""

    def __init__(self, app: ASGIApp, largest: int = LARGEST) -> None:
        self._app = app
        self._largest = largest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        kept: list[Message] = []
        size = 0
        while size <= _DRAINED:
            message = await receive()
            size += len(message.get("body", b""))
            if size <= self._largest:
                kept.append(message)
            if not message.get("more_body", False):
                break
        if size > self._largest:
            error = TooLarge(
                f"the request's body is larger than {self._largest >> 20} MB",
                hint="a job has room for that in its repository: let an action read it from there",
            )
            await refusal(error, 413)(scope, receive, send)
            return
        kept.reverse()

        async def replayed() -> Message:
            return kept.pop() if kept else await receive()

        await self._app(scope, replayed, send)
