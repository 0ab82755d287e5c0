from __future__ import annotations

from random import Random
from typing import Any

import msgspec
import pytest

from sylk_ray.dag import (
    TERMINAL,
    TRANSITIONS,
    Decision,
    Graph,
    IllegalTransition,
    InvalidGraph,
    Node,
    NodeState,
    Outcome,
    Policy,
    Retry,
    Scheduler,
    Snapshot,
    Start,
    Stop,
    UnknownNode,
)
from sylk_ray.dag.states import check_transition
from sylk_ray.errors import InputError


def node(name: str, *depends_on: str, **settings: Any) -> Node:
    return Node(name, "pipeline", depends_on, **settings)


def scheduler(*nodes: Node, **policy: Any) -> Scheduler:
    return Scheduler(Graph(nodes, Policy(**policy)), rng=Random(0))


def said(decisions: list[Decision]) -> list[str]:
    return [f"{'start' if isinstance(each, Start) else 'stop'} {each.node.name} {each.attempt}" for each in decisions]


def states(run: Scheduler) -> dict[str, str]:
    return {progress.name: progress.state.value for progress in run.snapshot().nodes}


def reasons(run: Scheduler) -> dict[str, str]:
    return {progress.name: progress.reason for progress in run.snapshot().nodes}


NO_JITTER = Retry(attempts=1, base_s=10, jitter=0)


def test_a_node_starts_the_moment_its_own_parents_succeed():
    run = scheduler(node("a"), node("b"), node("c", "a"), node("d", "a", "b"))
    assert said(run.start(0)) == ["start a 1", "start b 1"]
    assert said(run.node_succeeded("a", 1, "A", 1)) == ["start c 1"]
    (start,) = run.node_succeeded("b", 1, "B", 2)
    assert isinstance(start, Start)
    assert (start.node.name, start.parent_results) == ("d", {"a": "A", "b": "B"})


def test_five_layers_of_twenty_nodes_run_in_order_within_the_bound():
    nodes = [node(f"l0_{i}") for i in range(4)]
    for layer in range(1, 5):
        nodes += [node(f"l{layer}_{i}", f"l{layer - 1}_{i}", f"l{layer - 1}_{(i + 1) % 4}") for i in range(4)]
    run = scheduler(*nodes, max_concurrency=3)
    running = [each.node for each in run.start(0)]
    done: list[str] = []
    while running:
        assert len(running) <= 3
        current = running.pop(0)
        assert set(current.depends_on) <= set(done)
        done.append(current.name)
        running += [each.node for each in run.node_succeeded(current.name, 1, None, len(done))]
    assert len(done) == len(set(done)) == 20
    assert (run.finished, run.outcome) == (True, Outcome.SUCCEEDED)


def test_the_longest_remaining_path_goes_first_then_declaration_order():
    run = scheduler(node("short_b"), node("short_a"), node("long_1"), node("long_2", "long_1"), max_concurrency=1)
    order = said(run.start(0))
    for name in ("long_1", "short_b", "short_a"):
        order += said(run.node_succeeded(name, 1, None, 0))
    assert order == ["start long_1 1", "start short_b 1", "start short_a 1", "start long_2 1"]


def test_fail_fast_stops_what_runs_and_skips_the_rest():
    run = scheduler(node("a"), node("b"), node("c", "a"), node("d"), max_concurrency=2)
    assert said(run.start(0)) == ["start a 1", "start b 1"]
    (stop,) = run.node_failed("a", 1, "boom", 1)
    assert stop == Stop(node("b"), 1, 'because "a" failed')
    assert states(run) == {"a": "failed", "b": "running", "c": "skipped", "d": "skipped"}
    assert (run.finished, run.outcome) == (False, None)
    assert run.node_stopped("b", 1, 2) == []
    assert reasons(run) == {"a": "boom"} | dict.fromkeys("bcd", 'because "a" failed')
    assert (states(run)["b"], run.finished, run.outcome) == ("cancelled", True, Outcome.FAILED)


