"""What the tests of calls have in common: requests, and models at a server whose pauses are not waited for."""

from __future__ import annotations

import time
from typing import Any

from sylk_ray.config import Model
from sylk_ray.llm import (
    Models,
    Request,
    Tool,
    User,
)
from sylk_ray.llm.retrying import Retrying
from tests.models import ModelServer

ASK = Request(messages=(User("hello?"),), system="Be brief.")
READ = Tool(
    "read_file",
    "Read a file.",
    {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"], "additionalProperties": False},
)
CITY: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "people": {"type": "integer"}},
    "required": ["name", "people"],
    "additionalProperties": False,
}


class World:
    """Models at a server; pauses between attempts are written down and not waited for."""

    def __init__(self, server: ModelServer, protocol: str = "openai", **more: Any) -> None:
        self.pauses: list[float] = []
        self.time = time.time()
        self.settings = {"fast": Model(provider=protocol, base_url=server.url, model="small-1", **more)}  # type: ignore[arg-type]
        self.models = Models(
            self.settings, now=self.now, sleep=self.sleep, chance=lambda: 0.5, retrying=Retrying(attempts=3)
        )

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.time += seconds
