from __future__ import annotations

import os

import pytest

from sylk_ray.errors import InputError, SylkError
from sylk_ray.fairness import InvalidGroup
from sylk_ray.gateway.answers import NotFound, status_of
from sylk_ray.jobs import load_job
from sylk_ray.messaging import CellLost, DeadlinePassed, HandlerFailed
from sylk_ray.sessions import JobState, SessionRecord, TaskRecord
from sylk_ray.sessions.admission import TooMany
from sylk_ray.sessions.records import IllegalSessionState

from .conftest import a_job

JOB = """
name: tidy
vars: {greeting: hello}
tasks:
  notes:
    engineer:
      - write: {path: NOTES.md, content: "{{ vars.greeting }}"}
"""


async def test_a_wrong_job_is_answered_with_every_problem_and_its_place(http, guide):
    job = "name: Tidy\ntasks:\n  a: {engineer: [{rnu: x}], depends_on: [b]}\n"
    answer = await http.post("/jobs", json={"job": job, "source": "j.yaml", "repo": "/r"})
    error = answer.json()["error"]
    assert answer.status_code == 422
    assert (error["code"], error["exit_code"]) == ("job_problems", 2)
    assert [(each["line"], each["where"]) for each in error["problems"]] == [
        (1, "name"),
        (3, "tasks.a.engineer[0].rnu"),
        (3, "tasks.a.depends_on[0]"),
    ]
    assert error["message"].startswith("j.yaml:1:7: name:")
    assert not guide.heard


async def test_a_job_is_passed_on_in_its_long_form(http, guide):
    body = {"job": JOB, "repo": "/r", "session": "s", "variables": {"greeting": "hi"}, "start": False}
    answer = await http.post("/jobs", json=body)
    assert (answer.status_code, answer.json()["status"]) == (201, "prepared")
    (told,) = guide.heard
    assert (told.repo, told.session, told.start) == ("/r", "s", False)
    assert '"greeting":"hi"' in told.job


async def test_a_job_may_be_the_object_that_it_is_stored_as(http, guide):
    stored = load_job(JOB, source="j").model_dump(mode="json")
    assert (await http.post("/jobs", json={"job": stored, "repo": "/r"})).status_code == 201
    assert guide.heard[0].job == load_job(JOB, source="j").model_dump_json()


async def test_a_relative_repository_is_refused(http, guide):
    answer = await http.post("/jobs", json={"job": JOB})
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "input")
    assert not guide.heard


async def test_a_malformed_request_names_the_field(http):
    error = (await http.post("/jobs", json={"jb": JOB})).json()["error"]
    assert error["code"] == "bad_request"
    assert "body.jb" in error["message"]


@pytest.mark.parametrize("path", ["/jobs/j-9", "/jobs/j-9/events", "/jobs/j-9/log", "/sessions/x", "/nowhere"])
async def test_what_does_not_exist_is_404(http, path):
    answer = await http.get(path)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


async def test_jobs_are_listed_started_and_cancelled(http, guide):
    guide.jobs["j-1"] = a_job(status=JobState.PREPARED)
    assert [job["job_id"] for job in (await http.get("/jobs")).json()] == ["j-1"]
    assert (await http.post("/jobs/j-1/start", json={"ray_job": "r-1"})).json()["ray_job"] == "r-1"
    assert (await http.post("/jobs/j-1/cancel")).status_code == 200
    assert guide.heard[-1].reason == "a person cancelled it"


async def test_a_job_that_does_not_want_to_wait_is_refused_with_409(http, guide):
    answer = await http.post("/jobs", json={"job": JOB, "repo": "/r", "queue": False})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["exit_code"]) == (409, "too_many_sessions", 1)
    assert "suspend one" in error["hint"]


async def test_how_a_job_is_started_is_passed_on(http, guide):
    guide.jobs["j-1"] = a_job(status=JobState.PREPARED)
    await http.post("/jobs/j-1/start", json={"queue": False})
    await http.post("/jobs/j-1/start")
    assert [told.queue for told in guide.heard] == [False, True]


async def test_a_suspended_job_is_resumed(http, guide):
    guide.jobs["j-1"] = a_job(status=JobState.SUSPENDED)
    assert (await http.post("/jobs/j-1/resume")).json()["status"] == "running"
    assert (await http.post("/jobs/j-9/resume")).status_code == 404


async def test_the_shares_are_what_fair_share_knows(http):
    told = (await http.get("/shares")).json()
    assert told["capacity"] == {"pipelines": 200.0, "cpu": 4.0}
    assert told["sessions"] == []


