"""Plans that change while they are carried out, on real cells: by a person's word, and by the Architect's."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster import Runtime
from tests.models import call
from tests.unit.sessions.conftest import git

from .command import Sylk
from .test_requests import APPROVED, DONE, WRITTEN, Model, done, model, repo, up

__all__ = ["model", "repo"]

HELD = """
name: held
tasks:
  first:
    engineer: [{{run: "while [ ! -e {hold}/go ]; do sleep 0.05; done; echo 1 > first.txt"}}]
  second: {{engineer: [{{run: "echo 2 > second.txt"}}], depends_on: [first]}}
  third: {{engineer: [{{run: "exit 1"}}], depends_on: [first]}}
"""
MORE = """
- {type: add_node, node_id: fourth, details: {engineer: [{run: "echo 4 > fourth.txt"}], depends_on: [second]}}
- {type: reprioritize, node_id: second, details: {priority: critical}}
"""
REQUEST = """
name: sums
request: Add a function that adds up numbers
finally:
  tester: {run: "grep -q 'return sum' total.py"}
"""


@pytest.fixture
async def runtime(start: Any, model: Model) -> Runtime:
    return await up(start, model.settings)


@pytest.fixture
def sylk(runtime: Runtime) -> Iterator[Sylk]:
    made = Sylk(runtime.settings.home)
    yield made
    made.close()


async def test_a_person_changes_a_plan_that_is_being_carried_out(runtime, sylk, repo, tmp_path):
    hold = tmp_path / "hold"
    hold.mkdir()
    (tmp_path / "held.yaml").write_text(HELD.format(hold=hold))
    (tmp_path / "more.yaml").write_text(MORE)
    submitted = await done(sylk, "submit", tmp_path / "held.yaml", "--repo", repo, "--direct", "--no-wait", "--json")
    job = submitted.document()
    job_id = job["job_id"]
    while not await runtime.at_work("engineer"):
        await asyncio.sleep(0.05)

    wrong = await done(sylk, "plan", "set", job_id, "first", "--after", "second")
    assert (wrong.code, "in a circle" in wrong.errors) == (2, True), wrong
    added = await done(sylk, "plan", "adjust", job_id, tmp_path / "more.yaml", "--json")
    assert list(added.document()["tasks"]) == ["first", "second", "third", "fourth"], added
    skipped = await done(sylk, "plan", "skip", job_id, "third", "--why", "it cannot work")
    assert "third: skipped (it cannot work)" in skipped.output, skipped
    assert "fourth: pending" in (await done(sylk, "plan", "show", job_id[:6])).output
    (hold / "go").touch()

    assert await asyncio.to_thread(sylk.until_over, job_id) == "succeeded"
    assert git(repo, "ls-tree", "--name-only", job["branch"]).split() == [
        *("first.txt", "fourth.txt", "pytest.ini", "readme.md", "second.txt")
    ]
    late = await done(sylk, "plan", "retry", job_id, "third")
    assert (late.code, "is over" in late.errors) == (2, True)


async def test_what_the_sessions_checks_find_becomes_a_fix_graph(runtime, model, sylk, repo, tmp_path):
    plan = call("finish", summary="It.", tasks=[{"name": "add_total", "prompt": "Write total.py.", "criteria": []}])
    fix = call("finish", summary="Sum.", tasks=[{"name": "use_sum", "prompt": "Use sum in total.py.", "criteria": []}])
    clumsy = call("write_file", path="total.py", content="def total(values):\n    return len(values)\n")
    nothing = call("finish", summary="nothing to test", untested="it is trivial")
    model.moves(
        architect=[plan, fix],
        engineer=[clumsy, DONE, WRITTEN, DONE],
        inspector=[APPROVED, APPROVED],
        tester=[nothing, nothing],
    )
    file = tmp_path / "sums.yaml"
    file.write_text(REQUEST)
    ended = await done(sylk, "submit", file, "--repo", repo, "--yes", "--direct", "--json")
    assert ended.code == 0, ended
    record = ended.document()
    assert {name: task["state"] for name, task in record["tasks"].items()} == {
        "add_total": "succeeded",
        "use_sum": "succeeded",
    }
    assert (record["checks"]["state"], record["checks"]["attempts"]) == ("succeeded", 2)
    assert "return sum(values)" in git(repo, "show", f"{record['branch']}:total.py")
    asked = model.script.requests("architect")[1].messages[0].text
    assert "the session's checks failed" in asked
    assert "add_total: succeeded" in asked
    for told in ("the Architect thinks about a change of the plan", "a plan of 1 change(s):", "added: use_sum"):
        assert told in ended.errors
