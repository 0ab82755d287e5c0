from __future__ import annotations

import pytest

from sylk_ray.dag import NodeState, Transition
from sylk_ray.sessions import JobRecord, JobState
from sylk_ray.sessions.ledger import JobLedger
from sylk_ray.sessions.records import ErrorRecord


@pytest.fixture
def ledger() -> JobLedger:
    record = JobRecord("j-1", "n", "s-1", "name", "/r", "b", JobState.PREPARED, 1.0)
    ledger = JobLedger(record)
    ledger.begin([["a", "b"], ["c"]], now=100.0)
    return ledger


def move(node: str, target: NodeState, at: float, attempt: int = 1, reason: str = "") -> Transition:
    return Transition(node, NodeState.PENDING, target, at, attempt, reason)


def test_a_job_begins_with_its_tasks_in_layers(ledger):
    assert (ledger.record.status, ledger.record.started_at) == (JobState.RUNNING, 100.0)
    assert {name: task.layer for name, task in ledger.record.tasks.items()} == {"a": 0, "b": 0, "c": 1}


def test_time_is_counted_from_the_first_start_over_all_attempts(ledger):
    ledger.moved(move("a", NodeState.RUNNING, 101.0))
    ledger.moved(move("a", NodeState.BLOCKED, 102.0, reason="again in 1 s"))
    ledger.moved(move("a", NodeState.RUNNING, 103.0, attempt=2))
    task = ledger.moved(move("a", NodeState.SUCCEEDED, 105.5, attempt=2))
    assert (task.state, task.attempts, task.started_at, task.duration_s) == ("succeeded", 2, 101.0, 4.5)


def test_a_new_attempt_forgets_the_error_of_the_last(ledger):
    ledger.task("a", error=ErrorRecord("tests_failed", "no"))
    assert ledger.moved(move("a", NodeState.RUNNING, 101.0, attempt=2)).error is None


def test_a_task_that_failed_without_a_word_has_the_graphs_reason(ledger):
    assert ledger.moved(move("a", NodeState.FAILED, 101.0, reason="timed out")).error.message == "timed out"
    ledger.task("b", error=ErrorRecord("tests_failed", "no"))
    assert ledger.moved(move("b", NodeState.FAILED, 101.0, reason="x")).error.type == "tests_failed"


def test_one_failed_task_lends_the_job_its_hint_and_several_do_not(ledger):
    ledger.task("a", state="failed", error=ErrorRecord("x", "m", "do this"))
    assert (ledger.failure().message, ledger.failure().hint) == ("a failed", "do this")
    ledger.task("b", state="failed", error=ErrorRecord("x", "m", "do that"))
    assert (ledger.failure().message, ledger.failure().hint) == ("a, b failed", "")


def test_a_record_that_was_handed_out_stays_as_it_was(ledger):
    before = ledger.record
    ledger.task("a", commit="abc")
    ledger.checks("session-checks", 110.0, state="running", started_at=110.0)
    ledger.checks("session-checks", 112.0, state="succeeded")
    assert before.tasks["a"].commit is None
    assert before.checks is None
    assert ledger.record.checks.duration_s == 2.0