def test_fail_fast_cancels_a_node_that_waits_for_its_retry():
    run = scheduler(node("a"), node("b", retry=NO_JITTER))
    run.start(0)
    run.node_failed("b", 1, "boom", 1)
    run.node_failed("a", 1, "boom", 2)
    assert states(run) == {"a": "failed", "b": "cancelled"}
    assert run.next_wakeup() is None


def test_continue_on_failure_skips_only_the_descendants():
    run = scheduler(
        node("a"),
        node("b"),
        node("c", "a"),
        node("d", "b", "c"),
        node("e", "b"),
        on_failure="continue_on_failure",
    )
    run.start(0)
    assert run.node_failed("a", 1, "boom", 1) == []
    assert said(run.node_succeeded("b", 1, None, 2)) == ["start e 1"]
    run.node_succeeded("e", 1, None, 3)
    assert states(run) == {"a": "failed", "b": "succeeded", "c": "skipped", "d": "skipped", "e": "succeeded"}
    assert (reasons(run)["d"], run.outcome) == ('because "a" failed', Outcome.FAILED)


def test_a_failure_hands_its_slot_to_the_next():
    run = scheduler(node("a"), node("b"), max_concurrency=1, on_failure="continue_on_failure")
    run.start(0)
    assert said(run.node_failed("a", 1, "boom", 1)) == ["start b 1"]


def test_cancel_stops_what_runs_and_cancels_the_rest():
    run = scheduler(node("a"), node("b", "a"), node("c"), max_concurrency=1)
    run.start(0)
    (stop,) = run.cancel("asked by ann", 1)
    assert stop == Stop(node("a"), 1, "asked by ann")
    assert states(run) == {"a": "running", "b": "cancelled", "c": "cancelled"}
    assert run.cancel("again", 2) == []
    assert run.node_succeeded("a", 1, "too late", 3) == []
    assert states(run)["a"] == "cancelled"
    assert reasons(run) == dict.fromkeys("abc", "asked by ann")
    assert run.outcome is Outcome.CANCELLED


def test_cancel_before_the_start_and_after_the_end():
    run = scheduler(node("a"))
    run.cancel("never mind", 0)
    assert run.start(1) == []
    assert (states(run), run.outcome) == ({"a": "cancelled"}, Outcome.CANCELLED)
    ended = scheduler(node("a"))
    ended.start(0)
    ended.node_succeeded("a", 1, None, 1)
    assert ended.cancel("late", 2) == []
    assert ended.outcome is Outcome.SUCCEEDED


def test_pause_lets_running_nodes_end_and_starts_nothing():
    run = scheduler(node("a"), node("b"), node("c", "a"), max_concurrency=1)
    run.start(0)
    run.pause(1)
    assert run.node_succeeded("a", 1, None, 2) == []
    assert states(run) == {"a": "succeeded", "b": "blocked", "c": "blocked"}
    assert said(run.resume(3)) == ["start b 1"]
    assert states(run)["c"] == "queued"


def test_a_back_off_that_ends_during_a_pause_waits_for_the_resume():
    run = scheduler(node("a", retry=NO_JITTER))
    run.start(0)
    run.node_failed("a", 1, "boom", 0)
    run.pause(1)
    assert run.tick(10) == []
    assert said(run.resume(11)) == ["start a 2"]


def test_a_run_can_be_paused_before_it_starts():
    run = scheduler(node("a"))
    run.pause(0)
    assert run.start(1) == []
    assert said(run.resume(2)) == ["start a 1"]


def test_a_retry_waits_for_its_back_off_and_frees_its_slot():
    run = scheduler(node("a", retry=Retry(attempts=2, base_s=10, jitter=0)), node("b"), max_concurrency=1)
    run.start(0)
    assert said(run.node_failed("a", 1, "boom", 5)) == ["start b 1"]
    assert reasons(run)["a"] == "attempt 1 of 3 failed: boom; again in 10 s"
    assert run.next_wakeup() == 15
    run.node_succeeded("b", 1, None, 6)
    assert run.tick(14.9) == []
    assert said(run.tick(15)) == ["start a 2"]
    run.node_failed("a", 2, "boom", 16)
    assert run.next_wakeup() == 36
    assert said(run.tick(40)) == ["start a 3"]
    run.node_failed("a", 3, "boom", 41)
    assert (states(run)["a"], reasons(run)["a"], run.outcome) == ("failed", "boom", Outcome.FAILED)


