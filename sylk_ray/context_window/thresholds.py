"""What is due at a use of the window: pure decisions on the state."""

from __future__ import annotations

import msgspec

from sylk_ray.context_window.policies import ContextPolicy
from sylk_ray.context_window.records import ContextState

LEAST_GROWTH = 0.01
"""The part of the window that must be filled anew before a compaction that fell short is tried again."""


def noted(policy: ContextPolicy, state: ContextState, used_tokens: int, usage: float) -> ContextState:
    """The state with that use: what it has fallen below can fire again."""
    short_at = None if state.short_at is None or usage <= policy.target else min(state.short_at, usage)
    return msgspec.structs.replace(
        state,
        used_tokens=used_tokens,
        fired=tuple(each for each in state.fired if usage >= each),
        short_at=short_at,
        handed_off=state.handed_off and usage >= policy.limit,
    )


def checkpoints_due(policy: ContextPolicy, state: ContextState, usage: float) -> tuple[float, ...]:
    """The thresholds that are passed and have not fired. One summary is enough for all of them."""
    return tuple(each for each in policy.checkpoints if usage >= each and each not in state.fired)


def limit_is_due(policy: ContextPolicy, state: ContextState, usage: float) -> bool:
    """Whether to compact or hand off now.

    After a compaction that failed or fell short the next one waits until half of the room that it left is used: it has
    something new to shrink then, and however badly it shrinks there are only a few before the window is full.
    """
    if usage < policy.limit or state.handed_off:
        return False
    if state.short_at is None:
        return True
    return usage >= state.short_at + max((1 - state.short_at) / 2, LEAST_GROWTH)
