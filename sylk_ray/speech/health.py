"""How well those that are spoken to have answered of late."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from sylk_ray.messaging import Address, CellLost, DeadlinePassed, HandlerFailed, MailboxFull
from sylk_ray.speech.errors import TargetUnwell

FAILURES = 3
"""In a row, after which an agent is left alone."""
PAUSE_S = 10.0
UNWELL = (DeadlinePassed, HandlerFailed, CellLost, MailboxFull)
"""What says something of the agent that it comes from; a refusal does not."""


class TargetHealth(msgspec.Struct):
    """Of one agent, since its session was opened here."""

    answered: int = 0
    failed: int = 0
    in_a_row: int = 0
    last_problem: str = ""
    last_seconds: float = 0.0
    left_alone_until: float = 0.0


class Health:
    """A circuit breaker for each agent: after some failures in a row it is left alone, then tried once more."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._known: dict[Address, TargetHealth] = {}

    def check(self, target: Address) -> None:
        """Raises TargetUnwell while the agent is left alone."""
        health = self._known.get(target)
        if health is not None and self._clock() < health.left_alone_until:
            raise TargetUnwell(
                f"{target} failed {health.in_a_row} times in a row: {health.last_problem}",
                hint=f"it is tried again in {health.left_alone_until - self._clock():.0f} s; see `sylk dead-letters`",
            )

    def answered(self, target: Address, seconds: float) -> None:
        """It answered, be it with a refusal."""
        health = self._known.setdefault(target, TargetHealth())
        health.answered += 1
        health.in_a_row, health.last_seconds, health.left_alone_until = 0, seconds, 0.0

    def failed(self, target: Address, problem: Exception) -> None:
        """It did not."""
        health = self._known.setdefault(target, TargetHealth())
        health.failed += 1
        health.in_a_row += 1
        health.last_problem = str(problem).splitlines()[0][:200] if str(problem) else type(problem).__name__
        if health.in_a_row >= FAILURES:
            health.left_alone_until = self._clock() + PAUSE_S

    def all(self) -> dict[str, TargetHealth]:
        """By address."""
        return {str(target): health for target, health in self._known.items()}
