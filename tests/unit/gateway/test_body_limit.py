from __future__ import annotations

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from sylk_ray.gateway.body_limit import LARGEST, BodyLimit


async def measure(scope: Scope, receive: Receive, send: Send) -> None:
    body = await Request(scope, receive).body()
    await PlainTextResponse(str(len(body)))(scope, receive, send)


async def posted(body) -> httpx.Response:
    transport = httpx.ASGITransport(BodyLimit(measure))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        return await client.post("/", content=body)


async def pieces(size: int):
    for _ in range(size >> 16):
        yield b"x" * (1 << 16)


@pytest.mark.parametrize("body", [b"", b"x", b"x" * LARGEST])
async def test_a_body_within_the_limit_arrives_whole(body):
    answer = await posted(body)
    assert (answer.status_code, answer.text) == (200, str(len(body)))


async def test_a_body_in_pieces_arrives_whole():
    assert (await posted(pieces(LARGEST))).text == str(LARGEST)


@pytest.mark.parametrize("size", [LARGEST + (1 << 16), 3 * LARGEST, 100 << 20])
async def test_a_larger_body_is_refused_whether_it_tells_its_length_or_not(size):
    for body in (b"x" * size, pieces(size)):
        answer = await posted(body)
        assert answer.status_code == 413
        assert answer.json()["error"]["code"] == "too_large"
        assert "2 MB" in answer.json()["error"]["message"]


async def test_the_gateway_has_the_limit_behind_its_guard(http):
    large = {"job": "x" * LARGEST}
    assert (await http.post("/jobs", json=large)).status_code == 413
    assert (await http.post("/jobs", json=large, headers={"Authorization": ""})).status_code == 401
