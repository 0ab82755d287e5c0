"""A pipeline whose Engineer's context is full, or that a person wants replaced, and the one that goes on for it."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from actors import architect, engineering, tester
from actors.engineer import Engineer
from actors.inspector import Inspector
from actors.orchestrator import Orchestrator
from actors.pipeline import PipelineAgent
from sylk_ray.errors import InputError
from sylk_ray.llm import Request, UsagePiece
from sylk_ray.messaging import Address, DeadlinePassed
from sylk_ray.pipelines.handoff import (
    HandoffRequest,
    PipelineHandoff,
)
from sylk_ray.runtime import Context, handler
from sylk_ray.sessions import JobRecord
from sylk_ray.speech import NeedsModel
from sylk_ray.speech.tasks import UserStopHandoff, UserTaskPrompt, UserTaskQuery, UserTriggerHandoff
from tests.models import call
from tests.unit.actors import SESSION
from tests.unit.runtime.conftest import FakeFleet, FakeRouter
from tests.unit.sessions.conftest import git

from .planning import ORCHESTRATOR, PLAN, FakeGuide, World, eventually, opened
from .test_thinking import APPROVED, DONE, TESTED, WRITTEN

AUTO = {"approval": "auto"}
ENGINEER = Address(SESSION, "engineer", "add_total")
ROUTER = Address(SESSION, "router", "main")
WINDOW = 8_000
SUMMARY = call("sum_up", done=["notes are taken"], remaining=["total.py itself"], notes="tabs, not spaces")
LEFT_AS_IT_IS = call("finish", prompt="")


def filling(name: str) -> Any:
    """A call that takes a third of the window. Its server counts nothing, so that what is said is counted here."""
    made = call("write_file", path=f"notes/{name}.txt", content=f"{name} and so on\n" * 600)
    return [piece for piece in made if not isinstance(piece, UsagePiece)]


FULL = [filling("one"), filling("two"), filling("three")]


class Hold:
    """A model's reply that waits until it is let go."""

    def __init__(self) -> None:
        self.reached, self.gone = threading.Event(), threading.Event()

    async def __aenter__(self) -> None:
        await eventually(self.reached.is_set)

    async def __aexit__(self, *_: object) -> None:
        self.gone.set()


class Working(World):
    """With pipelines that work."""

    agents = (
        Orchestrator,
        architect.Architect,
        PipelineAgent,
        Engineer,
        Inspector,
        tester.Tester,
        FakeGuide,
        FakeRouter,
        FakeFleet,
    )
    context_window = WINDOW

    async def begin(
        self, policy: dict[str, Any] | None = None, job: dict[str, Any] | None = None, **moves: Any
    ) -> None:
        """A request whose Engineer fills its window and sums up, and whose work is then done; unless told otherwise."""
        usual = {
            "architect": [PLAN, LEFT_AS_IT_IS],
            "engineer": [*FULL, SUMMARY, WRITTEN, DONE],
            "inspector": [APPROVED],
            "tester": TESTED,
        }
        await self.submit(policy or AUTO, job, **{**usual, **moves})

    async def say(self, message: Any) -> Any:
        return await self.host.ask(ROUTER, ORCHESTRATOR, message, timeout=10)

    def text(self, role: str, number: int) -> str:
        """What a role was told of its task before its reply of that number, counted from 1."""
        return self.script.requests(role)[number - 1].messages[0].text

    def asked(self, role: str) -> int:
        return len(self.script.requests(role))

    def handoffs(self) -> list[PipelineHandoff]:
        return self.host._slots[ORCHESTRATOR].agent.state.handoffs.get("add_total", [])

    def hold(self, role: str, number: int) -> Hold:
        """The reply of that number, counted from 1, to a role."""
        hold = Hold()

        def before(request: Request) -> None:
            if f"You are an {role.capitalize()}" in request.system and self.asked(role) == number - 1:
                hold.reached.set()
                hold.gone.wait(30)

        self.server.before = before
        return hold

    def file(self, path: str) -> str:
        return git(self.repo, "show", f"sylk/demo:{path}")


@pytest.fixture
async def world(tmp_path: Path) -> AsyncGenerator[Working]:
    async with opened(tmp_path, Working) as made:
        yield made


