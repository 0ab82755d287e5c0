"""A plan that a person changes while it is carried out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from actors.planning_messages import AdjustPlan, RetryTask, SkipTask, UpdatePlan
from actors.task_desk import TaskOver
from sylk_ray.dag import NotPossible
from sylk_ray.errors import InputError
from sylk_ray.jobs import Adjustment, CannotAdjust, Job
from sylk_ray.messaging import Address, HandlerFailed
from sylk_ray.sessions import JobState
from sylk_ray.speech import CallSkill
from tests.models import call
from tests.unit.actors import SESSION

from .planning import ORCHESTRATOR, TASK, FakeGuide, FakePipeline, World, opened

TRUE: dict[str, Any] = {"engineer": [{"run": "true"}]}
DECLARED = {"request": None, "tasks": {"a": TRUE, "b": {**TRUE, "depends_on": ["a"]}}}
AUTO = {"approval": "auto"}
TWO = call(
    "finish",
    summary="Two.",
    tasks=[TASK, {"name": "use_total", "prompt": "Use it.", "depends_on": ["add_total"], "criteria": []}],
)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncGenerator[World]:
    async with opened(tmp_path) as made:
        yield made


def change(type_: Any, name: str, **details: Any) -> Adjustment:
    return Adjustment(type_, name, details)


async def test_tasks_are_added_and_rewired_while_others_run(world):
    await world.submit(job=DECLARED)
    await world.started("a")
    added = change("add_node", "c", **TRUE, depends_on=["a"])
    record = await world.wish(AdjustPlan([added, change("change_deps", "b", depends_on=["c"])], "needs it", "ada"))
    assert (list(record.tasks), [task.layer for task in record.tasks.values()]) == (["a", "c", "b"], [0, 1, 2])
    told = await world.until("plan.changed")
    assert told == {"added": ["c"], "removed": [], "changed": [], "why": "needs it", "by": "ada"}
    for task in ("a", "c", "b"):
        await world.succeed(task)
    assert (await world.ended()).status is JobState.SUCCEEDED


async def test_the_guide_knows_a_changed_plan_however_soon_after_the_last_report(world, monkeypatch):
    await world.submit(job=DECLARED)
    await world.started("a")
    monkeypatch.setattr("actors.job_reports.REPORT_EVERY_S", 3600)
    await world.wish(AdjustPlan([change("add_node", "c", **TRUE)]))
    await world.wish(SkipTask("b"))
    async with asyncio.timeout(20):
        while not any("c" in known.tasks and known.tasks["b"].state == "skipped" for known in FakeGuide.known):
            await asyncio.sleep(0.01)
    await world.succeed("a")
    await world.succeed("c")
    assert (await world.ended()).status is JobState.SUCCEEDED


async def test_what_runs_and_is_otherwise_now_is_begun_anew(world):
    await world.submit(job=DECLARED)
    await world.started("a")
    await world.wish(AdjustPlan([change("modify_node", "a", description="other")]))
    again = await world.started("a", 2)
    assert again.brief.assignment.description == "other"
    assert FakePipeline.stopped == ["a"]
    await world.succeed("a", 2)
    await world.succeed("b")
    assert (await world.ended()).status is JobState.SUCCEEDED


async def test_what_runs_and_is_removed_is_ended_and_what_depended_on_it_goes_on(world):
    await world.submit(job=DECLARED)
    await world.started("a")
    await world.wish(AdjustPlan([change("remove_node", "a")]))
    await world.succeed("b")
    record = await world.ended()
    assert record.status is JobState.SUCCEEDED
    assert {name: (task.state, task.reason) for name, task in record.tasks.items()} == {
        "a": ("skipped", "it was taken out of the plan"),
        "b": ("succeeded", ""),
    }


async def test_a_change_that_would_not_be_sound_is_refused_and_changes_nothing(world):
    await world.submit(job=DECLARED)
    await world.succeed("a")
    await world.come_to(a="succeeded", b="running")
    with pytest.raises(CannotAdjust, match="does not exist"):
        await world.wish(AdjustPlan([change("add_node", "c", **TRUE, depends_on=["nobody"])]))
    with pytest.raises(TaskOver, match="a is done"):
        await world.wish(AdjustPlan([change("modify_node", "a", description="other")]))
    with pytest.raises(NotPossible, match="nothing to try again"):
        await world.wish(RetryTask("a"))
    with pytest.raises(TaskOver, match="is done"):
        await world.wish(SkipTask("a"))
    assert world.states() == {"a": "succeeded", "b": "running"}
    await world.succeed("b")
    await world.ended()
    with pytest.raises(TaskOver, match="the job is over"):
        await world.wish(AdjustPlan([change("add_node", "c", **TRUE)]))


async def test_a_failed_task_is_tried_again_or_done_without_while_others_run(world):
    tasks = {"a": TRUE, "b": {**TRUE, "depends_on": ["a"]}, "c": TRUE, "d": {**TRUE, "depends_on": ["c"]}, "e": TRUE}
    await world.submit({"on_failure": "continue_on_failure"}, {"request": None, "tasks": tasks})
    await world.fail("a")
    await world.fail("c")
    await world.come_to(b="skipped", d="skipped")
    await world.wish(RetryTask("a", "ada"))
    await world.wish(SkipTask("c", "not worth it", "ada"))
    await world.succeed("a", 2)
    for task in "bde":
        await world.succeed(task)
    record = await world.ended()
    assert record.status is JobState.SUCCEEDED
    assert (record.tasks["c"].state, record.tasks["c"].reason) == ("skipped", "not worth it")
    assert record.tasks["a"].error is None


async def test_another_plan_takes_the_place_of_what_has_not_begun(world):
    await world.submit(job=DECLARED)
    await world.started("a")
    plan = Job.model_validate({"name": "j", "tasks": {"a": {"engineer": [{"run": "false"}]}, "z": TRUE}})
    record = await world.wish(UpdatePlan(plan.model_dump_json(), "merge_pending"))
    assert list(record.tasks) == ["a", "z"]
    await world.succeed("a")
    await world.succeed("z")
    assert (await world.ended()).status is JobState.SUCCEEDED
    assert FakePipeline.stopped == []


@pytest.mark.parametrize(("strategy", "stopped"), [("replace", []), ("abort_and_replace", ["a"])])
async def test_another_plan_may_also_end_what_runs(world, strategy, stopped):
    await world.submit(job=DECLARED)
    await world.started("a")
    plan = Job.model_validate({"name": "j", "tasks": {"a": TRUE, "z": TRUE}})
    await world.wish(UpdatePlan(plan.model_dump_json(), strategy))
    await world.succeed("z")
    await world.succeed("a", 2 if stopped else 1)
    assert (await world.ended()).status is JobState.SUCCEEDED
    assert FakePipeline.stopped == stopped


async def test_a_changed_plan_survives_its_orchestrator(world):
    await world.submit(job=DECLARED)
    await world.started("a")
    await world.wish(AdjustPlan([change("add_node", "c", **TRUE), change("remove_node", "b")]))
    world.die(ORCHESTRATOR)
    await world.host.recover_session(SESSION)
    await world.succeed("a")
    await world.succeed("c")
    record = await world.ended()
    assert (record.status, list(record.tasks)) == (JobState.SUCCEEDED, ["a", "c"])


async def test_a_change_that_is_cut_off_before_it_is_in_the_journal_never_was(world, monkeypatch):
    await world.submit(job=DECLARED)
    await world.started("a")
    orchestrator = world.host._slots[ORCHESTRATOR].agent
    carry_out = type(orchestrator)._carry_out

    async def fail_once(self: Any, decisions: Any, ctx: Any) -> None:
        monkeypatch.setattr(type(orchestrator), "_carry_out", carry_out)
        raise RuntimeError("as the test wants it")

    monkeypatch.setattr(type(orchestrator), "_carry_out", fail_once)
    with pytest.raises(HandlerFailed, match="as the test wants it"):
        await world.wish(AdjustPlan([change("add_node", "c", **TRUE)]))
    assert list((await world.wish(AdjustPlan([change("add_node", "d", **TRUE)]))).tasks) == ["a", "d", "b"]
    for task in "abd":
        await world.succeed(task)
    assert (await world.ended()).status is JobState.SUCCEEDED


async def test_what_runs_may_end_while_nothing_more_begins(world):
    await world.submit({"on_failure": "continue_on_failure"}, {"request": None, "tasks": {"a": TRUE, "b": TRUE}})
    await world.started("a")
    await world.started("b")
    await world.wish(AdjustPlan([change("add_node", "c", **TRUE, depends_on=["a"])]))
    call_ = CallSkill("receive_workflow_cancellation", '{"dag_id": "j-1", "cleanup_mode": "wait_current"}')
    await world.host.ask(Address(SESSION, "router", "main"), ORCHESTRATOR, call_, timeout=10)
    await world.come_to(c="cancelled")
    await world.succeed("a")
    await world.fail("b", retryable=True)
    record = await world.ended()
    assert record.status is JobState.CANCELLED
    assert (record.tasks["a"].state, record.tasks["b"].state, FakePipeline.stopped) == ("succeeded", "failed", [])


async def test_what_is_no_change_is_refused(world):
    await world.submit(job=DECLARED)
    await world.succeed("a")
    await world.come_to(a="succeeded")
    for wrong in (None, "a", [1]):
        with pytest.raises(CannotAdjust, match="no list of names"):
            await world.wish(AdjustPlan([change("change_deps", "b", depends_on=wrong)]))
    with pytest.raises(TaskOver, match="a is done"):
        await world.wish(AdjustPlan([change("remove_node", "a")]))
    empty = Job.model_validate({"name": "j", "request": "anything"})
    with pytest.raises(InputError, match="no tasks"):
        await world.wish(UpdatePlan(empty.model_dump_json()))
