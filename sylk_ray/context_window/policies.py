"""When each role makes a checkpoint, and what it does when its window is nearly full."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Literal

import msgspec

from sylk_ray.errors import InputError


class InvalidPolicy(InputError):
    """A role's policy makes no sense; the message names the role and the field."""

    code = "invalid_context_policy"


class ContextPolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Parts of the window, 0 to 1. Raises InvalidPolicy."""

    category: str
    """What the sink files the summaries under."""
    checkpoints: tuple[float, ...] = (0.85,)
    """Each makes a summary; the last one before a compaction or a handoff is made at the limit itself."""
    limit: float = 0.95
    at_limit: Literal["compact", "handoff"] = "compact"
    target: float = 0.30
    """What a compaction should leave. A handoff that fails ends in one too."""
    handoff_attempts: int = 3
    handoff_wait_s: float = 1.0
    """Before the second attempt; twice as long before each one after it."""

    def __post_init__(self) -> None:
        steps = (0.0, *self.checkpoints, self.limit)
        if not all(low < high for low, high in pairwise(steps)) or self.limit > 1:
            raise InvalidPolicy(f"checkpoints {list(self.checkpoints)} and limit {self.limit}", hint=_RISING)
        if not 0 <= self.target < self.limit:
            raise InvalidPolicy(f"the target is {self.target}", hint=f"from 0 to below the limit of {self.limit}")
        if self.handoff_attempts < 1 or not 0 <= self.handoff_wait_s < float("inf"):
            raise InvalidPolicy(
                f"{self.handoff_attempts} attempts, {self.handoff_wait_s} s apart", hint="at least 1, and 0 s or more"
            )


_RISING = "give parts of the window that rise, all above 0 and none above 1"

POLICIES: dict[str, ContextPolicy] = {
    "guide": ContextPolicy(category="guide_checkpoint", checkpoints=(0.50, 0.75, 0.90)),
    "librarian": ContextPolicy(category="librarian_checkpoint", checkpoints=(0.25, 0.50), limit=0.75, target=0.25),
    "academic": ContextPolicy(category="academic_research_paper"),
    "architect": ContextPolicy(category="architect_workflow"),
    "engineer": ContextPolicy(category="engineer_handoff", checkpoints=(), at_limit="handoff"),
    "inspector": ContextPolicy(category="inspector_checkpoint"),
    "tester": ContextPolicy(category="tester_checkpoint"),
}
"""The spec's numbers. It gives no category for the last three, nor a target; there, and for roles that it gives nothing
for, stand those of its other roles."""


def policy_of(role: str, overrides: Mapping[str, Mapping[str, Any]] | None = None) -> ContextPolicy:
    """The policy of a role, with the fields that the settings give for it. Raises InvalidPolicy."""
    policy = POLICIES.get(role) or ContextPolicy(category=f"{role}_checkpoint")
    changes = (overrides or {}).get(role)
    if not changes:
        return policy
    try:
        return msgspec.convert({**msgspec.to_builtins(policy), **changes}, ContextPolicy)
    except InvalidPolicy as problem:
        raise InvalidPolicy(f"the context policy of {role}: {problem.message}", hint=problem.hint) from None
    except msgspec.ValidationError as problem:
        fields = ", ".join(ContextPolicy.__struct_fields__)
        raise InvalidPolicy(f"the context policy of {role}: {problem}", hint=f"the fields are {fields}") from None
