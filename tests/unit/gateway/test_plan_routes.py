"""Changing a plan over HTTP."""

from __future__ import annotations

import pytest

from actors.planning_messages import AdjustPlan, RequestPlanChange, RetryTask, SkipTask, UpdatePlan
from sylk_ray.jobs import Adjustment, Job
from sylk_ray.sessions import JobState

from .conftest import FakeOrchestrator, a_job

NEW = {"type": "add_node", "node_id": "b", "details": {"prompt": "do it"}}


@pytest.mark.parametrize(
    ("path", "body", "heard"),
    [
        (
            "/adjust",
            {"adjustments": [NEW], "why": "more", "who": "ada"},
            AdjustPlan([Adjustment("add_node", "b", {"prompt": "do it"})], "more", "ada"),
        ),
        ("/tasks/b/retry", {"who": "ada"}, RetryTask("b", "ada")),
        ("/tasks/b/skip", {"why": "not needed", "who": "ada"}, SkipTask("b", "not needed", "ada")),
        ("/tasks/b/skip", None, SkipTask("b")),
        (
            "/changes",
            {"change": "extend", "why": "docs too", "context": {"where": "README.md"}},
            RequestPlanChange("extend", "docs too", {"where": "README.md"}),
        ),
    ],
)
async def test_a_wish_reaches_the_orchestrator_of_the_job(http, runtime, path, body, heard):
    await runtime.open(a_job())
    answer = await http.post(f"/jobs/j-1{path}", json=body)
    assert (answer.status_code, answer.json()["job_id"]) == (200, "j-1")
    assert FakeOrchestrator.heard == [heard]


async def test_another_plan_is_read_like_a_job_file(http, runtime):
    await runtime.open(a_job())
    text = "name: j\ntasks:\n  a: {engineer: [{run: make}]}\n"
    answer = await http.post("/jobs/j-1/plan", json={"job": text, "strategy": "replace"})
    assert answer.status_code == 200
    (told,) = FakeOrchestrator.heard
    assert isinstance(told, UpdatePlan)
    assert (list(Job.model_validate_json(told.job).tasks), told.strategy) == (["a"], "replace")


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        ("/adjust", {"adjustments": [{"type": "explode", "node_id": "b"}]}, "cannot_adjust"),
        ("/adjust", {"adjustments": [{"node_id": "b"}]}, "cannot_adjust"),
        ("/adjust", {"adjustments": {}}, "bad_request"),
        ("/plan", {"job": "name: j\ntasks: {a: {engineer: [{rnu: x}]}}"}, "job_problems"),
        ("/plan", {"job": "name: j", "strategy": "later"}, "bad_request"),
        ("/changes", {"change": "explode"}, "bad_request"),
    ],
)
async def test_what_is_wrong_is_told_and_reaches_nobody(http, runtime, path, body, code):
    await runtime.open(a_job())
    answer = await http.post(f"/jobs/j-1{path}", json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, code)
    assert answer.json()["error"]["exit_code"] == 2
    assert FakeOrchestrator.heard == []


@pytest.mark.parametrize("status", [JobState.SUCCEEDED, JobState.SUSPENDED, JobState.QUEUED])
async def test_only_a_job_at_work_is_changed(http, guide, status):
    guide.jobs["j-1"] = a_job(status=status)
    answer = await http.post("/jobs/j-1/tasks/a/retry")
    assert answer.status_code == 422
    told = "is over" if status.over else f"is {status}"
    assert told in answer.json()["error"]["message"]
