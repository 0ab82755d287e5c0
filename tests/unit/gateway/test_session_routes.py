from __future__ import annotations

import pytest

from sylk_ray.config import Settings
from sylk_ray.fairness import Group
from sylk_ray.sessions import SessionRecord


@pytest.fixture
def tidy(guide) -> SessionRecord:
    made = SessionRecord("s-1", "tidy", "/r", "sylk/tidy", "abc", group=Group(max_pipelines=2))
    guide.sessions["s-1"] = made
    return made


async def test_a_session_is_made_with_the_limits_that_are_given(http, guide):
    body = {"name": "tidy", "repo": "/r", "description": "d", "group": {"weight": 2, "max_pipelines": 4}}
    answer = await http.post("/sessions", json=body)
    assert (answer.status_code, answer.json()["standing"]) == (201, True)
    (told,) = guide.heard
    assert (told.name, told.repo, told.description) == ("tidy", "/r", "d")
    assert told.group == Group(weight=2, max_pipelines=4)


async def test_what_is_not_given_is_as_the_settings_say(http, runtime, guide):
    runtime.hosts["gateway"].settings = Settings(home=runtime.home, session_defaults={"cpu_slots": 3})
    await http.post("/sessions", json={"name": "tidy", "repo": "/r", "group": {"weight": 2}})
    assert guide.heard[0].group == Group(weight=2, cpu_slots=3)


async def test_a_relative_repository_is_refused(http, guide):
    answer = await http.post("/sessions", json={"name": "tidy", "repo": "r"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "input")
    assert not guide.heard


async def test_a_session_is_paused_suspended_and_resumed(http, guide, tidy):
    assert (await http.post("/sessions/s-1/pause")).json()["state"] == "paused"
    body = {"suspend": True, "grace_s": 0}
    assert (await http.post("/sessions/s-1/pause", json=body)).json()["state"] == "suspended"
    assert (await http.post("/sessions/s-1/resume")).json()["state"] == "active"
    assert [(told.suspend, told.grace_s) for told in guide.heard[:2]] == [(False, 10.0), (True, 0.0)]


async def test_an_illegal_transition_is_a_409_that_says_what_is(http, tidy):
    await http.post("/sessions/s-1/pause", json={"suspend": True})
    answer = await http.post("/sessions/s-1/pause")
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (409, "illegal_session_state")
    assert error["message"] == "session tidy is suspended and cannot become paused"


async def test_each_person_has_a_foreground_session(http, guide, tidy):
    assert (await http.get("/foreground?user=me")).json() is None
    assert (await http.post("/sessions/s-1/switch", json={"user": "me", "pause": True})).json()["id"] == "s-1"
    assert guide.heard[0].pause is True
    assert (await http.get("/foreground?user=me")).json()["id"] == "s-1"
    assert (await http.get("/foreground?user=other")).json() is None
    assert (await http.get("/foreground")).status_code == 422


async def test_some_fields_of_a_group_are_changed_and_the_others_stay(http, guide, tidy):
    answer = await http.patch("/sessions/s-1/group", json={"weight": 3, "cpu_slots": 1.5})
    assert answer.json()["group"]["max_pipelines"] == 2
    assert guide.sessions["s-1"].group == Group(weight=3, max_pipelines=2, cpu_slots=1.5)
    await http.patch("/sessions/s-1/group", json={"max_pipelines": None})
    assert guide.sessions["s-1"].group.max_pipelines is None


@pytest.mark.parametrize(
    ("changes", "message", "hint"),
    [
        ({"wieght": 2}, 'a group has no field "wieght"', 'did you mean "weight"?'),
        ({"weight": "x"}, "a group's weight is 'x': expected `float`, got `str`", ""),
        ({"weight": 0}, "a group's weight is 0.0", "give a number above 0"),
        ({"max_pipelines": 1.5}, "a group's max_pipelines is 1.5: expected `int | null`, got `float`", ""),
        ({"token_budget": -1}, "a group's token_budget is -1.0", "give 0 or more"),
    ],
)
async def test_a_wrong_change_is_a_422_that_names_the_field(http, guide, tidy, changes, message, hint):
    answer = await http.patch("/sessions/s-1/group", json=changes)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["message"], error["hint"]) == (422, "invalid_group", message, hint)
    assert guide.sessions["s-1"] == tidy


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/sessions/x/pause", None),
        ("POST", "/sessions/x/resume", None),
        ("POST", "/sessions/x/switch", {"user": "me"}),
        ("PATCH", "/sessions/x/group", {}),
        ("GET", "/sessions/x/dead-letters", None),
    ],
)
async def test_a_session_that_is_not_known_is_404(http, method, path, body):
    answer = await http.request(method, path, json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


@pytest.mark.parametrize("body", [{"suspnd": True}, {"grace_s": -1}, {"suspend": "perhaps"}])
async def test_a_malformed_pause_changes_nothing(http, guide, tidy, body):
    assert (await http.post("/sessions/s-1/pause", json=body)).status_code == 422
    assert not guide.heard
