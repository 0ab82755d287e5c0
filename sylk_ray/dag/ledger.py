"""The books of a run: each node's state, the counts that follow from them, and the transitions so far."""

from __future__ import annotations

import msgspec

from sylk_ray.dag.events import Outcome, Start, Stop, Transition
from sylk_ray.dag.model import Graph, Node
from sylk_ray.dag.snapshot import Progress
from sylk_ray.dag.states import TERMINAL, NodeState, check_transition
from sylk_ray.errors import InputError


class UnknownNode(InputError):
    """A report names a node that the graph does not have."""

    code = "unknown_node"


class Ledger:
    """``move`` is the only way to change a state, so the table of transitions and the counts always hold."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._nodes: dict[str, Node] = {node.name: node for node in graph.nodes}
        self._progress: dict[str, Progress] = {name: Progress(name) for name in self._nodes}
        self._transitions: list[Transition] = []
        self._touched: set[str] = set()
        self.occupied = 0
        """How many slots are taken, by running attempts and by stopped ones that have not ended."""
        self.unfinished = len(self._nodes)

    def __getitem__(self, name: str) -> Progress:
        """A node, to change it. Raises UnknownNode."""
        progress = self.peek(name)
        self._touched.add(name)
        return progress

    def peek(self, name: str) -> Progress:
        """A node, to look at it. Raises UnknownNode."""
        try:
            return self._progress[name]
        except KeyError:
            raise UnknownNode(f'the graph has no node "{name}"', hint="report under a node's own name") from None

    def all(self) -> list[Progress]:
        """In declaration order."""
        return list(self._progress.values())

    def copies(self) -> tuple[Progress, ...]:
        return tuple(msgspec.structs.replace(progress) for progress in self._progress.values())

    def take_touched(self) -> list[Progress]:
        """Copies of the nodes that may have changed since this was last called."""
        touched, self._touched = self._touched, set()
        return [msgspec.structs.replace(self._progress[name]) for name in touched]

    def take_up(self, progress: Progress) -> None:
        """Put a node where a snapshot left it."""
        self._progress[progress.name] = progress
        self.occupied += progress.state is NodeState.RUNNING
        self.unfinished -= progress.state in TERMINAL

    def running(self, name: str, attempt: int) -> Progress | None:
        """The node, if this very attempt of it occupies a slot now. Raises UnknownNode."""
        progress = self[name]
        return progress if progress.state is NodeState.RUNNING and progress.attempt == attempt else None

    def has_tries_left(self, progress: Progress) -> bool:
        return progress.attempt - progress.forgiven <= self._graph.retry_of(self._nodes[progress.name]).attempts

    def move(self, progress: Progress, target: NodeState, now: float, reason: str = "") -> None:
        """Raises IllegalTransition."""
        self._touched.add(progress.name)
        source = progress.state
        check_transition(progress.name, source, target)
        progress.state, progress.reason = target, reason
        if source is NodeState.RUNNING:
            self.occupied -= 1
            progress.deadline, progress.left, progress.stop = None, None, ""
        progress.back_off_until = None
        self.occupied += target is NodeState.RUNNING
        self.unfinished += (source in TERMINAL) - (target in TERMINAL)
        self._transitions.append(Transition(progress.name, source, target, now, progress.attempt, reason))

    def take_transitions(self) -> list[Transition]:
        taken, self._transitions = self._transitions, []
        return taken

    def start_of(self, progress: Progress) -> Start:
        node = self._nodes[progress.name]
        results = {parent: self._progress[parent].result for parent in node.depends_on}
        return Start(node, progress.attempt, results)

    def stop_of(self, progress: Progress) -> Stop:
        self._touched.add(progress.name)
        return Stop(self._nodes[progress.name], progress.attempt, progress.reason)

    def outcome(self, *, cancelled: bool) -> Outcome | None:
        """None while a node is unfinished."""
        if self.unfinished:
            return None
        if cancelled:
            return Outcome.CANCELLED
        succeeded = all(progress.met for progress in self._progress.values())
        return Outcome.SUCCEEDED if succeeded else Outcome.FAILED
