"""What a role brings along: how it summarises, compacts and hands off, and where its summaries go."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

import msgspec

from sylk_ray.context_window.records import Checkpoint, Moment

Summariser = Callable[[Moment], Awaitable[msgspec.Struct]]
"""Makes the role's summary struct of what it knows at that moment."""

Compactor = Callable[[int, Checkpoint], Awaitable[int]]
"""Shrinks the context to that many tokens, keeping the summary in it; returns how many there are then."""

HandOff = Callable[[Checkpoint], Awaitable[None]]
"""Gives the work to another; returns when that one has it. A crash may make it be called again: the checkpoint's
summary is the same work then, under another index."""


class Sink(Protocol):
    """Where checkpoints are kept: the journal, or the Archivalist."""

    async def submit(self, checkpoint: Checkpoint) -> None:
        """Keep it for good, or raise. One may come twice: its role, session and index tell."""
        ...
