"""A pipeline's own way between its agents, past the session's router."""

from __future__ import annotations

from sylk_ray.messaging import Message
from sylk_ray.pipelines.messages import (
    WORKERS,
    EngineerDone,
    FinishWork,
    Implement,
    Inspect,
    InspectorDone,
    SendBack,
    StopWork,
    Test,
    TesterDone,
    WorkerFailed,
)
from sylk_ray.runtime import Context


class PipelineBus:
    """Seen from one of the pipeline's agents. Each method returns once the receiver has the message."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx

    async def to_engineer(self, message: Implement | SendBack) -> None:
        """Work, or feedback on it."""
        await self._tell("engineer", message)

    async def to_inspector(self, message: Inspect) -> None:
        """Work to look at."""
        await self._tell("inspector", message)

    async def to_tester(self, message: Test) -> None:
        """Work to test."""
        await self._tell("tester", message)

    async def to_pipeline(self, message: EngineerDone | InspectorDone | TesterDone | WorkerFailed) -> None:
        """What came of it. Tell the pipeline before the next agent, so that it hears of phases in order."""
        await self._tell("pipeline", message)

    async def stop(self, attempt: int) -> None:
        """Stop all three, one after the other in the order in which work flows."""
        for role in WORKERS:
            worker = self._ctx.address.beside(role)
            await self._ctx.ask(worker, StopWork(attempt), timeout=60)
            await self._ctx.ask(worker, FinishWork(attempt), timeout=60)

    async def _tell(self, role: str, message: Message) -> None:
        await self._ctx.tell_direct(self._ctx.address.beside(role), message)
