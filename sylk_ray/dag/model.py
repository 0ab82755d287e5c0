"""What a graph is, as data: nodes that depend on each other, and the policy they run under.

The records are frozen and know nothing of how they are run. Times are seconds.
"""

from __future__ import annotations

from math import isfinite
from random import Random
from typing import Any, Literal

import msgspec

from sylk_ray.errors import InputError

OnFailure = Literal["fail_fast", "continue_on_failure"]


class Retry(msgspec.Struct, frozen=True, kw_only=True):
    """How often a failed node is tried again, and how long it waits before each new try."""

    attempts: int = 0
    """Extra tries after the first; 0 means that the first failure is final."""
    base_s: float = 1.0
    factor: float = 2.0
    max_s: float = 60.0
    jitter: float = 0.5
    """The share of a delay that is random, 0 to 1: a delay is never longer than without jitter."""

    def __post_init__(self) -> None:
        _require(self.attempts >= 0, f"a retry's attempts is {self.attempts}", "give 0 or more")
        _require(isfinite(self.base_s) and self.base_s >= 0, f"a retry's base_s is {self.base_s}", "give 0 or more")
        _require(isfinite(self.factor) and self.factor >= 1, f"a retry's factor is {self.factor}", "give 1 or more")
        _require(isfinite(self.max_s) and self.max_s >= 0, f"a retry's max_s is {self.max_s}", "give 0 or more")
        _require(0 <= self.jitter <= 1, f"a retry's jitter is {self.jitter}", "give a share from 0 to 1")

    def delay_s(self, retry: int, rng: Random) -> float:
        """The wait before retry number ``retry`` (from 1 on): exponential, capped, shortened by jitter."""
        if self.base_s == 0:
            return 0.0
        try:
            full = min(self.max_s, self.base_s * self.factor ** (retry - 1))
        except OverflowError:
            full = self.max_s
        return full * (1 - self.jitter * rng.random())


class Node(msgspec.Struct, frozen=True):
    """One piece of work for one role; it starts when every node that it depends on has succeeded."""

    name: str
    role: str
    depends_on: tuple[str, ...] = ()
    timeout_s: float | None = None
    """A limit on one attempt; None takes the policy's."""
    retry: Retry | None = None
    """None takes the policy's."""
    lane: int = 0
    """Of the nodes that are ready, those of the lowest lane start first."""
    metadata: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """What holds for the graph as a whole, and for each node that does not say otherwise."""

    max_concurrency: int = 4
    on_failure: OnFailure = "fail_fast"
    retry: Retry = msgspec.field(default_factory=Retry)
    timeout_s: float | None = None
    """None means no limit."""

    def __post_init__(self) -> None:
        _require(self.max_concurrency >= 1, f"max_concurrency is {self.max_concurrency}", "give 1 or more")


class Graph(msgspec.Struct, frozen=True):
    """Nodes in the order they were declared. Whether they make a sound graph is for ``validate`` to say."""

    nodes: tuple[Node, ...]
    policy: Policy = msgspec.field(default_factory=Policy)

    def retry_of(self, node: Node) -> Retry:
        return self.policy.retry if node.retry is None else node.retry

    def timeout_of(self, node: Node) -> float | None:
        return self.policy.timeout_s if node.timeout_s is None else node.timeout_s


def _require(holds: bool, message: str, hint: str) -> None:
    if not holds:
        raise InputError(message, hint=hint)
