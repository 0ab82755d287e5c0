"""The package's public face: its names are there, its example is true, and counting tokens loads no HTTP client."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from typing import Any

import msgspec

import sylk_ray.llm
from sylk_ray.config import Model
from sylk_ray.llm import Call, CallPiece, Request, StopPiece, ToolResult
from tests.models import ModelServer
from tests.models.server import says


def test_every_public_name_is_there():
    assert [name for name in sylk_ray.llm.__all__ if not hasattr(sylk_ray.llm, name)] == []
    assert list(sylk_ray.llm.__all__) == sorted(sylk_ray.llm.__all__)


def test_counting_tokens_loads_no_http_client():
    script = "import sys, sylk_ray.skills, sylk_ray.llm; sys.exit('httpx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False, timeout=60).returncode == 0


async def test_the_example_of_its_docstring_runs():
    [example] = re.findall(r"::\n\n((?:    .*\n|\n)+)", sylk_ray.llm.__doc__ or "")
    lines = [line[4:] for line in example.splitlines()][1:]  # the settings are the test's
    script = "async def example():\n" + "\n".join(f"    {line}" for line in lines) + "\n    return request"
    shown: list[Any] = []

    async def run(call: Call) -> str:
        return f"ran {call.name}"

    with ModelServer(
        [CallPiece(0, "a", "read_file", '{"path": "setup.py"}'), StopPiece("calls")], says("ok")
    ) as server:
        settings = type("Settings", (), {"models": {"m": Model(base_url=server.url, model="m")}, "model_for": {}})
        names = {name: getattr(sylk_ray.llm, name) for name in sylk_ray.llm.__all__}
        scope = {**names, "settings": settings, "msgspec": msgspec, "time": time, "show": shown.append, "run": run}
        exec(script, scope)
        request: Request = await scope["example"]()
    assert shown
    assert request.messages[-1] == ToolResult("a", "read_file", "ran read_file")
    assert request.messages[-2].calls == (Call("a", "read_file", {"path": "setup.py"}),)
