"""A plan that the Architect changes: because something has failed, or because more is wanted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from actors.job_messages import HaltJob, PauseJob
from actors.planning_messages import RequestPlanChange, RetryTask
from actors.task_desk import TaskOver
from sylk_ray.errors import InputError
from sylk_ray.jobs import Adjustment
from sylk_ray.pipelines.brief import CHECKS
from sylk_ray.sessions import JobState
from tests.models import call
from tests.unit.actors import SESSION
from tests.unit.sessions.conftest import git

from .planning import GUIDE, ORCHESTRATOR, TASK, FakePipeline, World, eventually, opened

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


async def test_the_architect_mends_a_plan_that_has_failed(world):
    fix = call("finish", summary="Mend it.", tasks=[{**TASK, "prompt": "Write total.py, with care."}])
    await world.submit(AUTO, architect=[TWO, fix])
    await world.fail("add_total", "total(1) is 2")
    again = (await world.started("add_total", 2)).brief
    assert again.assignment.prompt == "Write total.py, with care."
    told = world.script.requests("architect")[1].messages[0].text
    for each in ("Add up numbers.", "add_total: failed", "total(1) is 2", "use_total: skipped", "Write total.py."):
        assert each in told
    await world.succeed("add_total", 2)
    await world.succeed("use_total")
    assert (await world.ended()).status is JobState.SUCCEEDED


async def test_a_change_goes_back_to_the_architect_until_it_deals_with_what_failed(world):
    await world.submit(
        AUTO,
        architect=[
            TWO,
            call("finish", summary="x", tasks=[{**TASK, "name": "other"}]),
            call("finish", summary="x", tasks=[TASK], give_up="no"),
            call("finish", summary="x", tasks=[{**TASK, "depends_on": ["use_total"]}]),
            call("finish", summary="Without it.", removed=["add_total"]),
        ],
    )
    await world.fail("add_total")
    await world.succeed("use_total")
    assert (await world.ended()).status is JobState.SUCCEEDED
    told = world.script.told("architect", 5)
    assert "add_total has failed" in told[0]
    assert "you have given tasks and give_up: give one of them" in told[1]
    assert "circle" in told[2]


async def test_a_person_is_asked_about_a_change_and_may_want_another(world):
    fixes = [call("finish", summary=f"Way {n}.", tasks=[TASK]) for n in (1, 2)]
    await world.submit(architect=[TWO, *fixes])
    await world.decide("approve")
    await world.fail("add_total")
    asked = await world.until("person.asked", 2)
    assert "Way 1." in asked["text"]
    await world.decide("deny", "do it the other way", asking=asked["id"])
    again = await world.until("person.asked", 3)
    assert "do it the other way" in world.script.requests("architect")[2].messages[0].text
    await world.decide("approve", asking=again["id"])
    await world.succeed("add_total", 2)
    await world.succeed("use_total")
    assert (await world.ended()).status is JobState.SUCCEEDED


@pytest.mark.parametrize("how", ["denied", "given up"])
async def test_a_job_whose_plan_is_not_mended_ends_with_what_failed(world, how):
    give_up = call("finish", give_up="there is no compiler")
    await world.submit(architect=[TWO, call("finish", summary="Way.", tasks=[TASK]) if how == "denied" else give_up])
    await world.decide("approve")
    await world.fail("add_total")
    if how == "denied":
        asked = await world.until("person.asked", 2)
        await world.decide("deny", asking=asked["id"])
    record = await world.ended()
    assert (record.status, record.error.type) == (JobState.FAILED, "tasks_failed")
    assert "add_total" in record.error.message
    assert len(world.happened("plan.unchanged")) == 1


async def test_plans_are_mended_so_often_and_no_more(world):
    fix = call("finish", summary="Again.", tasks=[TASK])
    await world.submit({**AUTO, "max_fixes": 2}, architect=[TWO, fix, fix])
    for attempt in (1, 2, 3):
        await world.fail("add_total", attempt=attempt)
    assert (await world.ended()).status is JobState.FAILED
    assert world.script.left == {}


async def test_what_the_sessions_checks_find_is_mended_by_the_architect_and_checked_again(world):
    fix = call("finish", summary="Mend.", tasks=[{"name": "mend_sum", "prompt": "Mend it.", "criteria": []}])
    plan = call("finish", summary="One.", tasks=[TASK])
    await world.submit(AUTO, {"finally": {"tester": {"run": "make test"}}}, architect=[plan, fix])
    await world.succeed("add_total")
    await world.fail(CHECKS, "3 tests fail together")
    assert "3 tests fail together" in (await _asked_of(world, 2))
    await world.succeed("mend_sum")
    again = await world.started(CHECKS, 2)
    assert again.brief.attempt == 2
    await world.passed(2)
    record = await world.ended()
    assert (record.status, record.error) == (JobState.SUCCEEDED, None)
    assert (record.checks.state, record.checks.attempts, record.checks.error) == ("succeeded", 2, None)


async def test_checks_that_cannot_be_mended_end_the_job_with_what_they_found(world):
    plan = call("finish", summary="One.", tasks=[TASK])
    give_up = call("finish", give_up="the test is wrong")
    await world.submit(AUTO, {"finally": {"tester": {"run": "make test"}}}, architect=[plan, give_up])
    await world.succeed("add_total")
    await world.fail(CHECKS, "3 tests fail together")
    record = await world.ended()
    assert record.status is JobState.FAILED
    assert "3 tests fail together" in record.error.message


async def test_a_job_is_cancelled_while_its_plan_is_mended(world):
    await world.submit(architect=[TWO, call("finish", summary="Way.", tasks=[TASK])])
    await world.decide("approve")
    await world.fail("add_total")
    await world.until("person.asked", 2)
    await world.host.ask(GUIDE, ORCHESTRATOR, HaltJob("no more"), timeout=10)
    assert (await world.ended()).status is JobState.CANCELLED


async def test_an_orchestrator_that_dies_while_its_plan_is_mended_goes_on(world):
    fix = call("finish", summary="Again.", tasks=[TASK])
    await world.submit(architect=[TWO, fix])
    await world.decide("approve")
    await world.fail("add_total")
    asked = await world.until("person.asked", 2)
    world.die(ORCHESTRATOR)
    await world.host.recover_session(SESSION)
    await world.decide("approve", asking=asked["id"])
    await world.succeed("add_total", 2)
    await world.succeed("use_total")
    assert (await world.ended()).status is JobState.SUCCEEDED


async def test_more_is_asked_of_a_plan_while_it_is_carried_out(world):
    more = call("finish", summary="And docs.", tasks=[{"name": "write_docs", "prompt": "Write them.", "criteria": []}])
    await world.submit(AUTO, architect=[TWO, more])
    await world.started("add_total")
    await world.wish(RequestPlanChange("extend", "document it as well", {"where": "readme.md"}, "ada"))
    with pytest.raises(InputError, match="being changed already"):
        await world.wish(RequestPlanChange("extend", "and more"))
    await world.started("write_docs")
    told = await _asked_of(world, 2)
    assert "document it as well" in told
    assert "where: readme.md" in told
    assert "add_total: running" in told
    assert FakePipeline.stopped == []
    for task in ("add_total", "use_total", "write_docs"):
        await world.succeed(task)
    assert (await world.ended()).status is JobState.SUCCEEDED
    assert git(world.repo, "status", "--porcelain") == ""


async def test_a_job_waits_for_a_change_that_is_being_thought_about(world):
    more = call("finish", summary="And docs.", tasks=[{"name": "write_docs", "prompt": "Write them.", "criteria": []}])
    await world.submit(architect=[TWO, more])
    await world.decide("approve")
    await world.started("add_total")
    await world.wish(RequestPlanChange("extend", "document it as well"))
    asked = await world.until("person.asked", 2)
    await world.succeed("add_total")
    await world.succeed("use_total")
    await world.come_to(use_total="succeeded")
    await asyncio.sleep(0.1)
    assert world.states() == {"add_total": "succeeded", "use_total": "succeeded"}
    await world.decide("approve", asking=asked["id"])
    await world.succeed("write_docs")
    assert (await world.ended()).status is JobState.SUCCEEDED


async def test_what_was_halted_for_a_failure_is_given_again_together_with_it(world):
    """Whichever of them comes first."""
    pair = call("finish", summary="Two.", tasks=[TASK, {**TASK, "name": "other"}])
    fix = call("finish", summary="Again.", tasks=[{**TASK, "name": "other"}, TASK, {**TASK, "name": "third"}])
    await world.submit(AUTO, architect=[pair, fix])
    await world.started("other")
    await world.fail("add_total")
    for task, attempt in (("add_total", 2), ("other", 2), ("third", 1)):
        await world.succeed(task, attempt)
    assert (await world.ended()).status is JobState.SUCCEEDED


async def test_what_is_cancelled_is_not_mended(world):
    pair = call("finish", summary="Two.", tasks=[TASK, {**TASK, "name": "other"}])
    await world.submit(AUTO, architect=[pair])
    FakePipeline.keeps_going = True
    await world.started("other")
    await world.fail("add_total")
    await world.come_to(add_total="failed")
    await world.host.ask(GUIDE, ORCHESTRATOR, HaltJob("no more"), timeout=10)
    with pytest.raises(TaskOver, match="being cancelled"):
        await world.wish(RetryTask("add_total"))
    await world.stopped("other")
    assert (await world.ended()).status is JobState.FAILED
    assert world.script.left == {}


async def test_a_task_that_a_person_tries_again_while_a_fix_waits_ends_the_job_well(world):
    fix = call("finish", summary="Again.", tasks=[TASK])
    await world.submit(architect=[call("finish", summary="One.", tasks=[TASK]), fix])
    await world.decide("approve")
    await world.fail("add_total")
    asked = await world.until("person.asked", 2)
    await world.wish(RetryTask("add_total"))
    await world.succeed("add_total", 2)
    await world.come_to(add_total="succeeded")
    await world.decide("approve", asking=asked["id"])
    record = await world.ended()
    assert (record.status, record.error) == (JobState.SUCCEEDED, None)


async def test_a_paused_job_does_not_deny_for_a_person_and_does_not_spin(world):
    more = call("finish", summary="And docs.", tasks=[{"name": "write_docs", "prompt": "Write them.", "criteria": []}])
    await world.submit({"answer_within_s": 0.5}, architect=[TWO, more])
    await world.decide("approve")
    await world.started("add_total")
    await world.wish(RequestPlanChange("extend", "document it as well"))
    await world.until("person.asked", 2)
    await world.host.ask(GUIDE, ORCHESTRATOR, PauseJob(), timeout=10)
    await asyncio.sleep(0.7)
    before = world.host._slots[ORCHESTRATOR].handled
    await asyncio.sleep(0.3)
    assert world.host._slots[ORCHESTRATOR].handled - before < 10
    assert len(world.happened("person.decided")) == 1


async def _asked_of(world: World, times: int) -> str:
    asked = await eventually(lambda: world.script.requests("architect")[times - 1 :])
    return asked[0].messages[0].text
