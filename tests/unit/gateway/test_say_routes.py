"""Saying something through the gateway, to a real router with real agents behind it."""

from __future__ import annotations

import pytest

from sylk_ray.sessions import SessionRecord, SessionState
from sylk_ray.speech.messages import SayAtRest

from .conftest import a_job


@pytest.fixture
async def tidy(runtime, guide) -> SessionRecord:
    made = SessionRecord("s-1", "tidy", "/r", "sylk/tidy", "abc", state=SessionState.ACTIVE)
    guide.sessions["s-1"] = guide.sessions["tidy"] = made
    await runtime.open(a_job())
    return made


async def test_what_is_said_to_a_session_is_answered_with_where_it_went_and_why(http, tidy):
    answer = await http.post("/sessions/s-1/say", json={"text": "/agents"})
    said = answer.json()
    assert answer.status_code == 200
    assert (said["session"], said["kind"]) == ("s-1", "command")
    assert said["trace"] == answer.headers["X-Trace-Id"]
    (told,) = said["answers"]
    assert told["agent"] == "guide"
    assert "tester: running, writing and explaining tests" in told["text"]
    assert said["reasons"] == ["/agents is a command of the guide"]


async def test_a_session_is_found_by_its_name_too(http, tidy):
    assert (await http.post("/sessions/tidy/say", json={"text": "/agents"})).json()["session"] == "s-1"


async def test_what_is_not_understood_is_wrong_input(http, tidy):
    answer = await http.post("/sessions/s-1/say", json={"text": "/tsk a query b"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "not_understood")
    assert answer.json()["error"]["hint"] == 'did you mean "task"?'


async def test_someone_who_is_not_here_is_no_fault_of_the_input(http, tidy):
    answer = await http.post("/sessions/s-1/say", json={"text": "where is the auth middleware?"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "agent_not_here")


async def test_an_empty_text_is_refused(http, tidy):
    assert (await http.post("/sessions/s-1/say", json={"text": ""})).status_code == 422
    assert (await http.post("/sessions/s-1/say", json={"text": "hi", "timeout_s": 0})).status_code == 422


async def test_for_a_session_whose_agents_are_put_away_the_guide_answers(http, guide):
    guide.sessions["s-2"] = SessionRecord("s-2", "old", "/r", "sylk/old", "abc", state=SessionState.SUSPENDED)
    answer = await http.post("/sessions/s-2/say", json={"text": "hi"})
    assert answer.json()["answers"][0]["text"] == "at rest"
    assert guide.heard == [SayAtRest("s-2", "hi")]
    assert (await http.get("/sessions/s-2/agents")).json()["error"]["code"] == "session_not_at_work"


async def test_what_was_said_while_its_session_was_put_away_is_not_said_twice(http, runtime, guide, tidy):
    await http.post("/sessions/s-1/say", json={"text": "/agents"})
    guide.sessions["s-1"] = SessionRecord("s-1", "tidy", "/r", "b", "abc", state=SessionState.COMPLETED)
    await runtime.close(a_job(), a_job().status)
    answer = await http.post("/sessions/s-1/say", json={"text": "/agents"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "session_not_at_work")
    again = await http.post("/sessions/s-1/say", json={"text": "/agents"})
    assert again.json()["answers"][0]["text"] == "at rest"


async def test_who_can_be_spoken_to_and_how_routing_has_gone(http, tidy):
    agents = (await http.get("/sessions/s-1/agents")).json()
    assert set(agents) == {"academic", "architect", "archivalist", "engineer", "guide", "inspector"} | {
        "orchestrator",
        "tester",
    }
    await http.post("/sessions/s-1/say", json={"text": "hello, what can you do?"})
    await http.post("/sessions/s-1/say", json={"text": "hello, what can you do?"})
    told = (await http.get("/sessions/s-1/routing")).json()
    assert told["counts"]["said"] == 2
    assert told["cache"]["hits"] == 1


async def test_two_sessions_know_nothing_of_each_others_routes(http, runtime, guide, tidy):
    guide.sessions["s-2"] = SessionRecord("s-2", "other", "/r", "b", "abc", state=SessionState.ACTIVE)
    await runtime.open(a_job("j-2"))
    await http.post("/sessions/s-1/say", json={"text": "hello, what can you do?"})
    said = (await http.post("/sessions/s-2/say", json={"text": "hello, what can you do?"})).json()
    assert not said.get("cached", False)
    assert (await http.get("/sessions/s-2/routing")).json()["counts"]["said"] == 1
