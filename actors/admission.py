"""Asking FairShare to let the attempts of a session's tasks in."""

from __future__ import annotations

import asyncio

from actors.job_messages import Admitted
from sylk_ray.fairness import Lane, Request
from sylk_ray.pipelines.messages import CHECKS
from sylk_ray.runtime import Context

Attempt = tuple[str, int]


class Admission:
    """The attempts that one orchestrator has asked for. The answers come to it as messages (Admitted)."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self.asked: set[Attempt] = set()
        self._telling: set[asyncio.Task[None]] = set()

    def ask(self, task: str, attempt: int, lane: Lane, *, at_work: bool) -> None:
        """Ask for a pipeline; or, if it is ``at_work`` already, say so."""
        ctx = self._ctx
        demand = {"pipelines": 1.0, "inspectors": 1.0, "testers": 1.0}
        if task != CHECKS:
            demand["engineers"] = 1.0

        def decide(reason: str | None) -> None:
            telling = asyncio.create_task(ctx.tell(ctx.address, Admitted(task, attempt, reason or "")))
            self._telling.add(telling)
            telling.add_done_callback(self._telling.discard)

        session = ctx.address.session
        request = Request(_key(session, task, attempt), session, demand, lane)
        self.asked.add((task, attempt))
        (ctx.leases.claim if at_work else ctx.leases.want)(request, decide)

    def keep(self, attempts: set[Attempt]) -> None:
        """Give back what is for any other attempt."""
        for task, attempt in self.asked - attempts:
            self._ctx.leases.give_back(_key(self._ctx.address.session, task, attempt))
        self.asked &= attempts


def _key(session: str, task: str, attempt: int) -> str:
    """What an attempt is called at FairShare: the same, whichever cell asks."""
    return f"{session}/pipeline/{task}#{attempt}"
