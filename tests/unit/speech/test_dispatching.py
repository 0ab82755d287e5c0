"""Hooks, health, what is pending, and the books."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from sylk_ray.hooks import (
    Abort,
    Aborted,
    HookContext,
    PostDispatch,
    PostRoute,
    PreDispatch,
    PreRoute,
    hook,
)
from sylk_ray.messaging import DeadlinePassed
from sylk_ray.routing import NotUnderstood
from sylk_ray.speech import Hear, Heard, NeedsModel


async def test_a_hook_changes_what_was_said_before_it_is_routed(talk):
    @hook(PreRoute)
    def expand(payload: PreRoute, ctx: HookContext) -> PreRoute:
        return msgspec.structs.replace(payload, text=payload.text.replace("@t ", "@to:tester "))

    talk.hooks.add(expand)
    said = await talk.say("@t hello")
    assert said.answers[0].agent == "tester"


async def test_a_hook_sends_it_elsewhere(talk):
    @hook(PostRoute)
    def divert(payload: PostRoute, ctx: HookContext) -> PostRoute:
        return msgspec.structs.replace(payload, target="inspector")

    talk.hooks.add(divert)
    assert (await talk.say("@to:tester hello")).answers[0].agent == "inspector"


async def test_a_hook_that_says_no_reaches_the_caller_with_its_reason(talk):
    @hook(PreRoute)
    def refuse(payload: PreRoute, ctx: HookContext) -> None:
        raise Abort("not on a sunday")

    talk.hooks.add(refuse)
    with pytest.raises(Aborted, match="not on a sunday"):
        await talk.say("@to:tester hello")
    assert talk.sent == []


async def test_a_hook_that_stops_one_message_stops_no_other(talk):
    @hook(PreDispatch)
    def refuse(payload: PreDispatch, ctx: HookContext) -> None:
        if payload.target.role == "tester":
            raise Abort("the tester rests")

    talk.hooks.add(refuse)
    said = await talk.say("@broadcast:tester,inspector hello")
    assert [answer.error and answer.error.message for answer in said.answers] == ["the tester rests", None]


async def test_a_hook_changes_the_message_and_the_answer(talk):
    @hook(PreDispatch)
    def louder(payload: PreDispatch, ctx: HookContext) -> PreDispatch:
        assert isinstance(payload.message, Hear)
        return msgspec.structs.replace(payload, message=Hear(payload.message.text.upper()))

    @hook(PostDispatch)
    def politer(payload: PostDispatch, ctx: HookContext) -> PostDispatch:
        return msgspec.structs.replace(payload, result=Heard(f"please: {payload.result.text}"))

    talk.hooks.add(louder)
    talk.hooks.add(politer)
    said = await talk.say("@to:tester hello")
    assert talk.sent[0][1].text == "HELLO"
    assert said.answers[0].text == "please: tester heard"


async def test_hooks_after_the_answer_see_what_went_wrong(talk):
    seen: list[str] = []

    @hook(PostDispatch)
    def note(payload: PostDispatch, ctx: HookContext) -> None:
        seen.append(payload.error)

    async def refuse(message):
        raise NeedsModel("not without a model")

    talk.hooks.add(note)
    talk.answers["tester"] = refuse
    await talk.say("@to:tester hello")
    assert seen == ["not without a model"]


async def test_a_hook_that_breaks_stops_nothing(talk):
    @hook(PreRoute)
    def broken(payload: PreRoute, ctx: HookContext) -> None:
        raise RuntimeError("oh")

    talk.hooks.add(broken)
    assert (await talk.say("@to:tester hello")).well
    assert talk.dispatcher.metrics().hooks[0].errors == 1


async def test_an_agent_that_fails_again_and_again_is_left_alone_and_tried_again(talk):
    async def never(message):
        raise DeadlinePassed("no answer")

    talk.answers["tester"] = never
    for _ in range(3):
        said = await talk.say("@to:tester hello")
        assert said.answers[0].error.type == "deadline_passed"
    said = await talk.say("@to:tester hello")
    assert said.answers[0].error.type == "target_unwell"
    assert len(talk.sent) == 3
    assert talk.dispatcher.metrics().health["s-1/tester/main"].in_a_row == 3

    await talk.clock.advance(11)
    del talk.answers["tester"]
    assert (await talk.say("@to:tester hello")).well
    assert talk.dispatcher.metrics().health["s-1/tester/main"].in_a_row == 0


async def test_who_does_not_wait_long_learns_nothing_of_an_agents_health(talk):
    async def slow(message):
        raise DeadlinePassed("no answer")

    talk.answers["orchestrator"] = talk.answers["tester"] = slow
    for _ in range(5):
        said = await talk.say("@to:tester hello", timeout_s=1)
    assert said.answers[0].error.type == "deadline_passed"


async def test_a_word_about_a_task_is_never_kept_from_the_orchestrator(talk):
    async def never(message):
        raise DeadlinePassed("no answer")

    talk.answers["orchestrator"] = never
    for _ in range(5):
        said = await talk.say("/task a interrupt")
    assert said.answers[0].error.type == "deadline_passed"


async def test_the_books_have_the_words_as_the_hooks_left_them(talk):
    @hook(PreRoute)
    def mask(payload: PreRoute, ctx: HookContext) -> PreRoute:
        return msgspec.structs.replace(payload, text=payload.text.replace("hunter2", "***"))

    talk.hooks.add(mask)
    await talk.say("@to:tester the password is hunter2")
    assert "hunter2" not in repr((talk.routed, talk.sent, talk.dispatcher.metrics()))


async def test_more_targets_than_can_be_listed_are_counted_together(talk):
    talk.tasks = {f"t{number}" for number in range(120)}
    for name in sorted(talk.tasks):
        await talk.say(f"@to:tester/{name} hello")
    by_target = talk.dispatcher.metrics().counts.by_target
    assert (len(by_target), by_target["(others)"]) == (101, 20)


async def test_a_refusal_says_nothing_of_an_agents_health(talk):
    async def refuse(message):
        raise NeedsModel("not without a model")

    talk.answers["tester"] = refuse
    for _ in range(5):
        said = await talk.say("@to:tester hello")
    assert said.answers[0].error.type == "needs_model"


async def test_what_waits_for_an_answer_is_pending_with_its_deadline(talk):
    go_on = asyncio.Event()

    async def slow(message):
        await go_on.wait()
        return Heard("at last")

    talk.answers["tester"] = slow
    saying = asyncio.create_task(talk.say("@to:tester hello", timeout_s=30))
    while not talk.sent:
        await asyncio.sleep(0)
    (pending,) = talk.dispatcher.metrics().pending
    assert (pending.target, pending.text, pending.since, pending.deadline) == (
        "s-1/tester/main",
        "@to:tester hello",
        1_000.0,
        1_030.0,
    )
    go_on.set()
    assert (await saying).well
    assert talk.dispatcher.metrics().pending == []


async def test_what_is_cancelled_is_pending_no_more(talk):
    async def never(message):
        await asyncio.Event().wait()

    talk.answers["tester"] = never
    saying = asyncio.create_task(talk.say("@to:tester hello"))
    while not talk.sent:
        await asyncio.sleep(0)
    saying.cancel()
    with pytest.raises(asyncio.CancelledError):
        await saying
    assert talk.dispatcher.metrics().pending == []


async def test_the_books_count_what_was_answered_refused_and_failed(talk):
    async def fail(message):
        raise DeadlinePassed("no answer")

    talk.answers["inspector"] = fail
    await talk.say("@broadcast:tester,inspector hello")
    with pytest.raises(NotUnderstood):
        await talk.say("/tsk")
    counts = talk.dispatcher.metrics().counts
    assert (counts.said, counts.answered, counts.refused, counts.failed) == (2, 1, 1, 1)
    assert counts.by_target == {"tester": 1, "inspector": 1}
    assert counts.routed_s > 0


async def test_every_routing_is_told_with_what_came_of_it(talk):
    await talk.say("how is the job going?")
    (routing,) = talk.routed
    assert (routing.pattern, routing.agent, routing.failure) == ("how is the job going?", "orchestrator", "")
    assert routing.kind == "general job"
