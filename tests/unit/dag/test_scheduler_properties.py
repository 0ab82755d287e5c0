"""Random graphs, driven by random outcomes, interleavings, cancels, pauses and restarts."""

from __future__ import annotations

from itertools import chain, pairwise
from random import Random

import msgspec
from hypothesis import event, given, settings
from hypothesis import strategies as st

from sylk_ray.dag import (
    TERMINAL,
    TRANSITIONS,
    Decision,
    Graph,
    Node,
    NodeState,
    NotPossible,
    Outcome,
    Policy,
    Retry,
    Scheduler,
    Start,
    layers,
    validate,
)
from sylk_ray.dag.cycles import cycles

ACTIONS = (
    *("end", "end", "end", "wait", "late", "pause", "resume", "restart", "cancel", "start"),
    *("interrupt", "skip", "retry", "redo", "hand_over", "amend"),
)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    size = draw(st.integers(0, 12))
    nodes: list[Node] = []
    for index in range(size):
        parents = draw(st.sets(st.integers(0, index - 1), max_size=3)) if index else set[int]()
        retry = draw(st.none() | st.builds(Retry, attempts=st.integers(0, 2), base_s=st.sampled_from([0.0, 3.0])))
        timeout = draw(st.none() | st.sampled_from([2.0, 7.0]))
        nodes.append(Node(f"n{index}", "pipeline", tuple(f"n{p}" for p in sorted(parents)), timeout, retry))
    policy = Policy(
        max_concurrency=draw(st.integers(1, 4)),
        on_failure=draw(st.sampled_from(["fail_fast", "continue_on_failure"])),
        retry=Retry(attempts=draw(st.integers(0, 1)), base_s=1.0),
    )
    return Graph(tuple(draw(st.permutations(nodes))), policy)


