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

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from itertools import chain
from random import Random
from typing import Any

import msgspec

from sylk_ray.dag.events import Decision, Outcome, Transition
from sylk_ray.dag.ledger import Ledger
from sylk_ray.dag.model import Graph
from sylk_ray.dag.order import Rank, children_of, layers, ranks
from sylk_ray.dag.snapshot import Mode, Progress, Snapshot
from sylk_ray.dag.states import TERMINAL, NodeState
from sylk_ray.dag.timers import Timer, Timers
from sylk_ray.dag.validation import check
from sylk_ray.errors import InputError

PAUSED = "the graph is paused"
WAITS_AGAIN = "what it depends on has changed"


class NotPossible(InputError):
    """What is wanted of a node does not go with what has become of it."""

    code = "not_possible"


class Scheduler:
    """Runs one graph once. Every method that takes ``now`` returns what the driver must do next."""

    def __init__(self, graph: Graph, *, rng: Random) -> None:
        """Raises InvalidGraph. ``rng`` decides the jitter of back-offs and nothing else."""
        check(graph)
        self._graph = graph
        self._nodes = {node.name: node for node in graph.nodes}
        self._rng = rng
        self._ledger = Ledger(graph)
        self._children = children_of(graph)
        self._rank = ranks(graph, self._children)
        self._unmet = {node.name: len(node.depends_on) for node in graph.nodes}
        self._ready: list[tuple[Rank, str]] = []
        self._held: list[str] = []
        self._timers = Timers(self._timer_matters)
        self._started = self._paused = self._cancelled = False
        self._halted = ""

    @classmethod
    def restore(cls, graph: Graph, snapshot: Snapshot, *, rng: Random) -> Scheduler:
        """Go on from a snapshot of the same graph; ``in_flight`` then says what the driver must see to."""
        if [progress.name for progress in snapshot.nodes] != [node.name for node in graph.nodes]:
            raise InputError("the snapshot is of another graph", hint="restore it with the graph it was taken of")
        restored = cls(graph, rng=rng)
        restored._take_up_all(snapshot.nodes, snapshot.mode)
        return restored

    def amended(self, graph: Graph, now: float) -> tuple[Scheduler, list[Decision]]:
        """Go on with another graph; this one is not to be used any more. Nodes that have not begun may be missing from
        it, and any may be new; an attempt that runs stays what it is (``redo`` begins it anew). Raises InvalidGraph,
        and NotPossible when a node is missing that has begun."""
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
        if progress.state is not NodeState.RUNNING or progress.stop in ("halted", "interrupted", "skipped", "redone"):
            return []
        stopping = progress.stop != ""
        progress.stop, progress.reason = "redone", reason
        return [] if stopping else [self._ledger.stop_of(progress)]

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

    def _met(self, name: str, now: float) -> None:
        """What depends on it need not wait for it any more."""
        for child in self._children[name]:
            self._unmet[child] -= 1
            if self._unmet[child] == 0 and self._ledger[child].state is NodeState.PENDING and not self._halted:
                self._release(self._ledger[child], now)

    def _do_without(self, progress: Progress, reason: str, now: float) -> None:
        self._ledger.move(progress, NodeState.SKIPPED, now, reason)
        progress.done_without = True
        self._met(progress.name, now)

    def _unqueue(self, name: str) -> None:
        self._ready = [each for each in self._ready if each[1] != name]
        heapify(self._ready)
        self._held = [each for each in self._held if each != name]

    def _reconsider(self, now: float) -> list[Decision]:
        """Bring every node that does not run where it belongs: the graph has changed, or a failure counts no more."""
        halted_for = self._halted
        if not self._cancelled and not any(map(self._has_failed, self._ledger.all())):
            self._halted = ""
        for name in chain.from_iterable(layers(self._graph)):
            self._place(self._ledger[name], halted_for, now)
        return self._fill(now)

    def _has_failed(self, progress: Progress) -> bool:
        """Also one that is still being stopped because its last try took too long."""
        late = progress.stop == "timed_out" and not self._ledger.has_tries_left(progress)
        return progress.state is NodeState.FAILED or late

    def _place(self, progress: Progress, halted_for: str, now: float) -> None:
        name, move = progress.name, self._ledger.move
        lost = next((each for each in self._nodes[name].depends_on if self._ledger.peek(each).lost), None)
        if progress.state in (NodeState.QUEUED, NodeState.BLOCKED) and (lost or self._unmet[name]):
            self._unqueue(name)
            move(progress, NodeState.PENDING, now, WAITS_AGAIN)
        was_halted = progress.state is NodeState.CANCELLED and progress.reason == halted_for != self._halted
        was_skipped = progress.state is NodeState.SKIPPED and not progress.done_without
        if (was_halted or was_skipped) and not lost and not self._halted:
            if was_halted:
                progress.forgiven = progress.attempt
            move(progress, NodeState.PENDING, now)
        if progress.state is not NodeState.PENDING:
            return
        if self._halted or lost:
            move(progress, NodeState.SKIPPED, now, self._halted or self._because_of(lost or name))
        elif self._started and not self._unmet[name]:
            self._release(progress, now)

    def _because_of(self, lost: str) -> str:
        what = "was interrupted" if self._ledger.peek(lost).state is NodeState.CANCELLED else "did not succeed"
        return _because(lost) if self._ledger.peek(lost).state is NodeState.FAILED else f'because "{lost}" {what}'

    def _release(self, progress: Progress, now: float) -> None:
        """Its parents have all succeeded."""
        if self._paused:
            self._held.append(progress.name)
            self._ledger.move(progress, NodeState.BLOCKED, now, PAUSED)
        else:
            self._queue(progress, now)

    def _queue(self, progress: Progress, now: float) -> None:
        self._ledger.move(progress, NodeState.QUEUED, now)
        heappush(self._ready, (self._rank[progress.name], progress.name))

    def _fill(self, now: float) -> list[Decision]:
        """Start ready nodes while there are free slots."""
        decisions: list[Decision] = []
        while self._ready and self._ledger.occupied < self._graph.policy.max_concurrency:
            progress = self._ledger[heappop(self._ready)[1]]
            progress.attempt += 1
            self._ledger.move(progress, NodeState.RUNNING, now)
            decisions.append(self._ledger.start_of(progress))
        return decisions

    def _timer_matters(self, timer: Timer) -> bool:
        progress = self._ledger.peek(timer.node)
        if progress.attempt != timer.attempt:
            return False
        if progress.state is NodeState.RUNNING:
            return progress.deadline == timer.at and not progress.stop
        return progress.back_off_until == timer.at

    def _time_out(self, progress: Progress, now: float) -> list[Decision]:
        limit = self._graph.timeout_of(self._nodes[progress.name])
        progress.stop, progress.reason = "timed_out", f"it ran longer than its {limit:g} s"
        stop = self._ledger.stop_of(progress)
        if self._ledger.has_tries_left(progress) or self._graph.policy.on_failure != "fail_fast":
            return [stop]
        return [stop, *self._halt(_because(progress.name), NodeState.SKIPPED, now)]

    def _stop_ended(self, progress: Progress, now: float) -> list[Decision]:
        """A stopped attempt has left its slot: now it is known what becomes of the node."""
        timed_out, reason = progress.stop == "timed_out", progress.reason
        if progress.stop == "interrupted":
            self._ledger.move(progress, NodeState.CANCELLED, now, reason)
            self._skip_descendants(progress.name, f'because "{progress.name}" was interrupted', now)
            return self._fill(now)
        if progress.stop == "skipped":
            self._do_without(progress, reason, now)
            return self._reconsider(now)
        if timed_out and not self._ledger.has_tries_left(progress):
            return self._fail(progress, reason, now)
        if self._halted:
            self._ledger.move(progress, NodeState.CANCELLED, now, self._halted)
        elif timed_out:
            self._back_off(progress, reason, now)
        else:  # to be done anew, or halted for a failure that counts no more
            progress.forgiven = progress.attempt
            self._ledger.move(progress, NodeState.BLOCKED, now, reason)
            self._end_back_off(progress, now)
        return self._fill(now)

    def _back_off(self, progress: Progress, failure: str, now: float) -> None:
        retry = self._graph.retry_of(self._nodes[progress.name])
        delay = retry.delay_s(progress.attempt, self._rng)
        reason = f"attempt {progress.attempt} of {retry.attempts + 1} failed: {failure}; again in {delay:.3g} s"
        self._ledger.move(progress, NodeState.BLOCKED, now, reason)
        progress.back_off_until = now + delay
        if delay > 0:
            self._timers.set(progress.back_off_until, progress.name, progress.attempt)
        else:
            self._end_back_off(progress, now)

    def _end_back_off(self, progress: Progress, now: float) -> None:
        progress.back_off_until = None
        if self._unmet[progress.name]:  # the graph has changed since the attempt began
            self._place(progress, self._halted, now)
        elif self._paused:
            self._held.append(progress.name)
        else:
            self._queue(progress, now)

    def _fail(self, progress: Progress, failure: str, now: float) -> list[Decision]:
        self._ledger.move(progress, NodeState.FAILED, now, failure)
        reason = _because(progress.name)
        if self._graph.policy.on_failure == "fail_fast" and not self._halted:
            return self._halt(reason, NodeState.SKIPPED, now)
        self._skip_descendants(progress.name, reason, now)
        return self._fill(now)

    def _skip_descendants(self, name: str, reason: str, now: float) -> None:
        waiting = list(self._children[name])
        while waiting:
            child = self._ledger.peek(waiting.pop())
            if child.state is NodeState.PENDING:
                self._ledger.move(child, NodeState.SKIPPED, now, reason)
                waiting.extend(self._children[child.name])

    def _halt(self, reason: str, unstarted: NodeState, now: float, *, stop_running: bool = True) -> list[Decision]:
        """Nothing is started any more; what never was ends in ``unstarted``, the rest is Cancelled."""
        self._halted = reason
        self._ready.clear()
        self._held.clear()
        decisions: list[Decision] = []
        for progress in self._ledger.all():
            if progress.state is NodeState.RUNNING and not progress.stop and stop_running:
                progress.stop, progress.reason = "halted", reason
                decisions.append(self._ledger.stop_of(progress))
            elif progress.state is not NodeState.RUNNING and progress.state not in TERMINAL:
                target = NodeState.CANCELLED if progress.attempt else unstarted
                self._ledger.move(progress, target, now, reason)
        return decisions

    def _take_up_all(self, nodes: Iterable[Progress], mode: Mode) -> None:
        self._started, self._paused = mode.started, mode.paused
        self._cancelled, self._halted = mode.cancelled, mode.halted
        for progress in nodes:
            self._take_up(msgspec.structs.replace(progress))

    def _take_up(self, progress: Progress) -> None:
        """Set the books, the queues and the timers from one node of a snapshot."""
        name = progress.name
        self._ledger.take_up(progress)
        if progress.met:
            for child in self._children[name]:
                self._unmet[child] -= 1
        elif progress.state is NodeState.QUEUED:
            heappush(self._ready, (self._rank[name], name))
        elif progress.state is NodeState.BLOCKED and progress.back_off_until is None:
            self._held.append(name)
        elif progress.state is NodeState.BLOCKED and progress.back_off_until is not None:
            self._timers.set(progress.back_off_until, name, progress.attempt)
        elif progress.state is NodeState.RUNNING and progress.deadline is not None:
            self._timers.set(progress.deadline, name, progress.attempt)


def _because(failed: str) -> str:
    return f'because "{failed}" failed'