async def test_sessions_are_listed_and_closed(http, guide):
    guide.sessions["s-1"] = SessionRecord("s-1", "tidy", "/r", "sylk/tidy", "abc")
    guide.sessions["s-2"] = SessionRecord("s-2", "old", "/r", "sylk/old", "abc", closed=True)
    assert [each["id"] for each in (await http.get("/sessions")).json()] == ["s-1"]
    assert len((await http.get("/sessions?closed=true")).json()) == 2
    assert (await http.delete("/sessions/s-1?delete_branch=true")).json()["closed"] is True
    assert guide.heard[-1].delete_branch is True


async def test_the_log_is_what_the_tools_of_a_task_printed_in_order(http, runtime, guide):
    job = guide.jobs["j-1"] = a_job()
    guide.jobs["j-1"] = type(job)(**{**_fields(job), "tasks": {"a": TaskRecord("a"), "b": TaskRecord("b")}})
    for number, (task, name, text) in enumerate(
        [("a", "z-first", "one"), ("b", "other", "two"), ("a", "second", "3\n")]
    ):
        folder = runtime.front.directory(job.session_id).artifacts(task)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.log").write_text(text)
        os.utime(folder / f"{name}.log", (number, number))
    (runtime.home / "private").write_text("secret")
    (runtime.front.directory(job.session_id).artifacts("a") / "link.log").symlink_to(runtime.home / "private")
    assert (await http.get("/jobs/j-1/log?task=a")).text == "==> a/z-first.log <==\none\n==> a/second.log <==\n3\n"
    assert (await http.get("/jobs/j-1/log")).text.count("==>") == 3


@pytest.mark.parametrize("task", ["../s-2", "..", "a/../../x", "/etc", "nope"])
async def test_the_log_of_something_that_is_no_task_is_refused(http, guide, task):
    guide.jobs["j-1"] = a_job()
    assert (await http.get("/jobs/j-1/log", params={"task": task})).status_code == 404


async def test_the_status_counts(http, runtime):
    await runtime.open(a_job())
    told = (await http.get("/status")).json()
    assert (told["cells"], told["running_jobs"], told["density"]) == (1, 1, "packed")


async def test_a_shutdown_suspends_jobs_and_then_ends_the_cells(http, fleet):
    assert (await http.post("/shutdown", json={"now": True})).json() == {"resumable": ["j-1"]}
    assert len(fleet.heard) == 1


async def test_the_document_describes_answers_and_errors(http):
    document = (await http.get("/openapi.json")).json()
    schemas = document["components"]["schemas"]
    assert {
        "JobRecord",
        "SessionRecord",
        "Census",
        "Status",
        "Snapshot",
        "LetterView",
        "ErrorAnswer",
        "Problem",
    } <= schemas.keys()
    answer = document["paths"]["/jobs/{job_id}"]["get"]["responses"]
    assert answer["200"]["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/JobRecord"}
    assert "HTTPValidationError" not in schemas


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (NotFound("x"), 404),
        (InputError("x"), 422),
        (IllegalSessionState("x"), 409),
        (TooMany("x"), 409),
        (InvalidGroup("x"), 422),
        (DeadlinePassed("x"), 503),
        (CellLost("x"), 503),
        (HandlerFailed("x"), 500),
        (SylkError("x"), 500),
    ],
)
def test_each_class_of_error_has_its_status(error, status):
    assert status_of(error) == status


def _fields(record):
    return {name: getattr(record, name) for name in record.__struct_fields__}


async def test_every_answer_names_its_trace(http, guide):
    first, second = [(await http.get("/jobs")).headers["X-Trace-Id"] for _ in range(2)]
    assert len(first) == len(second) == 32
    assert first != second


async def test_a_client_may_bring_its_own_trace(http, guide):
    trace = "0af7651916cd43dd8448eb211c80319c"
    answer = await http.get("/jobs", headers={"traceparent": f"00-{trace}-b7ad6b7169203331-01"})
    assert answer.headers["X-Trace-Id"] == trace
    answer = await http.get("/jobs", headers={"traceparent": f"00-{'0' * 32}-b7ad6b7169203331-01"})
    assert answer.headers["X-Trace-Id"] != trace
    assert int(answer.headers["X-Trace-Id"], 16)


async def test_a_refusal_names_its_trace_too(http):
    answer = await http.get("/jobs", headers={"Authorization": "Bearer wrong"})
    assert answer.status_code == 401
    assert len(answer.headers["X-Trace-Id"]) == 32
