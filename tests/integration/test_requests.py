"""Requests in plain words on real cells: planned, approved, done, reviewed, tested, and nothing paid for twice."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sylk_ray.gateway.door import find_door
from sylk_ray.llm.replay import key_of
from tests.cluster import Runtime
from tests.models import ModelServer, RoleScript, call
from tests.unit.sessions.conftest import git, new_repository

from .command import Sylk, end_of, lines_until, running, until_seen

REQUEST = "Add a function that adds up numbers, with tests"
PLAN = call(
    "finish",
    summary="A function and its tests.",
    tasks=[{"name": "add_total", "prompt": "Write total.py with total(values).", "criteria": ["no values give 0"]}],
)
WRITTEN = call("write_file", path="total.py", content="def total(values):\n    return sum(values)\n")
DONE = call("finish", summary="total adds up its values")
APPROVED = call("finish", issues=[])
TEST = "from total import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n    assert total([]) == 0\n"
RUN = f"PYTHONPATH=. {sys.executable} -m pytest -q tests/test_total.py"
TESTED = [
    call("write_file", path="tests/test_total.py", content=TEST),
    call("run_command", command=RUN),
    call("finish", summary="it adds up", command=RUN),
]


class Model:
    """A server whose replies are written down, and the settings that lead there."""

    def __init__(self) -> None:
        self.script = RoleScript()
        self.server = ModelServer(answer=lambda request: self.script(request))
        self.settings = {"scripted": {"base_url": self.server.url, "model": "tiny", "context_window": 32_000}}

    def moves(self, **moves: Any) -> None:
        self.script = RoleScript(**moves)


@pytest.fixture
def model() -> Iterator[Model]:
    made = Model()
    yield made
    made.server.close()


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "sums", {"readme.md": "# Sums\n", "pytest.ini": "[pytest]\n"})


async def up(start: Any, models: dict[str, Any]) -> Runtime:
    runtime = await start(gateway=True, density="packed", cells=1, warm_cells=0, models=models)

    async def door() -> Any:
        return find_door(runtime.settings.home)

    await runtime.until(door, bool)
    return runtime


@pytest.fixture
async def runtime(start, model) -> Runtime:
    return await up(start, model.settings)


@pytest.fixture
def sylk(runtime: Runtime) -> Iterator[Sylk]:
    made = Sylk(runtime.settings.home)
    yield made
    made.close()


async def done(sylk: Sylk, *arguments: object) -> Any:
    return await asyncio.to_thread(sylk, *arguments)


async def test_a_request_becomes_a_branch_of_reviewed_and_tested_commits(runtime, model, sylk, repo):
    model.moves(
        architect=[call("read_file", path="readme.md"), PLAN],
        engineer=[call("list_files"), WRITTEN, DONE],
        inspector=[APPROVED],
        tester=TESTED,
    )
    ended = await done(sylk, "submit", REQUEST, "--repo", repo, "--yes", "--direct", "--json")
    assert ended.code == 0, ended
    record = ended.document()
    assert (record["status"], list(record["tasks"])) == ("succeeded", ["add_total"]), ended.errors
    assert git(repo, "show", f"{record['branch']}:total.py").startswith("def total")
    assert "def test_total" in git(repo, "show", f"{record['branch']}:tests/test_total.py")
    assert "Sylk-Task: add_total" in git(repo, "log", "-1", "--format=%B", record["branch"])
    assert model.script.left == {}
    for told in ("the Architect plans", "a plan of 1 task(s):", "total adds up its values", "tests: it adds up"):
        assert told in ended.errors


async def test_a_plan_waits_for_a_person_in_the_inbox(runtime, model, sylk, repo):
    other = call("finish", summary="Otherwise.", tasks=[{"name": "add_sum", "prompt": "Write total.py."}])
    model.moves(architect=[PLAN, other], engineer=[WRITTEN, DONE], inspector=[APPROVED], tester=TESTED)
    submitting = sylk.start("submit", REQUEST, "--repo", repo, "--direct")
    told = await asyncio.to_thread(lines_until, submitting, "waits for approval")
    assert any("1. add_total" in line for line in told)
    asked = await _asked(sylk)
    assert asked["asking"]["kind"] == "plan"
    assert "add_total" in (await done(sylk, "inbox")).output
    denied = await done(sylk, "deny", asked["asking"]["id"], "call the task add_sum")
    assert (denied.code, "another plan" in denied.output) == (0, True)
    await asyncio.to_thread(lines_until, submitting, "waits for approval")
    again = await _asked(sylk, besides=asked["asking"]["id"])
    assert (await done(sylk, "approve", again["asking"]["id"][:5])).code == 0
    assert (await asyncio.to_thread(end_of, submitting)).code == 0
    assert (await done(sylk, "inbox")).output.strip() == "nobody is asked anything"
    assert (await done(sylk, "inbox", "--json")).document() == {"inbox": []}
    late = await done(sylk, "approve", again["asking"]["id"])
    assert (late.code, "nothing is asked under" in late.errors) == (2, True)


async def _asked(sylk: Sylk, besides: str = "") -> Any:
    """The only item, when the Guide has heard of it."""
    async with asyncio.timeout(30):
        while True:
            found = (await done(sylk, "inbox", "--json")).document()["inbox"]
            if len(found) == 1 and found[0]["asking"]["id"] != besides:
                return found[0]


async def test_what_one_finds_the_other_mends(runtime, model, sylk, repo):
    wrong = call("write_file", path="total.py", content="def total(values):\n    return values[0]\n")
    found = {"severity": "error", "message": "an empty list raises IndexError", "file": "total.py", "line": 2}
    model.moves(
        architect=[PLAN],
        engineer=[wrong, DONE, WRITTEN, DONE],
        inspector=[call("finish", issues=[found]), APPROVED],
        tester=TESTED,
    )
    ended = await done(sylk, "submit", REQUEST, "--repo", repo, "--yes", "--direct", "--json")
    record = ended.document()
    assert record["tasks"]["add_total"]["loops"]["inspector"] == 1
    assert "return sum(values)" in git(repo, "show", f"{record['branch']}:total.py")


async def test_without_a_model_a_request_says_how_to_set_one(start, repo):
    runtime = await up(start, {})
    sylk = Sylk(runtime.settings.home)
    try:
        refused = await done(sylk, "submit", REQUEST, "--repo", repo, "--direct")
    finally:
        sylk.close()
    assert refused.code == 2
    assert "to plan a request needs a model, and none is configured" in refused.errors
    assert "settings.yaml" in refused.errors


@pytest.mark.timeout(180)
async def test_a_cell_that_is_killed_twice_pays_for_no_call_twice(runtime, model, sylk, repo):
    """Ten calls of the Engineer; its cell dies while tools run."""
    hold = repo.parent / "hold"
    hold.mkdir()
    moves: list[Any] = [call("list_files"), call("read_file", path="readme.md")]
    waits = [f"while [ ! -e {hold}/go-{number} ]; do sleep 0.05; done" for number in (1, 2)]
    moves += [call("run_command", command=command, timeout_s=100) for command in waits]
    moves += [call("search_files", pattern="Sums"), call("write_file", path="notes.txt", content="x")]
    moves += [call("read_file", path="notes.txt"), call("delete_file", path="notes.txt"), WRITTEN, DONE]
    model.moves(architect=[PLAN], engineer=moves, inspector=[APPROVED], tester=TESTED)
    submitting = sylk.start("submit", REQUEST, "--repo", repo, "--yes", "--direct", "--json")
    for number in (1, 2):
        go = f"{hold}/go-{number} "
        first = await until_seen(lambda go=go: running(go))
        [engineer] = await runtime.at_work("engineer")
        [cell] = [each for each in (await runtime.census()).cells if each.cell == engineer.cell]
        os.kill(cell.pid, signal.SIGKILL)
        # What the dead cell left is killed, and the command is run once more; the model is not asked once more.
        await until_seen(lambda go=go, first=first: running(go) - first)
        (hold / f"go-{number}").touch()
    ended = await asyncio.to_thread(end_of, submitting)
    assert ended.code == 0, ended
    assert len(model.script.requests("engineer")) == len(moves) == 10
    assert model.script.left == {}
    # As the server has it, over all roles: each conversation was brought before it once.
    asked = [key_of(each.request) for each in model.server.asked]
    assert len(set(asked)) == len(asked) == 1 + 10 + 1 + 3
