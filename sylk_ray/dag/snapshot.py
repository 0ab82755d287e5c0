"""Where a run stands, as data: enough to show it to a person and to go on with it after a crash."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from sylk_ray.dag.states import TERMINAL, NodeState


class Progress(msgspec.Struct):
    """One node of a run. The scheduler owns and changes it; everyone else gets copies."""

    name: str
    state: NodeState = NodeState.PENDING
    attempt: int = 0
    """The last attempt that was started; 0 before the first."""
    reason: str = ""
    """Why it is in this state, in words for a person."""
    result: Any = None
    deadline: float | None = None
    """When the running attempt times out."""
    left: float | None = None
    """How long the running attempt still had when its clock was held; None while that runs."""
    back_off_until: float | None = None
    stop: Literal["", "timed_out", "halted", "interrupted", "skipped", "redone", "handed_over"] = ""
    """Why the running attempt was asked to stop; empty when it was not."""
    forgiven: int = 0
    """The attempts up to this one do not count against its tries."""
    done_without: bool = False
    """Whether what depends on it goes on without it."""

    @property
    def met(self) -> bool:
        """Whether nothing waits for it any more."""
        return self.state is NodeState.SUCCEEDED or self.done_without

    @property
    def lost(self) -> bool:
        """Whether what depends on it cannot go on."""
        return self.state in TERMINAL and not self.met


class Mode(msgspec.Struct, frozen=True):
    """What holds for a run as a whole."""

    started: bool = False
    paused: bool = False
    cancelled: bool = False
    halted: str = ""
    """Why nothing is started any more, after a cancel or a failure under fail_fast; else empty."""


class Snapshot(msgspec.Struct, frozen=True):
    """A whole run. It can be encoded whenever the nodes' results can."""

    nodes: tuple[Progress, ...]
    """In declaration order."""
    mode: Mode
