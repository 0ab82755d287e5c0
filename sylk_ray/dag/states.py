"""The states of a node and the moves between them.

``Pending`` waits for its parents. ``Queued`` is ready and waits only for a free slot. ``Blocked`` is ready
too, but held back: by the back-off before a retry, or because the graph is paused. ``Running`` occupies a
slot, also while it is being stopped. The other four are ends: ``Succeeded``; ``Failed``, with no tries left;
``Skipped``, never started because another node failed, or done without; ``Cancelled``, ended by a person at any time,
or by fail_fast after it had started. Only ``Succeeded`` is for ever: from the others a person, or a change of the
graph, can bring a node back.
"""

from __future__ import annotations

from enum import StrEnum

from sylk_ray.errors import SylkError


class NodeState(StrEnum):
    PENDING = "pending"
    QUEUED = "queued"
    RUNNING = "running"
    BLOCKED = "blocked"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"


TRANSITIONS: dict[NodeState, frozenset[NodeState]] = {
    NodeState.PENDING: frozenset(
        {NodeState.QUEUED, NodeState.BLOCKED, NodeState.SKIPPED, NodeState.CANCELLED},
    ),
    NodeState.QUEUED: frozenset(
        {NodeState.RUNNING, NodeState.BLOCKED, NodeState.PENDING, NodeState.SKIPPED, NodeState.CANCELLED},
    ),
    NodeState.BLOCKED: frozenset({NodeState.QUEUED, NodeState.PENDING, NodeState.SKIPPED, NodeState.CANCELLED}),
    NodeState.RUNNING: frozenset(
        {NodeState.SUCCEEDED, NodeState.FAILED, NodeState.BLOCKED, NodeState.SKIPPED, NodeState.CANCELLED},
    ),
    NodeState.SUCCEEDED: frozenset(),
    NodeState.FAILED: frozenset({NodeState.PENDING, NodeState.SKIPPED}),
    NodeState.SKIPPED: frozenset({NodeState.PENDING, NodeState.SKIPPED}),
    NodeState.CANCELLED: frozenset({NodeState.PENDING, NodeState.SKIPPED}),
}

TERMINAL = frozenset({NodeState.SUCCEEDED, NodeState.FAILED, NodeState.SKIPPED, NodeState.CANCELLED})


class IllegalTransition(SylkError):
    """A node was asked to make a move that the table does not have; a bug in the scheduler, not in a job."""

    code = "illegal_transition"


def check_transition(node: str, source: NodeState, target: NodeState) -> None:
    """Raise IllegalTransition unless the table has this move."""
    if target not in TRANSITIONS[source]:
        allowed = ", ".join(sorted(TRANSITIONS[source])) or "nothing, it is final"
        raise IllegalTransition(
            f'the node "{node}" cannot go from {source} to {target}',
            hint=f"from {source} a node can go to: {allowed}",
        )