def test_a_retry_without_delay_starts_again_at_once():
    run = scheduler(node("a"), retry=Retry(attempts=1, base_s=0))
    run.start(0)
    assert said(run.node_failed("a", 1, "boom", 1)) == ["start a 2"]


def test_a_failure_that_is_not_retryable_is_final():
    run = scheduler(node("a"), retry=Retry(attempts=5))
    run.start(0)
    run.node_failed("a", 1, "bad input", 1, retryable=False)
    assert states(run) == {"a": "failed"}


def test_a_timed_out_attempt_keeps_its_slot_until_it_has_ended():
    run = scheduler(node("a", timeout_s=5.0, retry=Retry(attempts=1, base_s=0)), node("b"), max_concurrency=1)
    run.start(0)
    run.node_began("a", 1, 0)
    assert run.next_wakeup() == 5
    (stop,) = run.tick(5)
    assert stop == Stop(node("a", timeout_s=5.0, retry=Retry(attempts=1, base_s=0)), 1, "it ran longer than its 5 s")
    assert run.next_wakeup() is None
    assert said(run.node_stopped("a", 1, 6)) == ["start a 2"]
    assert run.next_wakeup() is None
    run.node_began("a", 2, 8)
    assert run.next_wakeup() == 13


def test_the_clock_of_an_attempt_stands_still_while_it_is_held():
    run = scheduler(node("a", timeout_s=5.0))
    run.start(0)
    assert run.next_wakeup() is None  # it waits to be let in
    run.node_began("a", 1, 10)
    run.hold_clock("a", 1, 12)
    assert (run.next_wakeup(), said(run.tick(100))) == (None, [])
    run.go_on("a", 1, 100)
    run.go_on("a", 1, 101)
    assert run.next_wakeup() == 103
    assert said(run.tick(103)) == ["stop a 1"]


def test_a_held_clock_is_still_held_after_a_restore():
    graph = Graph((node("a", timeout_s=5.0),), Policy())
    run = Scheduler(graph, rng=Random(0))
    run.start(0)
    run.node_began("a", 1, 0)
    run.hold_clock("a", 1, 2)
    restored = Scheduler.restore(graph, run.snapshot(), rng=Random(0))
    restored.go_on("a", 1, 50)
    assert restored.next_wakeup() == 53


def test_changes_and_mode_make_up_the_snapshot():
    run = scheduler(node("a"), node("b", "a"), node("c"))
    kept = {progress.name: progress for progress in run.snapshot().nodes}
    for step in (
        lambda: run.start(0),
        lambda: run.node_succeeded("a", 1, "A", 1),
        lambda: run.node_failed("c", 1, "boom", 2),
        lambda: run.node_stopped("b", 1, 3),
    ):
        step()
        kept.update((progress.name, progress) for progress in run.take_changes())
        assert Snapshot(tuple(kept.values()), run.mode) == run.snapshot()
    assert run.take_changes() == []


def test_a_final_timeout_under_fail_fast_stops_the_others_at_once():
    run = scheduler(node("a", timeout_s=5.0), node("b"), node("c", "b"))
    run.start(0)
    run.node_began("a", 1, 0)
    assert said(run.tick(5)) == ["stop a 1", "stop b 1"]
    run.node_stopped("b", 1, 6)
    run.node_stopped("a", 1, 7)
    assert states(run) == {"a": "failed", "b": "cancelled", "c": "skipped"}
    assert run.outcome is Outcome.FAILED


def test_a_timed_out_node_with_tries_left_is_not_tried_again_once_the_run_is_halted():
    run = scheduler(node("a", timeout_s=5.0, retry=NO_JITTER), node("b"))
    run.start(0)
    run.node_began("a", 1, 0)
    assert said(run.tick(5)) == ["stop a 1"]
    assert run.node_failed("b", 1, "boom", 6) == []
    assert run.node_stopped("a", 1, 7) == []
    assert (states(run), run.outcome) == ({"a": "cancelled", "b": "failed"}, Outcome.FAILED)