def succeeded(record: JobRecord) -> Any:
    assert record.status == "succeeded", record.error
    return record.tasks["add_total"]


async def test_a_full_context_is_left_to_a_fresh_pipeline(world):
    await world.begin()
    task = succeeded(await world.ended())
    assert (task.attempts, task.handoffs) == (2, 1)
    assert world.script.left == {}
    assert "notes/three.txt" in task.files_changed
    assert "return sum(values)" in world.file("total.py")

    fresh = world.script.requests("engineer")[4]
    assert len(fresh.messages) == 1
    told = fresh.messages[0].text
    for each in ("Write total.py.", "- notes are taken", "- total.py itself", "tabs, not spaces", "+one and so on"):
        assert each in told
    reviewed = world.text("architect", 2)
    for each in ("Write total.py.", "- total.py itself", "notes/two.txt"):
        assert each in reviewed

    created, completed = world.happened("handoff.created")[0], world.happened("handoff.completed")[0]
    assert (created["old_pipeline"], created["new_pipeline"], created["index"]) == ("add_total#1", "add_total#2", 0)
    assert created["reason"] == "context_full"
    assert completed["new_pipeline"] == "add_total#2"
    (kept,) = world.handoffs()
    assert kept.taken_over
    assert (kept.job_id, kept.engineer.prompt) == ("j-1", "Write total.py.\n\n" + created_edges())
    assert kept.engineer.files_changed == ["notes/one.txt", "notes/three.txt", "notes/two.txt"]


def created_edges() -> str:
    return "Cases that must not be forgotten, where they concern this task:\n- an empty list"


async def test_handoffs_can_follow_one_another(world):
    await world.begin(
        architect=[PLAN, LEFT_AS_IT_IS, LEFT_AS_IT_IS],
        engineer=[*FULL, SUMMARY, filling("four"), filling("five"), SUMMARY, WRITTEN, DONE],
    )
    task = succeeded(await world.ended())
    assert (task.attempts, task.handoffs) == (3, 2)
    chain = [(each.old_pipeline, each.new_pipeline, each.index) for each in world.handoffs()]
    assert chain == [("add_total#1", "add_total#2", 0), ("add_total#2", "add_total#3", 1)]
    first, second = world.handoffs()
    assert second.engineer.turns == first.engineer.turns + 3 == 7
    assert second.engineer.tokens > first.engineer.tokens > 0
    assert world.file("notes/one.txt")
    assert world.file("notes/five.txt")


async def test_the_limits_of_a_task_are_for_all_who_are_at_it(world):
    await world.begin(AUTO, {"thinking": {"turns": 6}})
    succeeded(await world.ended())
    last = world.script.requests("engineer")[-1]
    assert [tool.name for tool in last.tools] == ["finish"]


async def test_the_architect_may_word_what_is_left_otherwise(world):
    await world.begin(architect=[PLAN, call("finish", prompt="Write total.py; the notes are there.")])
    succeeded(await world.ended())
    for role, number in (("engineer", 5), ("inspector", 1)):
        assert "# Task\nWrite total.py; the notes are there.\n" in world.text(role, number)


async def test_an_architect_whose_model_fails_leaves_it_as_it_is(world):
    await world.begin(architect=[PLAN, *[call("read_file", path="x")] * 20])
    assert succeeded(await world.ended()).handoffs == 1
    assert "# Task\nWrite total.py." in world.text("engineer", 5)


async def test_a_person_has_another_pipeline_go_on(world):
    await world.begin({"approval": "ask"}, engineer=[filling("one"), filling("two"), SUMMARY, WRITTEN, DONE])
    hold = world.hold("engineer", 2)
    await world.decide("approve")
    async with hold:
        heard = await world.say(UserTriggerHandoff("add_total", "it rambles"))
        assert heard.text == "add_total is handed over when its Engineer thinks next"
    task = succeeded(await world.ended())
    assert (task.attempts, task.handoffs) == (2, 1)
    assert world.happened("handoff.created")[0]["reason"] == "asked_by_user"
    assert world.happened("task.told")[0] == {"action": "handoff", "reason": "it rambles"}


