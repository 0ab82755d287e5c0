"""What asking a model costs besides the model: a bare HTTP stream and ``Models.call`` in turn, at the same server.

The server is a process of its own, answers at once, in both protocols, and has no model. Understanding is measured on
its own: an answer with a call in a fence, and one of the same length that has none.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import statistics
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from multiprocessing.connection import Connection
from typing import Literal

import httpx

from benchmarks.table import Row
from sylk_ray.config import Model
from sylk_ray.llm import Meter, Models, OpenAIChat, Request, StopPiece, TextPiece, Tool, User, count_tokens
from sylk_ray.llm.assembling import Assembly
from sylk_ray.llm.understanding import understand
from tests.models import ModelServer
from tests.models.server import says

TIMES = 60
BAR_MS = 20.0
PATHS = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOLS = tuple(Tool(f"tool_{number}", "Do a thing with a path.", PATHS) for number in range(20))
PARAGRAPH = "The parser reads a line, and gives what it has found to whoever asked for it. "
ASK = Request(
    system="You are one of several who work on a repository. " * 40,
    messages=tuple(User(PARAGRAPH * 60) for _ in range(10)),
    tools=TOOLS,
)
"""About 12,000 tokens."""
ANSWER = PARAGRAPH * 20


async def measure() -> list[Row]:
    """A call's own cost, of 12,000 tokens in and 360 out."""
    here, there = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=_serve, args=(there,), daemon=True)
    server.start()
    url: str = await asyncio.to_thread(here.recv)
    count_tokens("the vocabulary is loaded")
    try:
        return [*await _calls(url), *_understanding()]
    finally:
        server.kill()
        server.join()


async def _calls(url: str) -> list[Row]:
    kinds: dict[str, Literal["openai", "anthropic"]] = {"chat completions": "openai", "messages": "anthropic"}
    models = {name: Models({"m": Model(provider=kind, base_url=url, model="m")}) for name, kind in kinds.items()}
    body = OpenAIChat("m", base_url=url).body(ASK)
    taken: dict[str, list[float]] = {"bare": [], **{name: [] for name in kinds}, "admitted": []}
    async with httpx.AsyncClient(trust_env=False) as client:
        for _ in range(TIMES):
            started = time.perf_counter()
            async with client.stream("POST", f"{url}/chat/completions", json=body) as response:
                async for _ in response.aiter_bytes():
                    pass
            taken["bare"].append(time.perf_counter() - started)
            for name in kinds:
                started = time.perf_counter()
                await models[name].call("m", ASK)
                taken[name].append(time.perf_counter() - started)
            started = time.perf_counter()
            await models["chat completions"].call("m", ASK, admit=_admit)
            taken["admitted"].append(time.perf_counter() - started)
    for each in models.values():
        await each.aclose()
    bare, *ours = (statistics.median(times[5:]) * 1e3 for times in taken.values())
    told = [*(f"a call by {name}" for name in kinds), "a call that is admitted, its input's tokens counted first"]
    return [
        Row("a bare stream of 12,000 tokens in and 360 out, median", bare, "ms", None),
        *(Row(f"... {what}, beyond that", took - bare, "ms", BAR_MS) for what, took in zip(told, ours, strict=True)),
    ]


def _understanding() -> list[Row]:
    call = '\n```json\n{"name": "tool_3", "arguments": {"path": "a.py",}}\n```'
    rows: list[Row] = []
    for what, text in (("with a call in a fence", ANSWER + call), ("without a call", ANSWER)):
        assembly = Assembly()
        for piece in (TextPiece(text), StopPiece("end")):
            assembly.add(piece)
        assert len(understand(ASK, assembly).calls) == (text != ANSWER)
        times: list[float] = []
        for _ in range(TIMES):
            started = time.perf_counter()
            understand(ASK, assembly)
            times.append(time.perf_counter() - started)
        rows.append(Row(f"understanding 360 tokens {what}, median", statistics.median(times) * 1e6, "us", None))
    return rows


class _Unmetered:
    def charge(self, *, input: float = 0, output: float = 0) -> None:
        pass


@asynccontextmanager
async def _admit(limits: str, tokens: int) -> AsyncGenerator[Meter]:
    yield _Unmetered()


def _serve(told: Connection) -> None:
    with ModelServer(answer=lambda request: says(ANSWER)) as server:
        told.send(server.url)
        time.sleep(3600)
