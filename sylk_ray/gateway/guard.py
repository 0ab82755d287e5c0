"""Who may speak to the gateway: this machine's programs that know the token."""

from __future__ import annotations

import secrets

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from sylk_ray.errors import SylkError
from sylk_ray.gateway.answers import refusal

LOCAL_NAMES = frozenset({"127.0.0.1", "localhost"})


class NotAuthorised(SylkError):
    """A request without the right token."""

    code = "not_authorised"


class ForeignHost(SylkError):
    """A request that a browser was tricked into sending here (DNS rebinding)."""

    code = "foreign_host"


class Guard:
    """Refuses before anything of the request is read. A web page can neither know the token nor be served with a
    header that lets its script read the answer; a foreign Host is refused in case it learns the token after all."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        name, _, port = headers.get("host", "").rpartition(":")
        if (name if port.isdigit() else headers.get("host", "")) not in LOCAL_NAMES:
            error = ForeignHost("this gateway answers to 127.0.0.1 and localhost only", hint="use the address itself")
            await refusal(error, 403)(scope, receive, send)
        elif not secrets.compare_digest(headers.get("authorization", "").encode(), self._expected):
            error = NotAuthorised(
                "the request has no valid token", hint="send `Authorization: Bearer <the content of token>`"
            )
            await refusal(error, 401)(scope, receive, send)
        else:
            await self._app(scope, receive, send)
