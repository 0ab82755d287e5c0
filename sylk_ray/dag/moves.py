"""How nodes move from state to state, and which of them is next: what a ``Scheduler`` says goes through this."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush
from itertools import chain
from random import Random

import msgspec

from sylk_ray.dag.events import Decision
from sylk_ray.dag.ledger import Ledger
from sylk_ray.dag.model import Graph
from sylk_ray.dag.order import Rank, children_of, layers, ranks
from sylk_ray.dag.snapshot import Mode, Progress
from sylk_ray.dag.states import TERMINAL, NodeState
from sylk_ray.dag.timers import Timer, Timers
from sylk_ray.dag.validation import check

PAUSED = "the graph is paused"
WAITS_AGAIN = "what it depends on has changed"


class Moves:
    """The books, queues and timers of one run."""

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
        else:  # another goes on with it, it is to be done anew, or was halted for a failure that counts no more
            progress.forgiven = progress.forgiven + 1 if progress.stop == "handed_over" else progress.attempt
            self._ledger.move(progress, NodeState.BLOCKED, now, reason)
            self._end_back_off(progress, now)
        return self._fill(now)

    def _back_off(self, progress: Progress, failure: str, now: float) -> None:
        retry = self._graph.retry_of(self._nodes[progress.name])
        tried = progress.attempt - progress.forgiven
        delay = retry.delay_s(tried, self._rng)
        reason = f"attempt {tried} of {retry.attempts + 1} failed: {failure}; again in {delay:.3g} s"
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
            if progress.lost:
                self._skip_descendants(progress.name, progress.reason, now)
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
