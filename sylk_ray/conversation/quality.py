"""The judging of a whole session, after its pipelines: what Inspector and Tester find, and what becomes of it."""

from __future__ import annotations

import msgspec

from sylk_ray.messaging import Message, said_by
from sylk_ray.tools import Issue, TestFailure


class ValidateTask(Message, frozen=True):
    """Judge what a task has come to: the commit, by these criteria."""

    flow = said_by("orchestrator", to="inspector")
    spec = ("VALIDATE_TASK",)
    ahead = True

    task: str
    attempt: int
    commit: str
    files: list[str] = []
    criteria: list[str] = []


class ValidationResult(Message, frozen=True):
    """What the Inspector makes of a task's commit."""

    flow = said_by("inspector", to="orchestrator")
    spec = ("VALIDATION_RESULT",)
    ahead = True

    task: str
    attempt: int
    passed: bool
    issues: list[Issue] = []


class ValidationFull(Message, frozen=True):
    """What the Inspector makes of the whole session, for the person."""

    flow = said_by("inspector", to="user")
    spec = ("VALIDATION_FULL",)
    ahead = True

    job_id: str
    commit: str
    passed: bool
    summary: str
    issues: list[Issue] = []


class Correction(msgspec.Struct, frozen=True):
    """One thing to be put right: what it is, where, and which task made it (empty: several did)."""

    what: str
    files: list[str] = []
    task: str = ""


class ValidationCorrections(Message, frozen=True):
    """What the Inspector wants put right, for the Architect to plan."""

    flow = said_by("inspector", to="architect")
    spec = ("VALIDATION_CORRECTIONS",)
    ahead = True

    job_id: str
    corrections: list[Correction]


class PlannedTest(msgspec.Struct, frozen=True):
    """A test that should be there: where it goes, and what it shows."""

    name: str
    file: str
    shows: str


class TestPlanRequest(Message, frozen=True):
    """Think of the tests that this work needs."""

    flow = said_by("architect", to="tester")
    spec = ("TEST_PLAN_REQUEST",)
    ahead = True

    job_id: str
    goal: str
    files: list[str] = []
    criteria: list[str] = []


class TestPlanResponse(Message, frozen=True):
    """The tests that the Tester would write, for the person to see."""

    flow = said_by("tester", to="user")
    spec = ("TEST_PLAN_RESPONSE",)
    ahead = True

    job_id: str
    summary: str
    tests: list[PlannedTest]


class TestDagRequest(Message, frozen=True):
    """Plan tasks that write these tests."""

    flow = said_by("tester", to="architect")
    spec = ("TEST_DAG_REQUEST",)
    ahead = True

    job_id: str
    tests: list[PlannedTest]


class TestsReady(Message, frozen=True):
    """The tests are written: run them on this commit."""

    flow = said_by("orchestrator", to="tester")
    spec = ("TESTS_READY",)
    ahead = True

    job_id: str
    commit: str
    files: list[str] = []


class TestResults(Message, frozen=True):
    """How the tests of the whole session went, for the person."""

    flow = said_by("tester", to="user")
    spec = ("TEST_RESULTS",)
    ahead = True

    job_id: str
    commit: str
    passed: bool
    tests_run: int
    failures: list[TestFailure] = []


class TestCorrections(Message, frozen=True):
    """What the Tester wants put right, for the Architect to plan."""

    flow = said_by("tester", to="architect")
    spec = ("TEST_CORRECTIONS",)
    ahead = True

    job_id: str
    corrections: list[Correction]
