"""Where a pipeline is, and how often its work may be sent back."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from sylk_ray.errors import SylkError
from sylk_ray.sessions.records import Loops


class Phase(StrEnum):
    """The phases of a pipeline; the last two are final."""

    CREATED = "created"
    RUNNING = "running"
    INSPECTING = "inspecting"
    TESTING = "testing"
    COMPLETED = "completed"
    FAILED = "failed"


class IllegalPhase(SylkError):
    """A pipeline cannot go from one phase to another."""

    code = "illegal_phase"


_NEXT: dict[Phase, frozenset[Phase]] = {
    Phase.CREATED: frozenset({Phase.RUNNING, Phase.FAILED}),
    Phase.RUNNING: frozenset({Phase.INSPECTING, Phase.FAILED}),
    Phase.INSPECTING: frozenset({Phase.RUNNING, Phase.TESTING, Phase.FAILED}),
    # From testing back to running: feedback, or a merge conflict.
    Phase.TESTING: frozenset({Phase.RUNNING, Phase.COMPLETED, Phase.FAILED}),
    Phase.COMPLETED: frozenset(),
    Phase.FAILED: frozenset(),
}


def may_send_back(loops: Loops, by: str, most: int) -> bool:
    """Whether the Inspector, the Tester or a merge conflict may send the work back once more."""
    return getattr(loops, by) < most


def sent_back(loops: Loops, by: str) -> Loops:
    """The count after the work was sent back."""
    return msgspec.structs.replace(loops, **{by: getattr(loops, by) + 1})


class Lifecycle(msgspec.Struct):
    """One pipeline's phase and loops."""

    phase: Phase = Phase.CREATED
    loops: Loops = Loops()

    def move(self, phase: Phase) -> None:
        """Go to another phase; raises IllegalPhase."""
        if phase not in _NEXT[self.phase]:
            raise IllegalPhase(f"a pipeline that is {self.phase} cannot become {phase}")
        self.phase = phase

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return not _NEXT[self.phase]
