"""What a person, or a change of the plan, does to a graph that runs."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec
import pytest

from sylk_ray.dag import Graph, InvalidGraph, Node, NotPossible, Outcome, Policy, Retry, Scheduler, Snapshot, Start

from .test_scheduler import node, reasons, said, scheduler, states


def graph(*nodes: Node, **policy: Any) -> Graph:
    return Graph(nodes, Policy(**policy))


def test_what_depends_on_a_node_goes_on_when_it_is_done_without():
    run = scheduler(node("a"), node("b", "a"), on_failure="continue_on_failure")
    run.start(0)
    run.node_failed("a", 1, "boom", 1)
    assert states(run) == {"a": "failed", "b": "skipped"}
    (start,) = run.skip("a", "not worth it", 2)
    assert isinstance(start, Start)
    assert (start.node.name, start.parent_results) == ("b", {"a": None})
    assert reasons(run)["a"] == "not worth it"
    run.node_succeeded("b", 1, "B", 3)
    assert run.outcome is Outcome.SUCCEEDED


def test_a_running_node_is_ended_before_it_is_done_without():
    run = scheduler(node("a"), node("b", "a"))
    run.start(0)
    assert said(run.skip("a", "not worth it", 1)) == ["stop a 1"]
    assert run.skip("a", "not worth it", 1) == []
    assert said(run.node_succeeded("a", 1, "too late", 2)) == ["start b 1"]
    assert states(run) == {"a": "skipped", "b": "running"}


def test_what_has_succeeded_stays_so():
    run = scheduler(node("a"), node("b"))
    run.start(0)
    run.node_succeeded("a", 1, "A", 1)
    assert run.skip("a", "late", 2) == []
    assert states(run)["a"] == "succeeded"
    with pytest.raises(NotPossible, match="succeeded"):
        run.retry(["a"], 2)


def test_a_failed_node_is_tried_again_with_all_its_tries_and_takes_what_was_halted_along():
    run = scheduler(node("a"), node("b"), node("c", "a"), node("d"), max_concurrency=2)
    run.start(0)
    assert said(run.node_failed("a", 1, "boom", 1)) == ["stop b 1"]
    run.node_stopped("b", 1, 2)
    assert states(run) == {"a": "failed", "b": "cancelled", "c": "skipped", "d": "skipped"}
    assert run.outcome is Outcome.FAILED
    assert said(run.retry(["a"], 3)) == ["start a 2", "start b 2"]
    assert states(run) == {"a": "running", "b": "running", "c": "pending", "d": "queued"}
    assert said(run.node_succeeded("a", 2, "A", 4)) == ["start c 1"]


def test_one_that_still_ends_when_the_failure_counts_no_more_is_begun_anew():
    run = scheduler(node("a"), node("b"))
    run.start(0)
    run.node_failed("a", 1, "boom", 1)
    assert said(run.retry(["a"], 2)) == ["start a 2"]
    assert said(run.node_stopped("b", 1, 3)) == ["start b 2"]


def test_what_depends_on_a_failed_node_cannot_be_tried_again_before_it():
    run = scheduler(node("a"), node("b", "a"), on_failure="continue_on_failure")
    run.start(0)
    run.node_failed("a", 1, "boom", 1)
    with pytest.raises(NotPossible, match='depends on "a"'):
        run.retry(["b"], 2)
    assert states(run) == {"a": "failed", "b": "skipped"}


def test_a_cancelled_run_stays_cancelled():
    run = scheduler(node("a"))
    run.start(0)
    run.cancel("enough", 1)
    run.node_stopped("a", 1, 2)
    for wish in (lambda: run.retry(["a"], 3), lambda: run.skip("a", "x", 3)):
        with pytest.raises(NotPossible, match="cancelled"):
            wish()


def test_an_attempt_that_is_done_anew_does_not_count_as_a_try():
    run = scheduler(node("a"))
    run.start(0)
    assert said(run.redo("a", "its task has changed", 1)) == ["stop a 1"]
    assert said(run.node_stopped("a", 1, 2)) == ["start a 2"]
    assert run.redo("a", "its task has changed", 3) != []
    assert said(run.node_stopped("a", 2, 4)) == ["start a 3"]
    run.node_succeeded("a", 3, "A", 5)
    assert run.redo("a", "its task has changed", 6) == []


def test_an_attempt_that_another_goes_on_for_costs_no_try_and_gives_none_back():
    run = scheduler(node("a", retry=Retry(attempts=1)))
    run.start(0)
    run.node_failed("a", 1, "boom", 1)
    run.tick(100)
    assert said(run.hand_over("a", "another goes on", 101)) == ["stop a 2"]
    assert said(run.node_stopped("a", 2, 102)) == ["start a 3"]
    assert run.node_failed("a", 3, "boom", 103) == []
    assert states(run)["a"] == "failed"


def test_where_nothing_is_begun_nothing_is_handed_over():
    run = scheduler(node("a", timeout_s=5.0), node("b"), on_failure="continue_on_failure", max_concurrency=1)
    run.start(0)
    run.pause(1)
    with pytest.raises(NotPossible, match="paused"):
        run.hand_over("a", "another goes on", 1)
    run.resume(1)
    run.node_began("a", 1, 1)
    run.tick(7)
    for name in ("a", "b"):  # it is being stopped, and it has not begun
        with pytest.raises(NotPossible, match="not at work"):
            run.hand_over(name, "another goes on", 7)
    assert said(run.node_stopped("a", 1, 8)) == ["start b 1"]
    assert states(run)["a"] == "failed"
    run.cancel("enough", 9, stop_running=False)
    with pytest.raises(NotPossible, match="nothing is begun any more"):
        run.hand_over("b", "another goes on", 9)


def test_a_graph_can_grow_shrink_and_be_rewired_while_it_runs():
    run = scheduler(node("a"), node("b", "a"), node("c", "b"), max_concurrency=2)
    run.start(0)
    run.node_succeeded("a", 1, "A", 1)
    assert states(run) == {"a": "succeeded", "b": "running", "c": "pending"}
    run, decisions = run.amended(graph(node("a"), node("b", "a"), node("d", "a"), node("e", "d", "b")), 2)
    assert said(decisions) == ["start d 1"]
    run.node_succeeded("b", 1, "B", 3)
    (start,) = run.node_succeeded("d", 1, "D", 3)
    assert isinstance(start, Start)
    assert start.parent_results == {"d": "D", "b": "B"}
    run.node_succeeded("e", 1, "E", 4)
    assert run.outcome is Outcome.SUCCEEDED


def test_what_waits_for_a_slot_waits_for_its_new_dependency():
    run = scheduler(node("a"), node("b"), max_concurrency=1)
    run.start(0)
    assert states(run)["b"] == "queued"
    run, decisions = run.amended(graph(node("a"), node("b", "a"), max_concurrency=1), 1)
    assert decisions == []
    assert states(run)["b"] == "pending"
    assert said(run.node_succeeded("a", 1, "A", 2)) == ["start b 1"]


def test_what_was_skipped_for_a_failure_goes_on_when_it_depends_on_it_no_more():
    run = scheduler(node("a"), node("b", "a"), on_failure="continue_on_failure")
    run.start(0)
    run.node_failed("a", 1, "boom", 1)
    amended = graph(node("a"), node("b"), on_failure="continue_on_failure")
    run, decisions = run.amended(amended, 2)
    assert said(decisions) == ["start b 1"]


def test_a_node_that_has_begun_cannot_be_left_out():
    run = scheduler(node("a"), node("b"), max_concurrency=1)
    run.start(0)
    with pytest.raises(NotPossible, match='"a" has begun'):
        run.amended(graph(node("b")), 1)
    with pytest.raises(InvalidGraph):
        run.amended(graph(node("a", "nobody"), node("b")), 1)


def test_an_attempt_whose_node_depends_on_more_by_now_waits_when_it_is_done_anew():
    run = scheduler(node("a"), node("b"))
    run.start(0)
    run, _ = run.amended(graph(node("a"), node("b", "a")), 1)
    run.redo("b", "it has changed", 1)
    assert run.node_stopped("b", 1, 2) == []
    assert states(run)["b"] == "pending"
    assert said(run.node_succeeded("a", 1, "A", 3)) == ["start b 2"]


def test_what_cannot_be_done_anew_for_what_it_depends_on_by_now_takes_along_what_depends_on_it():
    keeps_on: dict[str, Any] = {"on_failure": "continue_on_failure"}
    run = scheduler(node("a"), node("b"), node("c", "b"), node("d", "c"), **keeps_on)
    run.start(0)
    run.node_failed("a", 1, "boom", 1)
    run, _ = run.amended(graph(node("a"), node("b", "a"), node("c", "b"), node("d", "c"), **keeps_on), 2)
    assert said(run.redo("b", "it has changed", 3)) == ["stop b 1"]
    assert run.node_stopped("b", 1, 4) == []
    assert states(run) == {"a": "failed", "b": "skipped", "c": "skipped", "d": "skipped"}
    assert reasons(run)["d"] == 'because "a" failed'
    assert (run.finished, run.outcome) == (True, Outcome.FAILED)


def test_new_nodes_of_a_halted_run_do_not_begin_until_it_goes_on():
    run = scheduler(node("a"))
    run.start(0)
    run.node_failed("a", 1, "boom", 1)
    run, decisions = run.amended(graph(node("a"), node("b")), 2)
    assert (decisions, states(run)["b"]) == ([], "skipped")
    assert said(run.skip("a", "b does it", 3)) == ["start b 1"]


def test_what_was_forgiven_is_in_the_snapshot():
    only = graph(node("a", retry=Retry(attempts=1, base_s=0)))
    run = Scheduler(only, rng=Random(0))
    run.start(0)
    run.node_failed("a", 1, "boom", 1)
    run.node_failed("a", 2, "boom", 2)
    run.retry(["a"], 3)
    encoded = msgspec.json.encode(run.snapshot())
    again = Scheduler.restore(only, msgspec.json.decode(encoded, type=Snapshot), rng=Random(0))
    assert said(again.node_failed("a", 3, "boom", 4)) == ["start a 4"]
    again.node_failed("a", 4, "boom", 5)
    assert states(again)["a"] == "failed"
