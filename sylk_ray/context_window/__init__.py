"""What an agent keeps when its model's context fills up: checkpoints on the way, at the end compaction or a handoff.

Each role has a policy: at which parts of the window a summary of what it knows is handed to a sink, at which part its
context is compacted and to what, or its work is handed off instead. ``POLICIES`` has the spec's numbers::

    knowledge = RoutingKnowledge()  # the Guide's summary, built as it routes
    memory = ContextMemory(
        "s-1", "guide", policy_of("guide"), window_tokens=200_000,
        summarise=knowledge.summarise, sink=archivalist, compact=compact, clock=SystemClock(),
    )
    knowledge.observe(Routing("where is auth?", "librarian", kind="LOCATE authentication", confidence=0.9))
    report = await memory.observe(used_tokens=151_000)  # 75 %: a Checkpoint was made, and delivered if the sink took it
    memory.state  # a struct to keep with the agent's own, and to give to the next ContextMemory

A threshold fires once until the use has fallen below it again. A checkpoint that the sink does not take is kept in the
state, and tried again before the next one. Whatever goes wrong is told in the report, and harms neither the caller nor
what is known.

Source: the spec's "Memory Management" of the Guide (0.4) and of each other role.
"""

from sylk_ray.context_window.guide_summary import (
    FailedRouting,
    GuideSummary,
    RequestPattern,
    RoutingMatch,
    RoutingStats,
)
from sylk_ray.context_window.memory import ContextMemory
from sylk_ray.context_window.policies import POLICIES, ContextPolicy, InvalidPolicy, policy_of
from sylk_ray.context_window.records import Checkpoint, Compaction, ContextState, Moment, Reason, Report
from sylk_ray.context_window.roles import Compactor, HandOff, Sink, Summariser
from sylk_ray.context_window.routing_knowledge import OTHERS, Bounds, Routing, RoutingKnowledge

__all__ = [
    "OTHERS",
    "POLICIES",
    "Bounds",
    "Checkpoint",
    "Compaction",
    "Compactor",
    "ContextMemory",
    "ContextPolicy",
    "ContextState",
    "FailedRouting",
    "GuideSummary",
    "HandOff",
    "InvalidPolicy",
    "Moment",
    "Reason",
    "Report",
    "RequestPattern",
    "Routing",
    "RoutingKnowledge",
    "RoutingMatch",
    "RoutingStats",
    "Sink",
    "Summariser",
    "policy_of",
]
