"""What is said to an Engineer that thinks, and what it asks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from actors.help_desk import NOT_ANSWERED
from actors.planning_messages import RequestPlanChange, SkipTask
from actors.token_desk import tokens_of
from sylk_ray.errors import InputError
from sylk_ray.messaging import Address
from sylk_ray.pipelines.asking import HelpWanted, TellEngineer, WasHelped
from sylk_ray.sessions.messages import GrantTokens
from sylk_ray.speech import NeedsModel
from sylk_ray.speech.tasks import UserTaskPrompt
from tests.models import call
from tests.unit.actors import SESSION

from .planning import ORCHESTRATOR, PLAN, FakeGuide, FakePipeline, World, eventually, opened

AUTO = {"approval": "auto"}
ENGINEER = Address(SESSION, "engineer", "add_total")
QUESTION = "Is an empty list an error?"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncGenerator[World]:
    async with opened(tmp_path) as made:
        yield made


async def asked(world: World, question: str = QUESTION, attempt: int = 1) -> None:
    wanted = HelpWanted("add_total", attempt, question)
    await world.host.ask(ENGINEER, ORCHESTRATOR, wanted, timeout=10)


async def answer(world: World, question: str = QUESTION, attempt: int = 1) -> str:
    async with asyncio.timeout(20):
        while True:
            known = WasHelped("add_total", attempt, question)
            if (said := await world.host.ask(ENGINEER, ORCHESTRATOR, known, timeout=10)) is not None:
                return said
            await asyncio.sleep(0.01)


async def prompted(world: World, text: str, task: str = "add_total") -> Any:
    router = Address(SESSION, "router", "main")
    return await world.host.ask(router, ORCHESTRATOR, UserTaskPrompt(task, text), timeout=10)


async def test_the_architect_answers_from_what_it_knows(world):
    await world.submit(AUTO, architect=[PLAN, call("finish", answer="No: its total is 0.")])
    await world.started("add_total")
    await asked(world)
    assert await answer(world) == "No: its total is 0."
    told = world.script.requests("architect")[1].messages[0].text
    for each in ("Add up numbers.", "Write total.py.", QUESTION):
        assert each in told
    helped = await world.until("engineer.helped")
    assert (helped["by"], helped["answer"]) == ("architect", "No: its total is 0.")


async def test_what_only_a_person_can_say_a_person_is_asked(world):
    await world.submit(AUTO, architect=[PLAN, call("finish", answer="")])
    await world.started("add_total")
    await asked(world)
    waits = await world.until("person.asked")
    assert (waits["asked"], waits["role"]) == ("question", "engineer")
    assert waits["text"] == f"add_total asks: {QUESTION}"
    await asked(world)  # its cell may have died meanwhile
    await world.decide("answer", "It is 0.")
    assert await answer(world) == "It is 0."
    assert len(world.happened("person.asked")) == 1
    await world.succeed("add_total")
    assert (await world.ended()).asking == []


@pytest.mark.parametrize("how", ["denied", "late"])
async def test_without_an_answer_the_engineer_goes_on_as_it_thinks_best(world, how):
    policy = {**AUTO, "answer_within_s": 0.3} if how == "late" else AUTO
    await world.submit(policy, architect=[PLAN, call("finish", answer="")])
    await world.started("add_total")
    await asked(world)
    if how == "denied":
        await world.decide("deny")
    assert await answer(world) == NOT_ANSWERED
    await world.succeed("add_total")
    assert (await world.ended()).status == "succeeded"


async def test_an_orchestrator_that_dies_while_a_person_is_asked_still_has_the_question(world):
    await world.submit(AUTO, architect=[PLAN, call("finish", answer="")])
    await world.started("add_total")
    await asked(world)
    await world.until("person.asked")
    world.die(ORCHESTRATOR)
    await world.host.recover_session(SESSION)
    await world.decide("answer", "It is 0.")
    assert await answer(world) == "It is 0."


async def test_an_engineer_that_only_asks_is_told_to_go_on(world):
    replies = [call("finish", answer="Yes.")] * 5
    await world.submit(AUTO, architect=[PLAN, *replies])
    await world.started("add_total")
    for number in range(6):
        await asked(world, f"{QUESTION} {number}")
        said = await answer(world, f"{QUESTION} {number}")
    assert "asked enough" in said
    assert world.script.left == {}


async def test_a_question_of_an_attempt_that_is_over_is_nobodys(world):
    await world.submit(AUTO, architect=[PLAN])
    await world.succeed("add_total")
    await world.come_to(add_total="succeeded")
    await asked(world)
    assert await answer(world) == NOT_ANSWERED


async def test_a_question_goes_with_its_attempt(world):
    await world.submit(AUTO, architect=[PLAN, call("finish", answer="")])
    await world.started("add_total")
    await asked(world)
    waits = await world.until("person.asked")
    await world.wish(SkipTask("add_total"))
    assert (await world.ended()).asking == []
    assert world.happened("person.decided")[-1]["id"] == waits["id"]


async def test_the_clock_of_who_waits_stands_still_also_after_the_orchestrator_died(world):
    await world.submit(AUTO, architect=[PLAN, call("finish", answer="")])
    await world.started("add_total")
    await asked(world)
    await world.until("person.asked")
    world.die(ORCHESTRATOR)
    await world.host.recover_session(SESSION)
    await world.wish(RequestPlanChange("extend", "more"))

    def clock() -> tuple[Any, Any]:
        progress = world.host._slots[ORCHESTRATOR].agent.state.tasks["add_total"].progress
        return progress.deadline, progress.left

    assert clock()[0] is None
    await world.decide("answer", "It is 0.", asking=world.happened("person.asked")[0]["id"])
    assert clock()[0] is not None


async def test_a_persons_words_reach_the_engineer_and_every_later_attempt(world):
    await world.submit({**AUTO, "retries": 1, "retry_delay_s": 0}, architect=[PLAN])
    await world.started("add_total")
    heard = await prompted(world, "mind the floats")
    assert "hears it" in heard.text
    await eventually(lambda: FakePipeline.told)
    assert FakePipeline.told == [TellEngineer(1, "mind the floats")]
    await world.fail("add_total", retryable=True)
    assert (await world.started("add_total", 2)).brief.said == ("mind the floats",)


async def test_declared_work_cannot_be_talked_to(world):
    await world.submit(job={"request": None, "tasks": {"add_total": {"engineer": [{"run": "true"}]}}})
    await world.started("add_total")
    with pytest.raises(NeedsModel, match="declares"):
        await prompted(world, "mind the floats")


async def test_a_person_is_asked_for_more_tokens_and_the_call_is_made_with_them(world):
    world.host.leases.spent = True
    await world.submit(AUTO, architect=[PLAN])
    asked = await world.until("person.asked")
    assert (asked["asked"], asked["role"]) == ("question", "orchestrator")
    assert asked["text"].startswith("the session has used its 1,000 tokens. How many more")
    with pytest.raises(InputError, match="no number of tokens"):
        await world.decide("answer", "plenty")
    await world.decide("answer", "50k")
    await eventually(lambda: FakeGuide.granted)
    assert FakeGuide.granted == [GrantTokens(SESSION, 50_000, asked["id"])]
    world.host.leases.spent = False
    await world.started("add_total")
    assert len(world.happened("person.asked")) == 1


@pytest.mark.parametrize("how", ["0", "denied", "late"])
async def test_without_more_tokens_it_ends_and_says_why(world, how):
    world.host.leases.spent = True
    await world.submit({**AUTO, "answer_within_s": 0.3} if how == "late" else AUTO, architect=[PLAN])
    await world.until("person.asked")
    if how != "late":
        await world.decide("deny" if how == "denied" else "answer", "" if how == "denied" else "0")
    record = await world.ended()
    assert (record.status, record.error.type) == ("failed", "token_budget_spent")
    assert FakeGuide.granted == []


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("50000", 50_000), ("50_000", 50_000), ("1,500", 1_500), ("2 M", 2_000_000), ("-1", None), ("x", None)],
)
def test_tokens_are_said_as_people_write_them(text, tokens):
    assert tokens_of(text) == tokens