async def test_what_a_person_keeps_where_it_is_goes_on_there_with_what_it_has_summed_up(world):
    await world.begin({"approval": "ask"}, architect=[PLAN])
    hold = world.hold("engineer", 1)
    await world.decide("approve")
    async with hold:
        heard = await world.say(UserStopHandoff("add_total"))
        assert heard.text == "add_total stays with its pipeline from now on"
    task = succeeded(await world.ended())
    assert (task.attempts, task.handoffs) == (1, 0)
    anew = world.script.requests("engineer")[4]
    assert len(anew.messages) == 1
    for each in ("told yourself", "- total.py itself", "+one and so on"):
        assert each in anew.messages[0].text
    assert world.script.left == {}
    assert world.file("notes/one.txt")


async def test_a_handoff_that_a_person_stops_on_its_way_comes_to_nothing(world):
    hold = world.hold("architect", 2)
    await world.begin()
    async with hold:
        await world.say(UserStopHandoff("add_total"))
    task = succeeded(await world.ended())
    assert (task.attempts, task.handoffs) == (1, 0)
    failed = world.happened("handoff.failed")[0]
    assert (failed["pipeline"], failed["step"]) == ("add_total#1", "create")
    assert world.handoffs()[0].engineer.summary.remaining == ("total.py itself",)


async def test_what_a_person_has_said_is_known_in_the_next_conversation_and_to_who_goes_on(world):
    hold = world.hold("engineer", 1)
    await world.begin(engineer=[*FULL, SUMMARY, filling("four"), filling("five"), SUMMARY, WRITTEN, DONE])
    async with hold:
        await world.say(UserTaskPrompt("add_total", "never use numpy"))
    await world.until("handoff.completed")
    await world.say(UserStopHandoff("add_total"))
    assert succeeded(await world.ended()).handoffs == 1
    for number in (5, 8):  # of the pipeline that went on, and of its own next conversation
        assert "never use numpy" in world.text("engineer", number)
    assert "- total.py itself" in world.text("architect", 2)


async def test_who_hands_over_before_it_has_begun_hands_on_what_it_was_told(world):
    hold = world.hold("engineer", 5)
    await world.begin(
        architect=[PLAN, LEFT_AS_IT_IS, LEFT_AS_IT_IS],
        engineer=[*FULL, SUMMARY, call("list_files"), call("finish", summary="x"), WRITTEN, DONE],
    )
    async with hold:
        await world.say(UserTriggerHandoff("add_total"))
    succeeded(await world.ended())
    assert [each.engineer.summary.remaining for each in world.handoffs()] == [("total.py itself",)] * 2
    assert "- total.py itself" in world.text("engineer", 7)


class Deaf(architect.Architect):
    asked = 0

    @handler(concurrent=True)
    async def handoff_requested(self, message: HandoffRequest, ctx: Context) -> None:
        Deaf.asked += 1
        raise DeadlinePassed("nobody hears")


class Unheard(Working):
    agents = (*(each for each in Working.agents if each is not architect.Architect), Deaf)


async def test_an_architect_that_does_not_hear_is_asked_three_times(tmp_path):
    Deaf.asked = 0
    async with opened(tmp_path, Unheard) as world:
        await world.begin(architect=[PLAN])
        task = succeeded(await world.ended())
        assert Deaf.asked == 3
        assert (task.attempts, task.handoffs) == (1, 0)
        failed = world.happened("handoff.failed")[0]
        assert (failed["step"], "nobody hears" in failed["reason"]) == ("request", True)
        assert world.file("notes/one.txt")


async def test_a_wish_that_came_to_nothing_is_not_carried_out_again(tmp_path):
    Deaf.asked = 0
    found = {"severity": "error", "message": "an empty list is not considered", "file": "total.py", "line": 2}
    mended = call("edit_file", path="total.py", old="sum(values)", new="sum(values or [])")
    async with opened(tmp_path, Unheard) as world:
        hold = world.hold("engineer", 1)
        await world.begin(
            architect=[PLAN],
            engineer=[call("list_files"), SUMMARY, WRITTEN, DONE, mended, DONE],
            inspector=[call("finish", issues=[found]), APPROVED],
        )
        async with hold:
            await world.say(UserTriggerHandoff("add_total"))
        assert succeeded(await world.ended()).handoffs == 0
        assert len(world.happened("handoff.failed")) == 1
        assert Deaf.asked == 3