def test_a_deadline_that_passes_while_stopping_stops_nothing_twice():
    run = scheduler(node("a", timeout_s=5.0), on_failure="continue_on_failure")
    run.start(0)
    run.node_began("a", 1, 0)
    run.cancel("asked", 1)
    assert run.next_wakeup() is None
    assert run.tick(5) == []


def test_a_timeout_under_continue_on_failure_skips_the_descendants():
    run = scheduler(node("a"), node("b", "a"), timeout_s=5.0, on_failure="continue_on_failure")
    run.start(0)
    run.node_began("a", 1, 0)
    run.tick(5)
    run.node_stopped("a", 1, 6)
    assert states(run) == {"a": "failed", "b": "skipped"}


def test_late_reports_of_an_old_attempt_change_nothing():
    run = scheduler(node("a", timeout_s=5.0, retry=Retry(attempts=1, base_s=0)), node("b", "a"))
    run.start(0)
    run.node_began("a", 1, 0)
    run.tick(5)
    run.node_stopped("a", 1, 6)
    assert run.node_succeeded("a", 1, "late", 7) == []
    assert run.node_failed("a", 1, "late", 7) == []
    assert run.node_stopped("a", 1, 7) == []
    assert run.node_succeeded("a", 3, "never started", 7) == []
    assert states(run) == {"a": "running", "b": "pending"}
    assert said(run.node_succeeded("a", 2, "good", 8)) == ["start b 1"]
    assert run.node_succeeded("a", 2, "again", 9) == []


def test_a_success_after_the_stop_is_too_late_but_frees_the_slot():
    run = scheduler(node("a", timeout_s=5.0), node("b"), max_concurrency=1, on_failure="continue_on_failure")
    run.start(0)
    run.node_began("a", 1, 0)
    run.tick(5)
    assert said(run.node_succeeded("a", 1, "late", 6)) == ["start b 1"]
    assert states(run)["a"] == "failed"


def test_a_stop_that_nobody_asked_for_is_a_failure_that_may_be_retried():
    run = scheduler(node("a"), retry=Retry(attempts=1, base_s=0))
    run.start(0)
    assert said(run.node_stopped("a", 1, 1)) == ["start a 2"]


def test_a_second_start_does_nothing():
    run = scheduler(node("a"), node("b"))
    run.start(0)
    assert run.start(1) == []


def test_an_empty_graph_has_succeeded():
    run = scheduler()
    assert (run.start(0), run.finished, run.outcome) == ([], True, Outcome.SUCCEEDED)


def test_a_graph_that_is_not_sound_is_refused():
    with pytest.raises(InvalidGraph):
        scheduler(node("a", "b"))


def test_a_report_about_an_unknown_node_is_an_error():
    with pytest.raises(UnknownNode, match='no node "z"'):
        scheduler(node("a")).node_succeeded("z", 1, None, 0)


def test_transitions_can_be_observed_once():
    run = scheduler(node("a"))
    run.start(1)
    run.node_succeeded("a", 1, None, 2)
    seen = [(each.node, each.source, each.target, each.at, each.attempt) for each in run.take_transitions()]
    assert seen == [
        ("a", "pending", "queued", 1, 0),
        ("a", "queued", "running", 1, 1),
        ("a", "running", "succeeded", 2, 1),
    ]
    assert run.take_transitions() == []


def test_the_table_of_transitions_covers_every_state():
    assert set(TRANSITIONS) == set(NodeState)
    assert {state.value for state in TERMINAL} == {"succeeded", "failed", "skipped", "cancelled"}
    with pytest.raises(IllegalTransition, match='"a" cannot go from succeeded to running'):
        check_transition("a", NodeState.SUCCEEDED, NodeState.RUNNING)


