"""From a request in plain words to a plan that a person approves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.architect import Planned, PlannedTask, as_text, job_of
from actors.job_messages import ContinueJob, HaltJob, PauseJob
from actors.planning_desk import NotAsked
from sylk_ray.jobs import Job
from sylk_ray.sessions import JobState
from tests.models import call, calls
from tests.unit.actors import SESSION

from .planning import GUIDE, ORCHESTRATOR, PLAN, TASK, FakeGuide, FakePipeline, World, opened

QUESTION = call("finish", question="Which Python?")


@pytest.fixture
async def world(tmp_path: Path) -> AsyncGenerator[World]:
    async with opened(tmp_path) as made:
        yield made


async def test_a_plan_is_shown_and_carried_out_when_it_is_approved(world):
    await world.submit(architect=[call("read_file", path="readme.md"), PLAN])
    asked = await world.until("person.asked")
    assert (asked["asked"], asked["role"]) == ("plan", "architect")
    for told in ("A function is added.", "1. add_total", "Write total.py.", "- it adds up", "risks:", "an empty list"):
        assert told in asked["text"]
    assert FakePipeline.started == []
    record = await world.decide("approve")
    assert (record.asking, list(record.tasks)) == ([], ["add_total"])
    brief = (await world.started()).brief
    assert brief.assignment.prompt.startswith("Write total.py.")
    assert "an empty list" in brief.assignment.prompt
    assert brief.assignment.thinks == ("engineer", "inspector", "tester")
    assert world.happened("person.decided")[0]["who"] == "ada"
    assert "# Sums" in world.script.told("architect", 2)[0]


async def test_a_policy_approves_plans(world):
    await world.submit({"approval": "auto"}, architect=[PLAN])
    await world.started()
    assert world.happened("person.asked") == []
    assert world.happened("plan.approved") == [{"by": "policy"}]


async def test_a_denial_with_a_reason_makes_another_plan(world):
    other = call("finish", summary="Another.", tasks=[{**TASK, "name": "add_sum"}])
    await world.submit(architect=[PLAN, other])
    await world.decide("deny", "call it sum")
    asked = await world.until("person.asked", 2)
    assert "add_sum" in asked["text"]
    told = world.script.requests("architect")[1].messages[0].text
    assert "1. add_total" in told
    assert "call it sum" in told
    await world.decide("approve", asking=asked["id"])
    assert (await world.started()).brief.task == "add_sum"


async def test_a_denial_alone_cancels_the_job(world):
    await world.submit(architect=[PLAN])
    await world.decide("deny")
    record = await world.ended()
    assert (record.status, record.error.type, record.asking) == (JobState.CANCELLED, "denied", [])
    assert FakePipeline.started == []


async def test_a_question_is_answered_before_there_is_a_plan(world):
    await world.submit(architect=[QUESTION, PLAN])
    asked = await world.until("person.asked")
    assert (asked["asked"], asked["text"]) == ("question", "Which Python?")
    await world.decide("answer", "3.11")
    await world.until("person.asked", 2)
    told = world.script.requests("architect")[1].messages[0].text
    assert "You asked: Which Python?\nThe person answered: 3.11" in told


async def test_what_nobody_answers_in_time_is_denied(world):
    await world.submit({"answer_within_s": 0.2}, architect=[PLAN])
    record = await world.ended()
    assert (record.status, record.error.type) == (JobState.CANCELLED, "not_answered")
    assert "--yes" in record.error.hint


async def test_the_guide_hears_at_once_what_is_asked_and_that_it_is_no_more(world):
    await world.submit(architect=[QUESTION, PLAN])
    asked = await world.until("person.asked")

    async def heard(ids: list[str]) -> None:
        async with asyncio.timeout(10):
            while not FakeGuide.known or [each.id for each in FakeGuide.known[-1].asking] != ids:
                await asyncio.sleep(0.01)

    await heard([asked["id"]])
    await world.decide("answer", "3.11")
    again = await world.until("person.asked", 2)
    await heard([again["id"]])
    await world.decide("approve", asking=again["id"])
    await heard([])


async def test_a_decision_about_nothing_is_refused_and_harms_nothing(world):
    await world.submit(architect=[PLAN])
    asked = await world.until("person.asked")
    with pytest.raises(NotAsked, match="nothing is asked under a-0"):
        await world.decide("approve", asking="a-0")
    with pytest.raises(NotAsked, match="is a plan"):
        await world.decide("answer", "yes")
    await world.decide("approve")
    with pytest.raises(NotAsked):
        await world.decide("deny", asking=asked["id"])
    await world.started()


async def test_plans_that_will_not_do_go_back_to_the_architect(world):
    def plan(*tasks: dict[str, Any], **more: Any) -> Any:
        return call("finish", summary="x", tasks=list(tasks), **more)

    await world.submit(
        architect=[
            plan(),
            plan(TASK, TASK),
            plan({**TASK, "depends_on": ["nothing"]}, {**TASK, "name": "b"}),
            plan({**TASK, "depends_on": ["b"]}, {**TASK, "name": "b", "depends_on": ["add_total"]}),
            plan({**TASK, "name": "Add Total"}),
            plan(TASK, question="really?"),
            plan({**TASK, "name": "search_files"}),
            PLAN,
        ]
    )
    await world.until("person.asked")
    told = world.script.told("architect", 8)
    assert "there are no tasks" in told[0]
    assert "two tasks are named add_total" in told[1]
    assert '"nothing"' in told[2]
    assert "cycle" in told[3] or "circle" in told[3] or "each other" in told[3]
    assert "either tasks or a question" in told[5]
    assert "search_files is a tool of yours" in told[6]


async def test_an_architect_looks_with_a_shell_that_only_looks_and_asks_others(world):
    looked = call("look_with_shell", command="cat readme.md | wc -l")
    await world.submit(
        {"approval": "auto"},
        architect=[
            calls(("load_skill", {"name": "look_with_shell"})),
            looked,
            call("look_with_shell", command="touch x"),
            call("plan_preflight", topic="numbers"),
            call("consult", question="What was done before?"),
            call("run_command", command="ls"),
            PLAN,
        ],
    )
    await world.succeed("add_total")
    assert (await world.ended()).status is JobState.SUCCEEDED
    told = world.script.told("architect", 7)
    assert told[0] == "look_with_shell can be called from now on"
    assert told[1] == "exit code 0\n1"
    assert "touch is not among what may be run to look" in told[2]
    # Here nobody keeps what is known: that is told, and the plan is made all the same.
    assert "archivalist" in told[3]
    assert "The librarian: cannot be asked" in told[4]
    assert "The archivalist: cannot be asked" in told[4]
    assert "run_command needs the permission shell" in told[5]
    system = world.script.requests("architect")[0].system
    assert "consult (Ask what others know, for context)" in system


async def test_a_task_that_is_alone_is_asked_once_whether_another_was_forgotten_and_then_waits_for_none(world):
    """Small models have it depend on what they did to plan it."""
    plan = call("finish", summary="x", tasks=[{**TASK, "depends_on": ["read_file", "add_total"]}])
    await world.submit({"approval": "auto"}, architect=[plan, plan])
    await world.succeed("add_total")
    assert (await world.ended()).status is JobState.SUCCEEDED
    (told,) = world.script.told("architect", 2)
    assert "add_total depends on read_file, which is no task of this plan" in told


async def test_a_job_is_cancelled_while_it_is_planned(world):
    gate = asyncio.Event()

    def slow(request: Any) -> Any:
        import time

        asyncio.run_coroutine_threadsafe(_set(gate), loop)
        time.sleep(1)
        return PLAN

    loop = asyncio.get_running_loop()
    await world.submit(architect=[slow])
    await gate.wait()
    await world.host.ask(GUIDE, ORCHESTRATOR, HaltJob("no more"), timeout=10)
    assert (await world.ended()).status is JobState.CANCELLED
    await asyncio.sleep(1.2)
    assert world.happened("plan.made") == []
    assert not world.workspace.directory.worktree("architect-looks").exists()


async def _set(event: asyncio.Event) -> None:
    event.set()


async def test_a_job_is_paused_and_resumed_while_it_is_planned(world):
    await world.submit(architect=[PLAN])
    await world.host.ask(GUIDE, ORCHESTRATOR, ContinueJob(), timeout=10)
    await world.host.ask(GUIDE, ORCHESTRATOR, PauseJob(), timeout=10)
    await world.decide("approve")
    await asyncio.sleep(0.2)
    assert (FakePipeline.started, FakeGuide.ended) == ([], [])
    await world.host.ask(GUIDE, ORCHESTRATOR, ContinueJob(), timeout=10)
    assert (await world.started()).brief.task == "add_total"


async def test_an_orchestrator_that_dies_while_a_person_is_asked_goes_on(world):
    await world.submit(architect=[PLAN])
    await world.until("person.asked")
    slot = world.host._slots.pop(ORCHESTRATOR)
    for task in slot.tasks():
        task.cancel()
    await world.host.recover_session(SESSION)
    await world.decide("approve")
    assert (await world.started()).brief.task == "add_total"


async def test_an_orchestrator_that_dies_between_two_plans_goes_on(world):
    other = call("finish", summary="Another.", tasks=[{**TASK, "name": "add_sum"}])
    await world.submit(architect=[PLAN, other])
    await world.decide("deny", "call it sum")
    asked = await world.until("person.asked", 2)
    assert "tasks" in world.workspace.directory.job_of("j-1").read_text()
    world.die(ORCHESTRATOR)
    await world.host.recover_session(SESSION)
    await world.decide("approve", asking=asked["id"])
    assert (await world.started()).brief.task == "add_sum"
    assert list(Job.model_validate_json(world.workspace.directory.job_of("j-1").read_bytes()).tasks) == ["add_sum"]


async def test_until_a_plan_is_approved_the_jobs_file_is_as_it_was(world):
    await world.submit(architect=[PLAN])
    await world.until("person.asked")
    assert Job.model_validate_json(world.workspace.directory.job_of("j-1").read_bytes()).needs_plan


async def test_a_person_has_the_whole_time_again_when_nobody_could_answer(world):
    await world.submit({"answer_within_s": 1.5}, architect=[PLAN])
    await world.until("person.asked")
    world.die(ORCHESTRATOR)
    await asyncio.sleep(2)
    await world.host.recover_session(SESSION)
    await world.decide("approve")
    assert (await world.started()).brief.task == "add_total"


async def test_a_paused_job_waits_for_an_answer_however_long(world):
    await world.submit({"answer_within_s": 0.5}, architect=[PLAN])
    await world.until("person.asked")
    await world.host.ask(GUIDE, ORCHESTRATOR, PauseJob(), timeout=10)
    await asyncio.sleep(1)
    assert FakeGuide.ended == []
    await world.host.ask(GUIDE, ORCHESTRATOR, ContinueJob(), timeout=10)
    await world.decide("approve")
    await world.started()


async def test_an_architect_without_a_plan_fails_the_job_and_says_why(world):
    await world.submit()
    record = await world.ended()
    assert (record.status, record.error.type) == (JobState.FAILED, "no_result")


def test_what_a_model_writes_is_no_template():
    job = Job.model_validate({"name": "j", "request": "x"})
    planned = Planned(tasks=(PlannedTask("a", "Write {{ name }} and {% raw %}x{% endraw %}."),))
    task = job_of(planned, job).tasks["a"]
    assert (task.literal, task.prompt) == (True, planned.tasks[0].prompt)


def test_a_plan_is_read_with_what_comes_after_what():
    planned = Planned(tasks=(PlannedTask("a", "One."), PlannedTask("b", "Two.", ("a",), ("it works",))))
    assert as_text(planned) == "1. a\n   One.\n2. b (after a)\n   Two.\n   - it works"
    assert msgspec.json.decode(msgspec.json.encode(planned), type=Planned) == planned
