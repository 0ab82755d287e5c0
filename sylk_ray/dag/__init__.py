"""Graphs of dependent work: what they are, whether they are sound, and which node runs when.

Everything here decides and nothing here acts: there is no clock, no thread and no Ray. A ``Scheduler`` is
told what happened and at what time, and answers with what to start and what to stop, so that all of its rules
(retries, back-off, deadlines, fail_fast, cancel, pause, changes of the graph) can be tested by table and by random
runs.
"""

from sylk_ray.dag.events import Decision, Outcome, Start, Stop, Transition
from sylk_ray.dag.ledger import UnknownNode
from sylk_ray.dag.model import Graph, Node, OnFailure, Policy, Retry
from sylk_ray.dag.nearest import did_you_mean, nearest
from sylk_ray.dag.order import layers
from sylk_ray.dag.scheduler import NotPossible, Scheduler
from sylk_ray.dag.snapshot import Mode, Progress, Snapshot
from sylk_ray.dag.states import TERMINAL, TRANSITIONS, IllegalTransition, NodeState
from sylk_ray.dag.validation import InvalidGraph, Problem, ProblemKind, check, validate

__all__ = [
    "TERMINAL",
    "TRANSITIONS",
    "Decision",
    "Graph",
    "IllegalTransition",
    "InvalidGraph",
    "Mode",
    "Node",
    "NodeState",
    "NotPossible",
    "OnFailure",
    "Outcome",
    "Policy",
    "Problem",
    "ProblemKind",
    "Progress",
    "Retry",
    "Scheduler",
    "Snapshot",
    "Start",
    "Stop",
    "Transition",
    "UnknownNode",
    "check",
    "did_you_mean",
    "layers",
    "nearest",
    "validate",
]
