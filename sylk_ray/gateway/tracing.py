"""Every HTTP request begins a trace, or goes on with the one that its client is at."""

from __future__ import annotations

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sylk_ray.messaging.trace import begin_trace, trace_of


class Tracing:
    """Takes the trace from a W3C ``traceparent`` header when there is a valid one; the answer names it in
    ``X-Trace-Id``, so that a person can look for it in logs, events and journals."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        with begin_trace(trace_of(Headers(scope=scope).get("traceparent", ""))) as trace:

            async def naming(message: Message) -> None:
                if message["type"] == "http.response.start":
                    MutableHeaders(scope=message)["X-Trace-Id"] = trace
                await send(message)

            await self._app(scope, receive, naming)
