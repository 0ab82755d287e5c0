"""What a scheduler says: decisions for its driver to carry out, and transitions for anyone to observe."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from sylk_ray.dag.model import Node
from sylk_ray.dag.states import NodeState


class Start(msgspec.Struct, frozen=True, tag="start"):
    """Run this attempt of the node, and report its end under the same attempt number."""

    node: Node
    attempt: int
    """1 is the first."""
    parent_results: dict[str, Any]
    """The result of each direct parent, by name."""


class Stop(msgspec.Struct, frozen=True, tag="stop"):
    """End this running attempt, and report that it has ended: until then it occupies its slot."""

    node: Node
    attempt: int
    reason: str


Decision = Start | Stop


class Transition(msgspec.Struct, frozen=True):
    """One node moved from one state to another."""

    node: str
    source: NodeState
    target: NodeState
    at: float
    attempt: int
    """The attempt it is about; 0 before the first."""
    reason: str = ""


class Outcome(StrEnum):
    """How a graph ended. A failure under fail_fast stays a failure when a person cancels the rest."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
