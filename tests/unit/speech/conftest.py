"""A dispatcher with agents that are functions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from sylk_ray.hooks import Hooks
from sylk_ray.messaging import Address, Request
from sylk_ray.routing import RouteCache
from sylk_ray.runtime import ManualClock
from sylk_ray.speech import Dispatcher, Heard, NobodyOfThatName, Planner, Receivers, Said, Say, Voice

ROUTER = Address("s-1", "router", "main")
VOICES = {
    "orchestrator": Voice("orchestrator", "the work"),
    "tester": Voice("tester", "tests"),
    "inspector": Voice("inspector", "reviews"),
    "engineer": Voice("engineer", "changes", named=True),
}

Answer = Callable[[Request[Heard]], Awaitable[Heard]]


class Conversation:
    """What was sent, and to whom; ``answers`` says what comes back, by role."""

    def __init__(self) -> None:
        self.clock = ManualClock(1_000.0)
        self.hooks = Hooks(clock=self.clock)
        self.receivers = Receivers("s-1", ROUTER, VOICES)
        self.cache = RouteCache(self.clock.now)
        self.sent: list[tuple[Address, Any]] = []
        self.learnt: list[str] = []
        self.routed: list[Any] = []
        self.answers: dict[str, Answer] = {}
        self.tasks = {"use_pathlib"}
        self.planner = Planner(
            self.receivers,
            self.cache,
            now=lambda: datetime(2026, 11, 22, 12, tzinfo=UTC),
            learnt=lambda text, route: self.learnt.append(text),
        )
        self.dispatcher = Dispatcher(
            "s-1",
            ROUTER,
            receivers=self.receivers,
            planner=self.planner,
            cache=self.cache,
            hooks=self.hooks,
            clock=self.clock,
            ask=self._ask,
            find_task=self._find_task,
            routed=self.routed.append,
        )

    async def _ask(self, target: Address, message: Request[Heard], *, timeout: float) -> Heard:
        self.sent.append((target, message))
        answer = self.answers.get(target.role)
        return await answer(message) if answer is not None else Heard(f"{target.role} heard")

    async def _find_task(self, name: str) -> str:
        if name not in self.tasks:
            raise NobodyOfThatName(f"nobody is at work on {name}")
        return name

    async def say(self, text: str, **more: Any) -> Said:
        return await self.dispatcher.say(Say(text, **more))


@pytest.fixture
def talk() -> Conversation:
    return Conversation()
