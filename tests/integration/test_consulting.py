"""What one session has done, others know: real journals, a real index, real cells, and models that are written down."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import Any

import pytest

from actors.consulting import TOLD_BEFORE
from tests.models import call

from .command import end_of, running, until_seen
from .test_requests import APPROVED, DONE, PLAN, REQUEST, TESTED, WRITTEN, done, model, repo, runtime, sylk

__all__ = ["model", "repo", "runtime", "sylk"]

QUESTION = "How are numbers added up?"
CONSULT = call("consult", question=QUESTION, whom="academic")
RESEARCHED = call("finish", answer="With math.fsum, for floats.", confidence="high", sources=["The library reference"])


async def submit(sylk: Any, repo: Any, *more: object) -> Any:
    ended = await done(sylk, "submit", REQUEST, "--repo", repo, "--yes", "--direct", "--json", *more)
    assert ended.code == 0, ended
    return ended.document()


async def test_what_a_session_did_the_next_ones_agents_are_told(runtime, model, sylk, repo):
    assert (await done(sylk, "index", repo)).code == 0
    moves = {"architect": [PLAN], "inspector": [APPROVED], "tester": TESTED}
    model.moves(engineer=[WRITTEN, DONE], **moves)
    first = await submit(sylk, repo)
    planned = model.script.requests("architect")[0].messages[0].text
    assert "# What was done on this repository before" not in planned

    model.moves(engineer=[CONSULT, WRITTEN, DONE], academic=[RESEARCHED], **moves)
    second = await submit(sylk, repo)
    planned = model.script.requests("architect")[0].messages[0].text
    assert "# What was done on this repository before, and may concern it" in planned
    # Of what is known of the first, nearly all of which has the words of the request.
    lines = [line for line in planned.splitlines() if f", {first['session_id']}, " in line]
    assert len(lines) == TOLD_BEFORE
    assert all("add" in line and "total" in line for line in lines), planned
    assert any(line.startswith("- add total: ") and "(pattern, " in line for line in lines), planned
    (told,) = model.script.told("engineer", 2)
    assert [line.partition(":")[0] for line in told.splitlines() if line.startswith("The ")] == [
        "The librarian",
        "The archivalist",
        "The academic",
    ]
    assert first["session_id"] in told
    assert "With math.fsum, for floats. (confidence: high)" in told

    # A third has it from the second, and asks no model again. A person is told as well, also when all are at rest.
    model.moves(engineer=[CONSULT, WRITTEN, DONE], **moves)
    await submit(sylk, repo)
    assert f"(asked before, in {second['session_id']})" in model.script.told("engineer", 2)[0]
    said = await done(sylk, "say", "--session", first["session_id"], "how did we add up the total before?", "--json")
    (answer,) = said.document()["answers"]
    assert answer["agent"] == "archivalist"
    assert {each["session"] for each in answer["data"]} >= {first["session_id"], second["session_id"]}


@pytest.mark.timeout(180)
async def test_what_the_academic_has_said_is_not_paid_for_again_when_its_cell_dies(runtime, model, sylk, repo):
    hold = repo.parent / "go"
    waits = call("run_command", command=f"while [ ! -e {hold} ]; do sleep 0.05; done", timeout_s=100)
    model.moves(
        architect=[PLAN],
        engineer=[CONSULT, waits, CONSULT, WRITTEN, DONE],
        academic=[RESEARCHED],
        inspector=[APPROVED],
        tester=TESTED,
    )
    submitting = sylk.start("submit", REQUEST, "--repo", repo, "--yes", "--direct", "--json")
    await until_seen(lambda: running(f"{hold} "))
    [engineer] = await runtime.at_work("engineer")
    [cell] = [each for each in (await runtime.census()).cells if each.cell == engineer.cell]
    os.kill(cell.pid, signal.SIGKILL)
    hold.touch()
    ended = await asyncio.to_thread(end_of, submitting)
    assert ended.code == 0, ended
    first, _, again = (model.script.told("engineer", number)[0] for number in (2, 3, 4))
    assert "With math.fsum, for floats." in first
    assert "With math.fsum, for floats." in again
    assert len(model.script.requests("academic")) == 1