async def test_what_is_wished_for_while_another_handoff_fails_is_tried_after_it(tmp_path):
    Deaf.asked = 0
    async with opened(tmp_path, Unheard) as world:
        await world.begin(architect=[PLAN])
        await eventually(lambda: Deaf.asked == 1)
        await world.say(UserTriggerHandoff("add_total"))
        assert succeeded(await world.ended()).handoffs == 0
        reasons = [each.reason for each in world.handoffs()]
        assert (Deaf.asked, reasons) == (6, ["context_full", "asked_by_user"])


async def test_an_engineer_that_dies_after_it_was_refused_does_not_ask_again(tmp_path):
    Deaf.asked = 0
    async with opened(tmp_path, Unheard) as world:
        hold = world.hold("engineer", 5)
        await world.begin(
            architect=[PLAN],
            engineer=[*FULL, SUMMARY, WRITTEN, WRITTEN, DONE],  # the call that is cut off is made again
        )
        async with hold:
            world.die(ENGINEER)
            await world.host.recover_session(SESSION)
        assert succeeded(await world.ended()).attempts == 1
        assert Deaf.asked == 3


async def test_an_engineer_that_nobody_answers_goes_on_itself(world, monkeypatch):
    monkeypatch.setattr(engineering, "HANDED_OVER_WITHIN_S", 0.1)
    hold = world.hold("architect", 2)
    await world.begin()
    async with hold:
        assert (await world.until("handoff.failed"))["step"] == "examine"
    task = succeeded(await world.ended())
    assert (task.attempts, task.handoffs) == (1, 0)


async def test_a_review_that_takes_too_long_leaves_the_task_as_it_is(world, monkeypatch):
    monkeypatch.setattr(architect, "REVIEWED_WITHIN_S", 0.1)
    hold = world.hold("architect", 2)
    await world.begin(architect=[PLAN, call("finish", prompt="Otherwise.")])
    async with hold:
        await world.until("handoff.created")
    succeeded(await world.ended())
    assert "# Task\nWrite total.py." in world.text("engineer", 5)


async def test_work_that_was_sent_back_is_left_with_what_was_found(world):
    found = {"severity": "error", "message": "an empty list is not considered", "file": "total.py", "line": 2}
    mended = call("edit_file", path="total.py", old="sum(values)", new="sum(values or [])")
    await world.begin(
        engineer=[WRITTEN, DONE, *FULL, SUMMARY, mended, DONE], inspector=[call("finish", issues=[found]), APPROVED]
    )
    task = succeeded(await world.ended())
    assert (task.attempts, task.loops.inspector) == (2, 1)
    assert "an empty list is not considered" in world.text("engineer", 7)
    (left,) = world.handoffs()
    assert [issue.message for issue in left.found.inspector.pending] == ["an empty list is not considered"]
    assert "sum(values or [])" in world.file("total.py")


@pytest.mark.parametrize("who", ["orchestrator", "engineer"])
async def test_who_dies_on_the_way_goes_on_and_no_model_is_asked_twice(world, who):
    hold = world.hold("architect", 2)
    await world.begin()
    async with hold:
        world.die(ORCHESTRATOR if who == "orchestrator" else ENGINEER)
        await world.host.recover_session(SESSION)
    task = succeeded(await world.ended())
    assert (task.attempts, task.handoffs) == (2, 1)
    assert world.asked("engineer") == 6
    assert world.script.left == {}


async def test_only_what_has_begun_and_thinks_is_handed_over(world):
    declared = {"request": None, "tasks": {"a": {"engineer": [{"run": "sleep 60"}]}}}
    await world.submit(AUTO, declared)
    await eventually(lambda: world.states().get("a") == "running")
    for message in (UserTriggerHandoff("a"), UserStopHandoff("a")):
        with pytest.raises(NeedsModel, match="a handoff means nothing to a"):
            await world.say(message)
    with pytest.raises(InputError):
        await world.say(UserTriggerHandoff("b"))


async def test_how_often_it_was_handed_over_is_told(world):
    await world.begin()
    await world.ended()
    heard = await world.say(UserTaskQuery("add_total", ""))
    assert "handed to another pipeline 1x" in heard.text
    assert heard.data["handoffs"] == 1
