"""Asking FairShare to let the attempts of a session's tasks in."""

from __future__ import annotations

from actors.job_messages import Admitted
from sylk_ray.fairness import Lane, Request
from sylk_ray.pipelines.brief import CHECKS
from sylk_ray.runtime import Context, Reminders

Attempt = tuple[str, int]


class Admission:
    """The attempts that one orchestrator has asked for. The answers come to it as messages (Admitted)."""

    def __init__(self, ctx: Context, reminders: Reminders) -> None:
        self._ctx = ctx
        self._reminders = reminders
        self.asked: set[Attempt] = set()

    def ask(self, task: str, attempt: int, lane: Lane, *, at_work: bool) -> None:
        """Ask for a pipeline; or, if it is ``at_work`` already, say so."""
        ctx = self._ctx
        demand = {"pipelines": 1.0, "inspectors": 1.0, "testers": 1.0}
        if task != CHECKS:
            demand["engineers"] = 1.0

        def decide(reason: str | None) -> None:
            self._reminders.send(Admitted(task, attempt, reason or ""))

        session = ctx.address.session
        request = Request(key_of(session, task, attempt), session, demand, lane)
        self.asked.add((task, attempt))
        (ctx.leases.claim if at_work else ctx.leases.want)(request, decide)

    def keep(self, attempts: set[Attempt]) -> None:
        """Give back what is for any other attempt."""
        for task, attempt in self.asked - attempts:
            self._ctx.leases.give_back(key_of(self._ctx.address.session, task, attempt))
        self.asked &= attempts


def key_of(session: str, task: str, attempt: int) -> str:
    """What an attempt is called at FairShare: the same, whichever cell asks."""
    return f"{session}/pipeline/{task}#{attempt}"
