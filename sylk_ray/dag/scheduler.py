"""Which node runs when: a state machine that is driven from outside.

The scheduler starts nothing itself. Its driver tells it what happened and when, and carries out the decisions
that come back. The rules:

- A node starts the moment its own dependencies have succeeded and a slot is free; there are no layers to wait
  for. Among ready nodes, those of the lowest lane go first; in a lane the one with the longest remaining path, then
  the first declared.
- A started attempt may wait to be let in; its time limit counts from ``node_began``, and not while it is held.
- A stopped attempt keeps its slot and stays Running until the driver reports its end. Any report about that
  attempt counts as its end, and whatever it says is ignored: a result that comes after the stop is too late.
- A report with another attempt number than the running one is old and changes nothing, so reports may repeat.
- After a final failure under fail_fast, or a cancel, the run is halted: it only waits for what is stopping.
- A node that a person interrupts is Cancelled and what depends on it Skipped, under any policy; the rest goes on.
- A node that is done without is Skipped, and what depends on it goes on as if it had succeeded.
- What was halted or skipped because of a failure goes on when no failure is left: each was tried again, or is done
  without.
- The graph may change while it runs (``amended``): nodes keep their names and what has become of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from sylk_ray.dag.events import Decision, Outcome, Transition
from sylk_ray.dag.model import Graph
from sylk_ray.dag.moves import PAUSED, Moves
from sylk_ray.dag.snapshot import Mode, Progress, Snapshot
from sylk_ray.dag.states import TERMINAL, NodeState
from sylk_ray.errors import InputError

_FOR_GOOD = ("halted", "interrupted", "skipped", "redone")
"""Why an attempt ends that is not begun anew for another reason."""


class NotPossible(InputError):
    """What is wanted of a node does not go with what has become of it."""

    code = "not_possible"


class Scheduler(Moves):
    """Runs one graph once. Every method that takes ``now`` returns what the driver must do next."""

    @classmethod
    def restore(cls, graph: Graph, snapshot: Snapshot, *, rng: Random) -> Scheduler:
        """Go on from a snapshot of the same graph; ``in_flight`` then says what the driver must see to."""
        if [progress.name for progress in snapshot.nodes] != [node.name for node in graph.nodes]:
            raise InputError("the snapshot is of another graph", hint="restore it with the graph it was taken of")
        restored = cls(graph, rng=rng)
        restored._take_up_all(snapshot.nodes, snapshot.mode)
        return restored

    def amended(self, graph: Graph, now: float) -> tuple[Scheduler, list[Decision]]:
        """The run with another graph, and what is to be done to go on with that; this one stays as it is. Nodes that
        have not begun may be missing from the graph, and any may be new; an attempt that runs stays what it is
        (``redo`` begins it anew). Raises InvalidGraph, and NotPossible when a node is missing that has begun."""
        known = {progress.name: progress for progress in self._ledger.copies()}
        missing = known.keys() - {node.name for node in graph.nodes}
        if begun := sorted(name for name in missing if known[name].attempt):
            raise NotPossible(f'"{begun[0]}" has begun and is not in the new graph', hint="skip it instead")
        amended = Scheduler(graph, rng=self._rng)
        amended._take_up_all((known.get(node.name) or Progress(node.name) for node in graph.nodes), self.mode)
        return amended, amended._reconsider(now)

    @property
    def finished(self) -> bool:
        """Every node is in a final state, so nothing runs any more."""
        return self._ledger.unfinished == 0

    @property
    def outcome(self) -> Outcome | None:
        """None until the run is finished."""
        return self._ledger.outcome(cancelled=self._cancelled)

    def state_of(self, name: str) -> NodeState:
        return self._ledger.peek(name).state

    def is_stopping(self, name: str, attempt: int) -> bool:
        """Whether that attempt was asked to stop and has not ended yet. Raises UnknownNode."""
        progress = self._ledger.peek(name)
        return progress.state is NodeState.RUNNING and progress.attempt == attempt and progress.stop != ""

    def next_wakeup(self) -> float | None:
        """When ``tick`` must be called next, if nothing else happens before; None when no time matters."""
        return self._timers.next_at()

    def take_transitions(self) -> list[Transition]:
        """The transitions since this was last called, oldest first."""
        return self._ledger.take_transitions()

    def snapshot(self) -> Snapshot:
        return Snapshot(self._ledger.copies(), self.mode)

    @property
    def mode(self) -> Mode:
        """What holds for the run as a whole."""
        return Mode(self._started, self._paused, self._cancelled, self._halted)

    def take_changes(self) -> list[Progress]:
        """The nodes that may have changed since this was last called: with ``mode`` and all earlier changes they
        make up the snapshot."""
        return self._ledger.take_touched()

    def in_flight(self) -> list[Decision]:
        """The Start of each running attempt, or its Stop if it is being stopped: after a restore, the driver
        finds out which of them still run, and reports the end of the others."""
        return [
            self._ledger.stop_of(progress) if progress.stop else self._ledger.start_of(progress)
            for progress in self._ledger.all()
            if progress.state is NodeState.RUNNING
        ]

    def start(self, now: float) -> list[Decision]:
        """Begin the run; a second call does nothing."""
        if self._started or self._halted:
            return []
        self._started = True
        for name, unmet in self._unmet.items():
            if unmet == 0 and self._ledger.peek(name).state is NodeState.PENDING:
                self._release(self._ledger[name], now)
        return self._fill(now)

    def node_began(self, name: str, attempt: int, now: float) -> None:
        """The attempt was let in and begins: its time limit counts from now. Raises UnknownNode."""
        progress = self._ledger.running(name, attempt)
        limit = self._graph.timeout_of(self._nodes[name]) if progress is not None else None
        if progress is not None and limit is not None and not progress.stop:
            progress.deadline, progress.left = now + limit, None
            self._timers.set(progress.deadline, name, attempt)

    def hold_clock(self, name: str, attempt: int, now: float) -> None:
        """The attempt waits for something that is no fault of its own: its time limit does not count meanwhile.
        Raises UnknownNode."""
        progress = self._ledger.running(name, attempt)
        if progress is not None and progress.deadline is not None and not progress.stop:
            progress.left, progress.deadline = max(0.0, progress.deadline - now), None

    def go_on(self, name: str, attempt: int, now: float) -> None:
        """It waits no more. Raises UnknownNode."""
        progress = self._ledger.running(name, attempt)
        if progress is not None and progress.left is not None and not progress.stop:
            progress.deadline, progress.left = now + progress.left, None
            self._timers.set(progress.deadline, name, attempt)

    def node_succeeded(self, name: str, attempt: int, result: Any, now: float) -> list[Decision]:
        """The attempt ended well; its result goes to the node's children. Raises UnknownNode."""
        progress = self._ledger.running(name, attempt)
        if progress is None:
            return []
        if progress.stop:
            return self._stop_ended(progress, now)
        progress.result = result
        self._ledger.move(progress, NodeState.SUCCEEDED, now)
        self._met(name, now)
        return self._fill(now)

    def node_failed(
        self,
        name: str,
        attempt: int,
        failure: str,
        now: float,
        *,
        retryable: bool = True,
    ) -> list[Decision]:
        """The attempt ended badly; with ``retryable=False`` that is final whatever tries are left. Raises
        UnknownNode."""
        progress = self._ledger.running(name, attempt)
        if progress is None:
            return []
        if progress.stop:
            return self._stop_ended(progress, now)
        if retryable and not self._halted and self._ledger.has_tries_left(progress):
            self._back_off(progress, failure, now)
            return self._fill(now)
        return self._fail(progress, failure, now)

    def node_stopped(self, name: str, attempt: int, now: float) -> list[Decision]:
        """The attempt ended because it was stopped. If nothing asked for that, it failed like any other."""
        return self.node_failed(name, attempt, "it was stopped from outside", now)

    def tick(self, now: float) -> list[Decision]:
        """Act on every deadline and back-off that has passed."""
        decisions: list[Decision] = []
        while (timer := self._timers.pop_due(now)) is not None:
            progress = self._ledger[timer.node]
            if progress.state is NodeState.RUNNING:
                decisions.extend(self._time_out(progress, now))
            else:
                self._end_back_off(progress, now)
        return [*decisions, *self._fill(now)]

    def cancel(self, reason: str, now: float, *, stop_running: bool = True) -> list[Decision]:
        """Stop what runs, or let it come to its end, and cancel the rest. Once halted or finished there is nothing left
        to cancel."""
        if self._halted or self.finished:
            return []
        self._cancelled = True
        return self._halt(reason or "cancelled", NodeState.CANCELLED, now, stop_running=stop_running)

    def interrupt(self, name: str, reason: str, now: float) -> list[Decision]:
        """End one node, for a person: it is not tried again. One that has ended stays as it is. Raises UnknownNode."""
        progress = self._ledger[name]
        if progress.state is NodeState.RUNNING:
            if progress.stop in ("halted", "interrupted"):
                return []
            stopping = progress.stop != ""
            progress.stop, progress.reason = "interrupted", reason or "a person interrupted it"
            return [] if stopping else [self._ledger.stop_of(progress)]
        if progress.state in TERMINAL:
            return []
        self._unqueue(name)
        self._ledger.move(progress, NodeState.CANCELLED, now, reason or "a person interrupted it")
        self._skip_descendants(name, f'because "{name}" was interrupted', now)
        return self._fill(now)

    def skip(self, name: str, reason: str, now: float) -> list[Decision]:
        """Do without a node, whether it has failed or not begun, or ends now: what depends on it goes on. One that has
        succeeded stays as it is. Raises UnknownNode, and NotPossible in a run that was cancelled."""
        progress = self._ledger[name]
        self._check_not_cancelled(name)
        if progress.met:
            return []
        if progress.state is NodeState.RUNNING:
            stopping = progress.stop != ""
            progress.stop, progress.reason = "skipped", reason
            return [] if stopping else [self._ledger.stop_of(progress)]
        self._unqueue(name)
        self._do_without(progress, reason, now)
        return self._reconsider(now)

    def retry(self, names: Sequence[str], now: float) -> list[Decision]:
        """Try nodes again that ended badly, with all their tries; what was skipped for them waits again. All, or
        none: raises UnknownNode, and NotPossible when one did not end badly, or when what it depends on did."""
        chosen = [self._ledger.peek(name) for name in names]
        failed = [each.name for each in self._ledger.all() if self._has_failed(each) and each.name not in names]
        for progress in chosen:
            name = progress.name
            self._check_not_cancelled(name)
            if not progress.lost:
                raise NotPossible(f'"{name}" is {progress.state}: there is nothing to try again')
            lost = [each for each in self._nodes[name].depends_on if self._ledger.peek(each).lost and each not in names]
            if lost:
                raise NotPossible(f'"{name}" depends on "{lost[0]}", which did not succeed', hint=f'retry "{lost[0]}"')
            if self._halted and failed and progress.state is not NodeState.FAILED:
                raise NotPossible(f'"{name}" was stopped {self._halted}', hint=f'retry or skip "{failed[0]}"')
        for progress in (self._ledger[name] for name in names):
            progress.forgiven = progress.attempt
            self._ledger.move(progress, NodeState.PENDING, now, "it is tried again")
        return self._reconsider(now)

    def redo(self, name: str, reason: str, now: float) -> list[Decision]:
        """End the attempt that runs, and begin another that does not count as a try; of a node that does not run there
        is nothing to do. Raises UnknownNode."""
        progress = self._ledger[name]
        if progress.state is not NodeState.RUNNING or progress.stop in _FOR_GOOD:
            return []
        stopping = progress.stop != ""
        progress.stop, progress.reason = "redone", reason
        return [] if stopping else [self._ledger.stop_of(progress)]

    def hand_over(self, name: str, reason: str, now: float) -> list[Decision]:
        """End the attempt that runs, and have the next one go on for it: it alone does not count as a try. Raises
        UnknownNode, and NotPossible where no other would begin."""
        progress = self._ledger[name]
        if progress.state is not NodeState.RUNNING or progress.stop:
            raise NotPossible(f'"{name}" is not at work any more')
        if self._halted or self._paused:
            raise NotPossible("nothing is begun any more" if self._halted else PAUSED)
        progress.stop, progress.reason = "handed_over", reason
        return [self._ledger.stop_of(progress)]

    def pause(self, now: float) -> list[Decision]:
        """Start nothing more, and let what runs come to its end (or its deadline)."""
        if not self._paused:
            self._paused = True
            self._held = [name for _, name in sorted(self._ready)]
            self._ready.clear()
            for name in self._held:
                self._ledger.move(self._ledger[name], NodeState.BLOCKED, now, PAUSED)
        return []

    def resume(self, now: float) -> list[Decision]:
        self._paused = False
        held, self._held = self._held, []
        for name in held:
            self._queue(self._ledger[name], now)
        return self._fill(now)

    def _check_not_cancelled(self, name: str) -> None:
        if self._cancelled:
            raise NotPossible(f'"{name}" is of a run that was cancelled', hint="submit it again")
