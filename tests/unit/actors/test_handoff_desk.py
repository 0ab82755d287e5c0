"""An orchestrator that is asked to have another pipeline go on, beside pipelines that do nothing."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from actors.job_messages import HaltNow, PauseJob
from actors.planning_messages import AdjustPlan, SkipTask
from actors.task_desk import TaskOver
from sylk_ray.jobs import Adjustment
from sylk_ray.messaging import Address
from sylk_ray.pipelines import Work
from sylk_ray.pipelines.handoff import (
    CreatePipelineWithState,
    EngineerHandoff,
    HandoffFailed,
    HandoffFate,
    InspectorHandoff,
    PipelineHandoff,
)
from sylk_ray.sessions.records import Loops
from sylk_ray.speech.tasks import UserStopHandoff, UserTriggerHandoff
from sylk_ray.thinking import Summary
from sylk_ray.tools import Issue
from tests.unit.actors import SESSION

from .planning import GUIDE, ORCHESTRATOR, PLAN, FakePipeline, World, opened

AUTO = {"approval": "auto"}
ENGINEER = Address(SESSION, "engineer", "add_total")
ROUTER = Address(SESSION, "router", "main")


def left(task: str = "add_total", attempt: int = 1) -> PipelineHandoff:
    """As an Engineer bundles it."""
    engineer = EngineerHandoff("do it", Summary(("a",), ("b",)))
    work = Work("c0", None, [], "said")
    return PipelineHandoff("h", SESSION, task, attempt, "context_full", work, Loops(), engineer)


async def fate(world: World, attempt: int = 1) -> str:
    return await world.host.ask(ENGINEER, ORCHESTRATOR, HandoffFate("h", "add_total", attempt), timeout=10)


async def create(world: World, attempt: int = 1) -> None:
    sender = Address(SESSION, "architect", "main")
    await world.host.tell(sender, ORCHESTRATOR, CreatePipelineWithState(left(attempt=attempt)), timeout=10)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncGenerator[World]:
    """With pipelines that do nothing, the first of which is at work, and takes its time to end."""
    async with opened(tmp_path) as made:
        FakePipeline.keeps_going = True
        await made.submit({**AUTO, "retries": 1, "retry_delay_s": 0.01}, architect=[PLAN])
        await made.started("add_total")
        yield made


async def test_the_next_attempt_has_all_that_was_left_and_the_record_only_what_is_told_of_it(desk):
    assert await fate(desk) == "open"
    await create(desk)
    await desk.until("handoff.created")
    assert await fate(desk) == "over"
    assert desk.record("add_total").handoffs == 0
    await desk.stopped("add_total")
    started = await desk.started("add_total", 2)
    assert started.handoff.work.output == "said"
    assert (started.brief.assignment.prompt, started.brief.assignment.literal) == ("do it", True)
    await desk.at("add_total", 2, "running")
    await desk.until("handoff.completed")
    assert desk.record("add_total").handoffs == 1
    (kept,) = desk.host._slots[ORCHESTRATOR].agent.state.handoffs["add_total"]
    assert (kept.taken_over, kept.work.output, kept.engineer.summary.remaining) == (True, "", ("b",))


async def test_a_pipeline_that_could_not_begin_has_taken_nothing_over(desk):
    await create(desk)
    await desk.until("handoff.created")
    await desk.stopped("add_total")
    await desk.started("add_total", 2)
    await desk.at("add_total", 2, "failed")
    await desk.fail("add_total", attempt=2, retryable=True)
    assert (await desk.until("handoff.failed"))["reason"] == "the next pipeline could not begin"
    assert desk.happened("handoff.completed") == []
    assert desk.record("add_total").handoffs == 0
    assert (await desk.started("add_total", 3)).handoff is None


async def test_what_was_left_is_kept_when_the_old_pipeline_fails_instead_of_ending(desk):
    await create(desk)
    await desk.until("handoff.created")
    await desk.fail("add_total", retryable=True)
    assert (await desk.started("add_total", 2)).handoff.id == "h"
    assert desk.happened("handoff.failed") == []


async def test_a_handoff_costs_no_try_and_gives_none_back(desk):
    await desk.fail("add_total", retryable=True)
    await desk.started("add_total", 2)
    await create(desk, attempt=2)
    await desk.until("handoff.created")
    await desk.stopped("add_total", 2)
    await desk.fail("add_total", attempt=3, retryable=True)
    await desk.come_to(add_total="failed")


async def test_a_task_that_is_changed_before_another_goes_on_begins_at_its_beginning(desk):
    await create(desk)
    await desk.until("handoff.created")
    changed = Adjustment("modify_node", "add_total", {"prompt": "Write total.py otherwise.", "literal": True})
    await desk.wish(AdjustPlan([changed]))
    assert (await desk.until("handoff.failed"))["reason"] == "its task has changed"
    await desk.stopped("add_total")
    started = await desk.started("add_total", 2)
    assert (started.handoff, started.brief.assignment.prompt) == (None, "Write total.py otherwise.")


@pytest.mark.parametrize("how", ["paused", "ending", "stopped"])
async def test_where_nothing_is_begun_any_more_the_old_pipeline_goes_on(desk, how):
    if how == "paused":
        await desk.host.tell(GUIDE, ORCHESTRATOR, PauseJob(), timeout=10)
    elif how == "ending":
        await desk.host.tell(ORCHESTRATOR, ORCHESTRATOR, HaltNow("enough", stop_running=False), timeout=10)
        await desk.until("job.cancelling")
    else:
        await desk.host.ask(ROUTER, ORCHESTRATOR, UserStopHandoff("add_total"), timeout=10)
        assert await fate(desk) == "unwanted"
    await create(desk)
    await desk.until("handoff.failed")
    assert await fate(desk) == "failed"
    assert FakePipeline.stopped == []
    assert [each.wish for each in FakePipeline.steered][-1] == "tried"
    await desk.succeed("add_total")
    assert (await desk.ended()).tasks["add_total"].state == "succeeded"


async def test_what_is_being_ended_is_handed_to_nobody(desk):
    await desk.wish(SkipTask("add_total"))
    await create(desk)
    assert await fate(desk) == "over"
    failed = HandoffFailed(left(), "request", "nobody hears")
    assert await desk.host.ask(ENGINEER, ORCHESTRATOR, failed, timeout=10) == "over"
    with pytest.raises(TaskOver):
        await desk.host.ask(ROUTER, ORCHESTRATOR, UserTriggerHandoff("add_total"), timeout=10)
    await desk.stopped("add_total")
    assert (await desk.ended()).tasks["add_total"].state == "skipped"
    assert desk.happened("handoff.created") == []


async def test_what_is_left_to_do_is_what_was_found_and_not_mended():
    first, second = (Issue("a.py", line, "style", "error", text, "") for line, text in ((1, "long"), (2, "short")))
    moved = Issue("a.py", 9, "style", "error", "short", "")
    known = InspectorHandoff().after([first, second]).after([moved])
    assert (known.resolved, known.pending) == ([first], [moved])
    assert known.after([]).resolved == [first, moved]
    assert known.after([first]) == InspectorHandoff([moved], [first])
