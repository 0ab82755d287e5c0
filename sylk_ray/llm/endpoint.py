"""One address over HTTP: a request out, the events of its answer in."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import Any
from urllib.parse import urlsplit

import httpx
import msgspec

from sylk_ray import __version__
from sylk_ray.llm.errors import ModelError, ModelRefused, ModelUnavailable
from sylk_ray.llm.event_stream import LONGEST, EventStream, EventTooLong
from sylk_ray.llm.keys import Key
from sylk_ray.llm.refusals import refusal

CONNECT_S = 10.0
DRAIN_S = 0.5
"""How long the end of a stream may take after its last event; a connection that is read to its end is used again."""
MOST_OF_A_REFUSAL = 64 << 10
DONE = b"[DONE]"


class Endpoint:
    """Posts JSON and yields the events that come back, decoded. Its client belongs to the loop that uses it first."""

    def __init__(
        self,
        base_url: str,
        path: str,
        key: Key,
        headers: Callable[[str], dict[str, str]],
        *,
        first_token_s: float,
        stall_s: float,
    ) -> None:
        """``headers`` are those that go with a key, which may be empty."""
        self._url = f"{base_url.rstrip('/')}/{path}"
        parts = urlsplit(base_url)
        self.name = parts.netloc
        self._key = key
        self._headers = headers
        self._first_token_s = first_token_s
        self._stall_s = stall_s
        self._local = parts.hostname in ("localhost", "::1") or (parts.hostname or "").startswith("127.")
        self._client: httpx.AsyncClient | None = None

    async def events(self, body: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        """The events of the answer, or its one document when the server does not stream. Closing it closes the request.

        Raises ModelError: without the key in it.
        """
        key = self._key.read()
        headers = {"accept": "text/event-stream", "content-type": "application/json", **self._headers(key)}
        client = self._client = self._client or self._open()
        request = client.build_request("POST", self._url, content=_encode(body), headers=headers)
        try:
            async with asyncio.timeout(self._first_token_s):
                response = await client.send(request, stream=True)
        except TimeoutError:
            raise self._silent(self._first_token_s) from None
        except httpx.HTTPError as problem:
            raise self._unreachable(problem) from None
        try:
            async with aclosing(self._read(response)) as events:
                async for event in events:
                    yield event
        except httpx.HTTPError as problem:
            raise ModelUnavailable(f"{self.name} broke off: {_told(problem)}") from None
        except EventTooLong:
            raise ModelUnavailable(f"{self.name} sent an event without an end") from None
        finally:
            await response.aclose()

    async def aclose(self) -> None:
        """Close the connections that are kept."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    def _open(self) -> httpx.AsyncClient:
        # A proxy of the environment is not for this machine itself.
        return httpx.AsyncClient(
            timeout=httpx.Timeout(None, connect=CONNECT_S),
            headers={"user-agent": f"sylk/{__version__}"},
            trust_env=not self._local,
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=16),
        )

    async def _read(self, response: httpx.Response) -> AsyncGenerator[dict[str, Any]]:
        chunks = response.aiter_bytes()
        if not response.is_success:
            raise self.hidden(refusal(self.name, response.status_code, await self._rest(chunks), response.headers))
        kind = response.headers.get("content-type", "")
        if kind.startswith("application/json"):
            yield self._decoded(await self._rest(chunks, LONGEST))
            return
        if kind and not kind.startswith(("text/event-stream", "text/plain", "application/octet-stream")):
            raise ModelRefused(
                f"{self.name} answered with {kind.split(';')[0]}, which is no stream of events",
                hint="look at the model's base_url: it often ends in /v1",
            )
        stream, wait_s = EventStream(), self._first_token_s
        while (chunk := await self._next(chunks, wait_s)) is not None:
            for data in stream.feed(chunk):
                if data.strip() == DONE:
                    await self._drain(chunks)
                    return
                yield self._decoded(data)
            wait_s = self._stall_s

    async def _next(self, chunks: AsyncIterator[bytes], wait_s: float) -> bytes | None:
        try:
            async with asyncio.timeout(wait_s):
                return await anext(chunks, None)
        except TimeoutError:
            raise self._silent(wait_s) from None

    async def _rest(self, chunks: AsyncIterator[bytes], most: int = MOST_OF_A_REFUSAL) -> bytes:
        found = b""
        while len(found) < most and (chunk := await self._next(chunks, self._stall_s)) is not None:
            found += chunk
        return found

    async def _drain(self, chunks: AsyncIterator[bytes]) -> None:
        try:
            async with asyncio.timeout(DRAIN_S):
                async for _ in chunks:
                    pass
        except (TimeoutError, httpx.HTTPError):
            pass  # the answer is whole; only the connection is lost

    def _decoded(self, data: bytes) -> dict[str, Any]:
        try:
            return msgspec.json.decode(data, type=dict[str, Any])
        except (msgspec.DecodeError, RecursionError):
            shown = self._key.hide(data[:120].decode("utf-8", "replace"))
            raise ModelUnavailable(f"{self.name} sent what is no JSON object: {shown}") from None

    def hidden(self, error: ModelError) -> ModelError:
        """The same without the key, which servers like to repeat."""
        made = type(error)(self._key.hide(error.message), hint=error.hint)
        made.after_s = error.after_s
        return made

    def _silent(self, seconds: float) -> ModelUnavailable:
        return ModelUnavailable(
            f"{self.name} said nothing for {seconds:g} s", hint="first_token_s and stall_s of the model allow it more"
        )

    def _unreachable(self, problem: httpx.HTTPError) -> ModelUnavailable:
        return ModelUnavailable(
            f"{self.name} cannot be reached: {_told(problem)}", hint="is the server up, and base_url right?"
        )


def _told(problem: httpx.HTTPError) -> str:
    return str(problem) or type(problem).__name__


def _encode(body: dict[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:  # what a tool has read need not be text
        return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