def test_a_run_goes_on_from_its_encoded_snapshot():
    nodes = (node("a"), node("b", retry=NO_JITTER), node("c", timeout_s=9.0), node("d", "a", "b"))
    graph = Graph(nodes, Policy(on_failure="continue_on_failure"))
    run = Scheduler(graph, rng=Random(0))
    run.start(0)
    run.node_began("c", 1, 0)
    run.node_succeeded("a", 1, {"files": 3}, 1)
    run.node_failed("b", 1, "boom", 2)
    encoded = msgspec.json.encode(run.snapshot())
    restored = Scheduler.restore(graph, msgspec.json.decode(encoded, type=Snapshot), rng=Random(0))
    assert restored.snapshot() == run.snapshot()
    assert said(restored.in_flight()) == ["start c 1"]
    assert restored.next_wakeup() == 9
    assert said(restored.tick(12)) == ["stop c 1", "start b 2"]
    with pytest.raises(InputError, match="another graph"):
        Scheduler.restore(Graph((node("z"),)), run.snapshot(), rng=Random(0))


@pytest.mark.timeout(20)
def test_ten_thousand_nodes_are_no_burden():
    nodes = [
        node("root"),
        *(node(f"n{i}", "root") for i in range(9_998)),
        node("sink", *(f"n{i}" for i in range(9_998))),
    ]
    run = scheduler(*nodes, max_concurrency=100, timeout_s=1e6)
    waiting = run.start(0)
    started = 0
    while waiting:
        each = waiting.pop()
        started += 1
        waiting += run.node_succeeded(each.node.name, each.attempt, None, started)
        run.next_wakeup()
    assert (started, run.outcome) == (10_000, Outcome.SUCCEEDED)


def test_an_interrupted_node_is_cancelled_and_not_tried_again_while_the_rest_goes_on():
    run = scheduler(node("a"), node("b", "a"), node("c"), retry=Retry(attempts=3, base_s=0))
    run.start(0)
    assert said(run.interrupt("a", "it is no use", 1)) == ["stop a 1"]
    assert run.interrupt("a", "once more", 1) == []
    assert run.node_stopped("a", 1, 2) == []
    assert states(run) == {"a": "cancelled", "b": "skipped", "c": "running"}
    assert reasons(run)["a"] == "it is no use"
    assert reasons(run)["b"] == 'because "a" was interrupted'
    run.node_succeeded("c", 1, None, 3)
    assert run.outcome is Outcome.FAILED


def test_a_node_that_has_not_started_is_interrupted_at_once():
    run = scheduler(node("a"), node("b"), max_concurrency=1)
    assert run.interrupt("a", "", 0) == []
    assert said(run.start(1)) == ["start b 1"]
    assert states(run) == {"a": "cancelled", "b": "running"}


def test_a_node_that_waits_for_a_slot_is_interrupted_at_once():
    run = scheduler(node("first"), node("second"), node("child", "second"), node("own", "first"), max_concurrency=1)
    run.start(0)
    assert run.interrupt("second", "", 1) == []
    assert states(run) == {"first": "running", "second": "cancelled", "child": "skipped", "own": "pending"}
    assert said(run.node_succeeded("first", 1, None, 2)) == ["start own 1"]
    run.node_succeeded("own", 1, None, 3)
    assert run.finished


def test_a_node_that_is_timing_out_is_not_tried_again_once_it_is_interrupted():
    run = scheduler(node("a", timeout_s=5), retry=Retry(attempts=3, base_s=0))
    run.start(0)
    run.node_began("a", 1, 0)
    assert said(run.tick(6)) == ["stop a 1"]
    assert run.interrupt("a", "enough", 6) == []
    run.node_stopped("a", 1, 7)
    assert states(run) == {"a": "cancelled"}


def test_a_node_in_its_back_off_is_interrupted_and_its_timer_means_nothing():
    run = scheduler(node("a"), retry=NO_JITTER)
    run.start(0)
    run.node_failed("a", 1, "boom", 1)
    run.interrupt("a", "", 2)
    assert run.next_wakeup() is None
    assert states(run) == {"a": "cancelled"}


def test_looking_at_a_node_does_not_count_as_a_change_of_it():
    run = scheduler(node("a"))
    run.start(0)
    run.take_changes()
    run.state_of("a")
    run.is_stopping("a", 1)
    run.next_wakeup()
    assert run.take_changes() == []
