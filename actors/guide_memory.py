"""What the Guide keeps of a session's conversation: the lines, as long as they fit a model's window, and what it has
learnt of routing from them."""

from __future__ import annotations

import asyncio
from collections import deque

import msgspec

from sylk_ray.context_window import (
    Checkpoint,
    ContextMemory,
    ContextState,
    GuideSummary,
    Routing,
    RoutingKnowledge,
    policy_of,
)
from sylk_ray.hooks import Hooks, SessionCompaction
from sylk_ray.messaging import Event
from sylk_ray.runtime import Context

CHECKPOINT = "guide.checkpoint"
AT_ONCE = 1_000
WINDOW_TOKENS = 200_000
BYTES_PER_TOKEN = 4
"""Roughly. Counting exactly needs tables of 70 MB, and this decides only when a summary is due."""


class GuideMemory:
    """Of one session. Checkpoints go to the session's history as ``guide.checkpoint``."""

    def __init__(self, ctx: Context, hooks: Hooks, window_tokens: int = WINDOW_TOKENS) -> None:
        self.knowledge = RoutingKnowledge()
        self._ctx = ctx
        self._hooks = hooks
        self._window = window_tokens
        self._lines: deque[str] = deque()
        self._bytes = 0
        self._chores: set[asyncio.Task[None]] = set()
        self._memory = self._remember()

    async def recall(self) -> None:
        """Go on from the last summary in the session's history, if there is one: this router may not be the first."""
        latest: Event | None = None
        after = 0
        while events := await self._ctx.journal.events(after, AT_ONCE):
            after = events[-1].sequence
            latest = next((event for event in reversed(events) if event.kind == CHECKPOINT), latest)
        if latest is not None:
            summary = msgspec.convert(latest.data["summary"], GuideSummary)
            self.knowledge = RoutingKnowledge(summary=summary)
            self._memory = self._remember(ContextState(next_index=summary.checkpoint_index + 1))

    def _remember(self, state: ContextState | None = None) -> ContextMemory:
        return ContextMemory(
            self._ctx.address.session,
            "guide",
            policy_of("guide"),
            window_tokens=self._window,
            summarise=self.knowledge.summarise,
            sink=self,
            compact=self._compact,
            clock=self._ctx.clock,
            state=state,
        )

    @property
    def used_tokens(self) -> int:
        """About how many tokens the lines are."""
        return self._bytes // BYTES_PER_TOKEN

    def note(self, routing: Routing) -> None:
        """Keep a routing, and make a summary in the background when one is due."""
        self.knowledge.observe(routing)
        self._add(msgspec.json.encode(routing).decode())
        chore = asyncio.create_task(self._observe())
        self._chores.add(chore)
        chore.add_done_callback(self._chores.discard)

    def close(self) -> None:
        """Make no more summaries."""
        for chore in list(self._chores):
            chore.cancel()

    async def submit(self, checkpoint: Checkpoint) -> None:
        """The sink of the checkpoints."""
        await self._ctx.publish(
            CHECKPOINT,
            category=checkpoint.category,
            moment=msgspec.to_builtins(checkpoint.moment),
            summary=checkpoint.summary,
        )

    async def _observe(self) -> None:
        report = await self._memory.observe(self.used_tokens)
        for problem in report.problems:
            self._ctx.log.warning("%s", problem)

    async def _compact(self, target: int, checkpoint: Checkpoint) -> int:
        """The summary takes the place of the oldest lines. A hook that says no leaves them."""
        await self._hooks.run(
            SessionCompaction(
                session=self._ctx.address.session,
                agent=self._ctx.address,
                used_tokens=self.used_tokens,
                window_tokens=self._window,
                target_tokens=target,
            )
        )
        summary = msgspec.json.encode(checkpoint.summary).decode()
        while self._lines and self.used_tokens + len(summary) // BYTES_PER_TOKEN > target:
            self._bytes -= len(self._lines.popleft())
        self._lines.appendleft(summary)
        self._bytes += len(summary)
        return self.used_tokens

    def _add(self, line: str) -> None:
        self._lines.append(line)
        self._bytes += len(line)
        while self.used_tokens > self._window:  # a hook may refuse to have it compacted
            self._bytes -= len(self._lines.popleft())
