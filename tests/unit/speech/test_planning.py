"""Whom an utterance is for, and what they are told."""

from __future__ import annotations

import pytest

from sylk_ray.messaging import Address
from sylk_ray.routing import Intent, Route
from sylk_ray.speech import AgentNotHere, CallSkill, Hear, NeedsModel, NobodyOfThatName
from sylk_ray.speech.tasks import UserIgnoreTester, UserTaskQuery


async def test_who_is_named_gets_the_words(talk):
    said = await talk.say('@to:tester "how did it go?"')
    assert talk.sent == [(Address("s-1", "tester", "main"), Hear("how did it go?"))]
    assert (said.kind, said.answers[0].agent, said.answers[0].text) == ("directed", "tester", "tester heard")
    assert said.reasons == ("it names whom it is for",)


async def test_one_of_several_is_named_with_its_task(talk):
    await talk.say("@to:engineer/use_pathlib hello")
    assert talk.sent[0][0] == Address("s-1", "engineer", "use_pathlib")
    with pytest.raises(NobodyOfThatName, match="there are several engineers") as problem:
        await talk.say("@to:engineer hello")
    assert problem.value.hint == "name one: @to:engineer/<task>"


async def test_nobody_is_brought_to_life_for_a_task_that_is_not_at_work(talk):
    with pytest.raises(NobodyOfThatName, match="nobody is at work on anything"):
        await talk.say("@to:tester/anything hello")
    assert talk.sent == []


async def test_an_address_of_the_own_session_is_a_name_and_one_of_another_is_not(talk):
    await talk.say("@to:s-1/tester/use_pathlib hello")
    assert talk.sent[0][0] == Address("s-1", "tester", "use_pathlib")
    with pytest.raises(NobodyOfThatName, match="of another session"):
        await talk.say("@to:s-2/tester/use_pathlib hello")
    assert len(talk.sent) == 1


async def test_a_misspelt_name_is_told_the_nearest(talk):
    with pytest.raises(NobodyOfThatName) as problem:
        await talk.say("@to:orchestrater hello")
    assert problem.value.hint == 'did you mean "orchestrator"?'


async def test_an_agent_that_is_known_and_not_here_is_told_apart(talk):
    with pytest.raises(AgentNotHere, match="there is no librarian here"):
        await talk.say("@to:librarian where is auth?")


async def test_a_broadcast_reaches_all_of_them_each_with_an_answer_of_its_own(talk):
    async def refuse(message):
        raise NeedsModel("not without a model")

    talk.answers["inspector"] = refuse
    said = await talk.say("@broadcast:inspector,tester done")
    assert [answer.agent for answer in said.answers] == ["inspector", "tester"]
    assert said.answers[0].error.type == "needs_model"
    assert said.answers[1].text == "tester heard"
    assert not said.well


async def test_a_broadcast_to_someone_who_is_not_there_reaches_nobody(talk):
    with pytest.raises(NobodyOfThatName):
        await talk.say("@broadcast:tester,testr done")
    assert talk.sent == []


async def test_a_word_about_a_task_goes_to_the_orchestrator(talk):
    await talk.say('/task use_pathlib query "how far?"')
    await talk.say("/task use_pathlib ignore_tester too slow")
    orchestrator = Address("s-1", "orchestrator", "main")
    assert talk.sent == [
        (orchestrator, UserTaskQuery("use_pathlib", "how far?")),
        (orchestrator, UserIgnoreTester("use_pathlib", "too slow")),
    ]


async def test_a_command_is_a_skill_with_typed_arguments(talk):
    await talk.say("/tester:test --verbose tests/unit")
    assert talk.sent == [
        (Address("s-1", "tester", "main"), CallSkill("run_tests", '{"verbose":true,"path":"tests/unit"}'))
    ]


async def test_another_agent_stands_in_for_one_that_is_not_here(talk):
    said = await talk.say("/status --detailed")
    assert talk.sent == [
        (Address("s-1", "orchestrator", "main"), CallSkill("get_status", '{"detailed":true}')),
    ]
    assert said.reasons[-1] == "there is no architect here, and the orchestrator stands in"


async def test_a_command_of_nobody_here_is_refused(talk):
    with pytest.raises(AgentNotHere, match="/find is for the librarian"):
        await talk.say("/find Mailbox")
    with pytest.raises(NeedsModel, match="/skip needs a model"):
        await talk.say("/skip test_a because it is slow")


async def test_free_text_goes_where_the_rules_say_with_its_intent_and_why(talk):
    said = await talk.say("how is the job going?")
    (target, message) = talk.sent[0]
    assert target.role == "orchestrator"
    assert (message.text, message.intent, message.confidence) == (
        "how is the job going?",
        Intent.GENERAL,
        said.confidence,
    )
    assert said.kind == "free"
    assert said.confidence >= 0.8
    assert said.reasons


async def test_free_text_for_someone_who_is_not_here_says_for_whom_it_is(talk):
    with pytest.raises(AgentNotHere, match="this is for the librarian"):
        await talk.say("where is the auth middleware?")
    assert talk.sent == []


async def test_words_that_mean_nothing_go_to_the_guide(talk):
    said = await talk.say("hmm")
    assert talk.sent[0][0].role == "router"
    assert said.answers[0].agent == "guide"
    assert said.confidence < 0.8


async def test_a_sure_route_is_known_the_next_time_and_a_guess_is_not(talk):
    first = await talk.say("how is the job going?")
    second = await talk.say("how  is the job going?")
    assert (first.cached, second.cached) == (False, True)
    assert talk.learnt == ["how is the job going?"]
    await talk.say("hmm")
    assert not (await talk.say("hmm")).cached


async def test_who_speaks_is_told(talk):
    await talk.say("@from:engineer how is the job going?")
    assert talk.sent[0][1].said_by == "engineer"


async def test_a_registered_agent_can_be_spoken_to(talk):
    talk.receivers.registered["poet"] = Address("s-1", "poet", "one")
    await talk.say("@to:poet a line, please")
    assert talk.sent[0][0] == Address("s-1", "poet", "one")
    assert "poet" in talk.receivers.names()


async def test_the_words_for_an_agent_with_intents_carry_theirs(talk):
    talk.receivers.registered["librarian"] = Address("s-1", "librarian", "main")
    said = await talk.say("@to:librarian where is the login middleware?")
    assert (talk.sent[0][1].intent, talk.sent[0][1].subject) == (Intent.LOCATE, "auth_middleware")
    assert said.intent == "locate"


async def test_a_shared_route_is_taken_where_the_session_knows_none(talk):
    talk.cache.put("do the thing", Route(target="tester", confidence=0.9))
    assert (await talk.say("do the thing")).cached
    assert talk.sent[0][0].role == "tester"
