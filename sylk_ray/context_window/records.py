"""What is written down about a context: checkpoints, what came of an observation, and the state that survives."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Reason = Literal["checkpoint", "limit", "request"]
"""Why a summary is made: a threshold was passed, the window is nearly full, or somebody asked for it."""


class Moment(msgspec.Struct, frozen=True):
    """When a summary is made, for whoever makes it."""

    session: str
    role: str
    index: int
    """Counts the checkpoints of this agent from 0 on; one is never given twice."""
    at: float
    """Unix time in seconds."""
    usage: float
    """The part of the window that is used."""
    reason: Reason


class Checkpoint(msgspec.Struct, frozen=True):
    """A summary on its way to the sink."""

    moment: Moment
    category: str
    summary: dict[str, Any]
    """The role's summary struct as plain values, so that who keeps it need not know the struct."""


class Compaction(msgspec.Struct, frozen=True):
    """Tokens in the context before and after, and what there should be."""

    before: int
    after: int
    target: int

    @property
    def fell_short(self) -> bool:
        return self.after > self.target


class Report(msgspec.Struct, frozen=True):
    """What came of one observation."""

    usage: float
    """The part of the window in use now, after what was done."""
    checkpoint: Checkpoint | None = None
    delivered: tuple[int, ...] = ()
    """The indexes of the checkpoints that the sink took, which may include earlier ones."""
    compaction: Compaction | None = None
    handed_off: bool = False
    problems: tuple[str, ...] = ()
    """What went wrong, for the log and the person."""


class ContextState(msgspec.Struct, frozen=True):
    """All that a ContextMemory must not forget when its process dies."""

    used_tokens: int = 0
    fired: tuple[float, ...] = ()
    """The checkpoints' thresholds that have fired, and wait for the use to fall below them."""
    short_at: float | None = None
    """The least use since a compaction failed or fell short; None after one that did not."""
    unproven: bool = False
    """The context was just compacted: the next observation tells whether it really is smaller."""
    handed_off: bool = False
    """Until the use falls below the limit."""
    next_index: int = 0
    pending: tuple[Checkpoint, ...] = ()
    """Checkpoints that the sink has not taken, the oldest first."""
    dropped: int = 0
    """Checkpoints that were given up because too many were pending."""
    compactions: int = 0
    handoffs: int = 0
