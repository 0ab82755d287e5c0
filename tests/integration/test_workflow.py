"""Sessions, pipelines and both levels of quality, with agents that think, on real cells.

What declared agents do is in test_jobs.py, what people say of tasks in test_saying.py, requests in test_requests.py.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from sylk_ray.llm import Piece, Request, UsagePiece
from sylk_ray.messaging import Address, Event
from sylk_ray.runtime.directory import router_of
from sylk_ray.runtime.journal import read_events
from sylk_ray.sessions import JobState, SessionDirectory, session_directory
from sylk_ray.sessions.messages import GUIDE, CancelJob
from sylk_ray.speech import Say
from sylk_ray.speech.messages import CallSkill
from tests.cluster import Runtime
from tests.models import RoleScript, Stall, call
from tests.unit.sessions.conftest import git, new_repository

from .test_requests import Model

APPROVED = call("finish", issues=[])
PASSING = "def test_{name}():\n    from {name} import {name}\n\n    assert {name}([1, 2]) == 3\n"


def write(name: str, body: str = "sum(values)") -> Any:
    return call("write_file", path=f"{name}.py", content=f"def {name}(values):\n    return {body}\n")


def done(what: str = "it is done") -> Any:
    return call("finish", summary=what)


def proof(name: str, passes: bool = True) -> list[Any]:
    """What a Tester does: it writes a test and runs it, which may fail."""
    command = f"PYTHONPATH=. python -m pytest -q tests/test_{name}.py"
    test = call("write_file", path=f"tests/test_{name}.py", content=PASSING.format(name=name))
    end = call("finish", summary="it adds up" if passes else "the code is wrong", command=command)
    return [test, call("run_command", command=command), end]


SUMMED_UP = call("sum_up", done=["notes"], remaining=["total.py is left"], notes="")


def filling(name: str) -> Any:
    """A call that takes a third of a window of 8,000 tokens, of a server that does not count."""
    made = call("write_file", path=f"notes/{name}.txt", content=f"{name} and so on\n" * 600)
    return [piece for piece in made if not isinstance(piece, UsagePiece)]


def task(name: str, **more: str) -> str:
    fields = {"prompt": f"Write {name}.py with {name}(values).", **more}
    return f"  add_{name}: {{{', '.join(f'{key}: {value}' for key, value in fields.items())}}}\n"


def job(*tasks: str, end: str = "") -> str:
    return f"name: sums\ntasks:\n{''.join(tasks)}{end}"


@pytest.fixture
def model() -> Iterator[Model]:
    made = Model()
    yield made
    made.server.close()


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "sums", {"readme.md": "# Sums\n", "pytest.ini": "[pytest]\n"})


@pytest.fixture
async def runtime(start: Any, model: Model) -> Runtime:
    return await start(density="packed", cells=2, warm_cells=0, models=model.settings)


def stalling(model: Model, reply: Sequence[Piece]) -> Any:
    """A reply after which the model says nothing to whoever asks next."""

    def move(request: Request) -> Sequence[Piece]:
        model.server.faults.append(Stall(0))
        return reply

    return move


async def asked(model: Model, role: str) -> None:
    """Until an agent of a role waits for its model, which is not going to answer."""
    async with asyncio.timeout(30):
        while not any(f" {role}. " in each.request.system[:40] for each in model.server.asked):
            await asyncio.sleep(0.02)


def history(runtime: Runtime, session: str) -> list[Event]:
    """What happened, in order."""
    return read_events(SessionDirectory(session_directory(runtime.settings.home, session)).journal)


def kinds(runtime: Runtime, session: str) -> list[tuple[str, str]]:
    """What happened to which task, in order."""
    return [(event.kind, event.task) for event in history(runtime, session)]


async def test_both_levels_of_quality_from_two_pipelines_to_the_end(runtime, model, repo):
    """Each pipeline's own Inspector and Tester, and then the session's, which look at all of it."""
    model.moves(
        engineer=[write("total"), done(), write("mean", "sum(values)"), done()],
        inspector=[APPROVED, APPROVED, APPROVED],
        tester=[*proof("total"), *proof("mean")],
    )
    end = "finally: {review: true, tester: 'PYTHONPATH=. python -m pytest -q'}\n"
    record = await runtime.run(job(task("total"), task("mean", depends_on="[add_total]"), end=end), repo, "sums")
    assert (record.status, record.error, record.checks.state) == (JobState.SUCCEEDED, None, "succeeded")
    assert [role for role, _ in model.script.asked] == [
        *["engineer", "engineer", "inspector", "tester", "tester", "tester"] * 2,
        "inspector",
    ]
    whole = model.script.requests("inspector")[2].messages[0].text
    assert "def total" in whole
    assert "def mean" in whole
    happened = kinds(runtime, record.session_id)
    covered = [event.data["covered"] for event in history(runtime, record.session_id) if event.kind == "tester.report"]
    assert covered == [f"they were seen to run {count} of {count} changed statement(s)" for count in (2, 2, 4)]
    reports = [task for kind, task in happened if kind == "tester.report"]
    assert reports[-1] not in ("add_total", "add_mean")
    assert happened.index(("checks.state", reports[-1])) > max(
        at for at, (kind, task) in enumerate(happened) if kind == "tester.report" and task == "add_mean"
    )
    assert git(repo, "log", "--format=%s", "main..sylk/sums").splitlines() == ["Add mean", "Add total"]


async def test_what_the_sessions_inspector_finds_fails_a_job_whose_pipelines_passed(runtime, model, repo):
    found = {"severity": "error", "message": "total and mean are the same", "file": "total.py", "line": 1}
    model.moves(
        engineer=[write("total"), done()],
        inspector=[APPROVED, call("finish", issues=[found])],
        tester=proof("total"),
    )
    record = await runtime.run(job(task("total"), end="finally: {review: true}\n"), repo)
    assert (record.tasks["add_total"].state, record.checks.state) == ("succeeded", "failed")
    assert record.status is JobState.FAILED
    assert "total and mean are the same" in record.checks.error.message
    assert git(repo, "show", f"{record.branch}:total.py").startswith("def total")


async def test_a_testers_failure_goes_straight_to_the_engineer_and_is_tested_again(runtime, model, repo):
    model.moves(
        engineer=[write("total", "values[0]"), done(), write("total"), done()],
        inspector=[APPROVED, APPROVED],
        tester=[*proof("total", passes=False), *proof("total")],
    )
    record = await runtime.run(job(task("total")), repo)
    assert (record.status, record.tasks["add_total"].loops.tester) == (JobState.SUCCEEDED, 1)
    told = model.script.requests("engineer")[2].messages[0].text
    assert "It was sent back: mend this" in told
    assert "assert 1 == 3" in told
    assert "sum(values)" in git(repo, "show", f"{record.branch}:total.py")


async def test_an_inspector_that_is_never_content_ends_the_task_and_what_depends_on_it(runtime, model, repo):
    found = call("finish", issues=[{"severity": "error", "message": "no", "file": "total.py", "line": 1}])
    bodies = ["sum(values)", "sum(values) + 0", "0 + sum(values)"]
    model.moves(engineer=[move for body in bodies for move in (write("total", body), done())], inspector=[found] * 3)
    text = job(task("total", max_loops="2"), task("mean", depends_on="[add_total]"))
    record = await runtime.run(text, repo)
    assert {name: task.state for name, task in record.tasks.items()} == {"add_total": "failed", "add_mean": "skipped"}
    failed = record.tasks["add_total"]
    assert (record.status, failed.loops.inspector, failed.error.type) == (JobState.FAILED, 2, "inspection_failed")
    assert failed.error.message.startswith("after 2 loops: the Inspector found 1 issue(s)")
    assert model.script.left == {}


async def test_a_person_does_without_an_inspector_that_is_thinking(runtime, model, repo):
    model.moves(engineer=[write("total"), stalling(model, done())], tester=proof("total"))
    record = await runtime.submit(job(task("total")), repo)
    await asked(model, "Inspector")
    said = await runtime.ask(router_of(record.session_id), Say("/task add_total ignore_inspector it is fine"))
    assert said.well
    over = await runtime.until_over(record.job_id)
    assert (over.status, over.tasks["add_total"].waived) == (JobState.SUCCEEDED, ["inspector"])
    assert await asyncio.to_thread(model.server.hung_up.wait, 10), "the connection to the model is closed"


async def test_a_job_that_is_cancelled_while_a_model_answers_hangs_up_and_leaves_nothing(runtime, model, repo):
    model.moves(engineer=[write("total"), stalling(model, call("list_files"))])
    record = await runtime.submit(job(task("total")), repo)
    async with asyncio.timeout(30):
        while len(model.server.asked) < 3:
            await asyncio.sleep(0.02)
    await runtime.ask(GUIDE, CancelJob(record.job_id, "changed my mind"))
    over = await runtime.until_over(record.job_id)
    assert over.status is JobState.CANCELLED
    assert await asyncio.to_thread(model.server.hung_up.wait, 10)
    assert git(repo, "rev-parse", over.branch) == git(repo, "rev-parse", "main")
    assert git(repo, "worktree", "list", "--porcelain").count("worktree ") == 1


async def test_what_one_session_says_to_its_model_no_other_session_hears(runtime, model, repo, tmp_path):
    """Both at once: each answer waits until the other session has asked as well."""
    other = new_repository(tmp_path / "pears", {"pears.md": "# Pears\n"})
    scripts = {
        name: RoleScript(engineer=[call("list_files"), write(name), done(f"{name} is done")], inspector=[APPROVED])
        for name in ("apples", "pears")
    }
    both = threading.Barrier(2)
    heard: dict[str, list[str]] = {"apples": [], "pears": []}

    def answer(request: Request) -> Sequence[Piece]:
        name = "apples" if "apples" in request.messages[0].text else "pears"
        heard[name].append(repr(request.messages))
        return scripts[name](request)

    model.script = answer
    model.server.before = lambda request: len(request.messages) == 1 and both.wait(30)
    text = {name: job(f"  add_{name}: {{prompt: Write {name}.py., write_tests: false}}\n") for name in scripts}
    one, two = await asyncio.gather(runtime.run(text["apples"], repo), runtime.run(text["pears"], other))
    assert (one.status, two.status) == (JobState.SUCCEEDED, JobState.SUCCEEDED)
    assert all("pears" not in each for each in heard["apples"])
    assert all("apples" not in each for each in heard["pears"])
    assert all("readme.md" not in each for each in heard["pears"]), "nor the other's files"


async def test_skills_are_loaded_step_by_step_and_for_one_agent_alone(runtime, model, repo):
    model.moves(engineer=[stalling(model, write("total"))])
    record = await runtime.submit(job(task("total")), repo)
    await asked(model, "Engineer")

    async def use(role: str, skill: str, arguments: str = "{}") -> Any:
        return (await runtime.ask(Address(record.session_id, role, "main"), CallSkill(skill, arguments))).data

    before = await use("inspector", "loaded_skills")
    assert {each["tier"] for each in before["loaded"]} == {"core"}
    name = before["not_loaded"][0]["name"]
    spent = (await use("inspector", "skill_token_budget"))["used"]
    await use("inspector", "load_skill", f'{{"name": "{name}"}}')
    after = await use("inspector", "loaded_skills")
    assert name in [each["name"] for each in after["loaded"]]
    assert (await use("inspector", "skill_token_budget"))["used"] > spent
    elsewhere = await use("tester", "loaded_skills")
    assert {each["tier"] for each in elsewhere["loaded"]} == {"core"}
    await runtime.ask(GUIDE, CancelJob(record.job_id))
    await runtime.until_over(record.job_id)


async def test_a_task_that_is_handed_over_goes_on_though_every_cell_dies_on_the_way(start, model, repo):
    model.settings["scripted"]["context_window"] = 8_000
    runtime = await start(density="packed", cells=2, warm_cells=0, models=model.settings)
    asked, answered = threading.Event(), threading.Event()

    def hold(request: Request) -> None:
        if "You are an Architect" in request.system and not asked.is_set():
            asked.set()
            answered.wait(60)

    model.server.before = hold
    model.moves(
        architect=[call("finish", prompt="")],
        engineer=[*map(filling, ("one", "two", "three")), SUMMED_UP, write("total"), done()],
        inspector=[APPROVED],
        tester=proof("total"),
    )
    record = await runtime.submit(job(task("total")), repo, "sums")
    await asyncio.to_thread(asked.wait, 60)
    for cell in await runtime.cells():
        os.kill(cell.pid, signal.SIGKILL)
    answered.set()
    over = await runtime.until_over(record.job_id)
    assert (over.status, over.error) == (JobState.SUCCEEDED, None)
    ended = over.tasks["add_total"]
    assert (ended.attempts, ended.handoffs) == (2, 1)
    assert len(model.script.requests("engineer")) == 6
    assert "- total.py is left" in model.script.requests("engineer")[4].messages[0].text
    created = [task for kind, task in kinds(runtime, record.session_id) if kind == "handoff.completed"]
    assert created == ["add_total"]
    assert git(repo, "show", f"{record.branch}:notes/one.txt").startswith("one")