class World:
    """Runs what the scheduler starts, stops late, and checks the promises from the outside."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.rng = Random(1)
        self.amended = 0
        self.run = Scheduler(graph, rng=self.rng)
        self.now = 0.0
        self.alive: dict[str, int] = {}
        self.stopping: set[str] = set()
        self.ended: list[tuple[str, int]] = []
        self.succeeded: dict[str, str] = {}
        self.interrupted: set[str] = set()
        self.done_without: set[str] = set()
        self.paused = self.halted = self.cancelled = False
        self.states = {node.name: NodeState.PENDING for node in graph.nodes}

    def carry_out(self, decisions: list[Decision]) -> None:
        self.observe()
        for decision in decisions:
            name = decision.node.name
            if isinstance(decision, Start):
                assert not self.paused
                assert not self.halted, "it starts after the run was halted"
                assert name not in self.alive, "it runs twice at the same time"
                assert name not in self.succeeded, "it runs after its success"
                assert set(decision.node.depends_on) <= self.succeeded.keys() | self.done_without
                expected = {parent: self.succeeded.get(parent) for parent in decision.node.depends_on}
                assert decision.parent_results == expected
                self.alive[name] = decision.attempt
                assert len(self.alive) <= self.graph.policy.max_concurrency
            else:
                assert self.alive[name] == decision.attempt
                assert name not in self.stopping, "it is stopped twice"
                assert decision.reason
                self.stopping.add(name)
        for progress in self.run.snapshot().nodes:
            assert progress.state is self.states[progress.name]
            assert (progress.state is NodeState.RUNNING) == (progress.name in self.alive)
            assert progress.done_without <= (progress.state is NodeState.SKIPPED)

    def observe(self) -> None:
        for each in self.run.take_transitions():
            assert self.states[each.node] is each.source
            assert each.target in TRANSITIONS[each.source]
            assert each.at == self.now
            if each.target in {NodeState.SKIPPED, NodeState.CANCELLED, NodeState.BLOCKED, NodeState.FAILED}:
                assert each.reason
            self.states[each.node] = each.target
            if each.target is NodeState.FAILED and self.graph.policy.on_failure == "fail_fast":
                self.halted = True
            elif each.source is NodeState.FAILED and NodeState.FAILED not in self.states.values():
                self.halted = self.cancelled
        self.done_without = {each.name for each in self.run.snapshot().nodes if each.done_without}

    def end(self, name: str, how: str) -> None:
        attempt = self.alive.pop(name)
        stopped = name in self.stopping
        self.stopping.discard(name)
        self.ended.append((name, attempt))
        if how == "succeed":
            if not stopped:
                self.succeeded[name] = f"{name}#{attempt}"
            self.carry_out(self.run.node_succeeded(name, attempt, f"{name}#{attempt}", self.now))
        elif how == "stop":
            self.carry_out(self.run.node_stopped(name, attempt, self.now))
        else:
            self.carry_out(
                self.run.node_failed(name, attempt, "boom", self.now, retryable=how == "fail"),
            )

    def step(self, draw: st.DataObject) -> None:
        action = draw.draw(st.sampled_from(ACTIONS))
        self.now += draw.draw(st.sampled_from([0.0, 0.5, 2.5]))
        if action == "end" and self.alive:
            name = draw.draw(st.sampled_from(sorted(self.alive)))
            self.end(name, draw.draw(st.sampled_from(["succeed", "succeed", "fail", "fail_finally", "stop"])))
        elif action == "wait":
            self.carry_out(self.run.tick(self.now))
        elif action == "late" and self.ended:
            name, attempt = draw.draw(st.sampled_from(self.ended))
            assert self.run.node_succeeded(name, attempt, "late", self.now) == []
            assert self.run.node_failed(name, attempt, "late", self.now) == []
        elif action == "pause":
            self.paused = True
            self.carry_out(self.run.pause(self.now))
        elif action == "resume":
            self.paused = False
            self.carry_out(self.run.resume(self.now))
        elif action == "restart":
            self.run = Scheduler.restore(self.graph, self.run.snapshot(), rng=self.rng)
            in_flight = self.run.in_flight()
            assert {each.node.name: each.attempt for each in in_flight} == self.alive
            assert {each.node.name for each in in_flight if not isinstance(each, Start)} == self.stopping
        elif action == "cancel" and draw.draw(st.integers(0, 4)) == 0:
            if not (self.halted or self.run.finished):
                self.cancelled = self.halted = True
            self.carry_out(self.run.cancel("asked", self.now))
            event("cancelled")
        elif action == "start":
            self.carry_out(self.run.start(self.now))
        elif action == "interrupt" and self.states and draw.draw(st.integers(0, 2)) == 0:
            name = draw.draw(st.sampled_from(sorted(self.states)))
            self.carry_out(self.run.interrupt(name, "", self.now))
            self.interrupted.add(name)
            event("interrupted")

        elif action in ("skip", "retry", "redo", "hand_over") and self.states:
            name = draw.draw(st.sampled_from(sorted(self.states)))
            self.intervene(action, name)
        elif action == "amend":
            self.amend(draw)

    def intervene(self, action: str, name: str) -> None:
        before = self.run.snapshot()
        try:
            match action:
                case "skip":
                    self.carry_out(self.run.skip(name, "not needed", self.now))
                case "retry":
                    self.carry_out(self.run.retry([name], self.now))
                case "hand_over":
                    self.carry_out(self.run.hand_over(name, "another goes on", self.now))
                case _:
                    self.carry_out(self.run.redo(name, "it has changed", self.now))
        except NotPossible:
            assert self.run.snapshot() == before, "it was refused, and changed something"
            event(f"{action} refused")
        else:
            event(action)

    def amend(self, draw: st.DataObject) -> None:
        """Take some out that have not begun, have others wait for something else, and add one."""
        begun = {each.name for each in self.run.snapshot().nodes if each.attempt}
        order = list(chain.from_iterable(layers(self.graph)))
        kept = [name for name in order if name in begun or draw.draw(st.integers(0, 3))]
        nodes = {node.name: node for node in self.graph.nodes}
        self.amended += 1
        kept.append(f"m{self.amended}")
        changed: list[Node] = []
        for place, name in enumerate(kept):
            node = nodes.get(name) or Node(name, "pipeline")
            parents = [each for each in node.depends_on if each in kept]
            if draw.draw(st.integers(0, 2)) == 0 and place:
                parents = [kept[each] for each in draw.draw(st.sets(st.integers(0, place - 1), max_size=3))]
            changed.append(msgspec.structs.replace(node, depends_on=tuple(parents)))
        self.graph = Graph(tuple(draw.draw(st.permutations(changed))), self.graph.policy)
        self.run, decisions = self.run.amended(self.graph, self.now)
        self.states = {name: self.states.get(name, NodeState.PENDING) for name in kept}
        self.ended = [(name, attempt) for name, attempt in self.ended if name in self.states]
        self.carry_out(decisions)

    def drain(self) -> None:
        self.paused = False
        self.carry_out(self.run.start(self.now))
        self.carry_out(self.run.resume(self.now))
        while not self.run.finished:
            wakeup = self.run.next_wakeup()
            assert self.alive or wakeup is not None, "nothing runs, nothing is due, and it has not ended"
            if self.alive:
                self.end(min(self.alive), "succeed")
            elif wakeup is not None:
                self.now = max(self.now, wakeup)
                self.carry_out(self.run.tick(self.now))


@settings(max_examples=400, deadline=None)
@given(graph=graphs(), draw=st.data())
def test_every_run_keeps_its_promises_and_ends(graph: Graph, draw: st.DataObject):
    world = World(graph)
    for _ in range(draw.draw(st.integers(0, 40))):
        world.step(draw)
    world.drain()
    assert not world.alive
    assert world.run.next_wakeup() is None
    assert all(state in TERMINAL for state in world.states.values())
    assert {name for name, state in world.states.items() if state is NodeState.SUCCEEDED} == set(world.succeeded)
    if world.run.outcome is Outcome.SUCCEEDED:
        assert world.succeeded.keys() | world.done_without == world.states.keys()
    if world.run.outcome is Outcome.FAILED:
        assert NodeState.FAILED in world.states.values() or world.interrupted
    event(f"outcome {world.run.outcome}")


@given(st.dictionaries(st.sampled_from("abcdefgh"), st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=3)))
def test_validation_finds_a_cycle_exactly_when_there_is_one(edges: dict[str, list[str]]):
    def reaches(start: str, goal: str) -> bool:
        seen: set[str] = set()
        waiting = [target for target in edges[start] if target != start]
        while waiting:
            each = waiting.pop()
            if each in seen or each not in edges:
                continue
            seen.add(each)
            waiting += [target for target in edges[each] if target != each]
        return goal in seen

    found = cycles(edges)
    for path in found:
        assert path[0] == path[-1]
        assert len(set(path)) == len(path) - 1 >= 2
        assert all(target in edges[source] for source, target in pairwise(path))
    assert bool(found) == any(reaches(name, name) for name in edges)
    validate([Node(name, "pipeline", tuple(targets)) for name, targets in edges.items()], {"pipeline"})
