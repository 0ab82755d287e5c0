"""What is said to a session while its job runs, on real cells."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import msgspec
import pytest

from sylk_ray.errors import InputError
from sylk_ray.gateway.client import GatewayClient
from sylk_ray.runtime.directory import router_of
from sylk_ray.runtime.journal import read_events
from sylk_ray.sessions import JobRecord, JobState, session_directory
from sylk_ray.sessions.messages import GUIDE
from sylk_ray.speech import Said, Say
from sylk_ray.speech.messages import SayAtRest
from sylk_ray.speech.metrics import GetGlobalRouteMetrics
from tests.cluster import Runtime
from tests.unit.sessions.conftest import git


def job(folder: Path) -> str:
    """The first task waits in its Tester; the second, after the first, would fail in its own; the third only waits."""
    folder.mkdir(exist_ok=True)
    wait = f"while [ ! -e {folder}/go ]; do sleep 0.02; done"
    return f"""
name: talk
tasks:
  first:
    engineer: [{{write: {{path: one.py, content: "one = 1"}}}}]
    tester: {{run: '{wait}'}}
  second:
    depends_on: [first]
    engineer: [{{write: {{path: two.py, content: "two = 2"}}}}]
    tester: {{run: 'exit 1'}}
  endless:
    engineer: [{{run: '{wait}'}}]
  after_endless:
    depends_on: [endless]
    engineer: [{{write: {{path: three.py, content: "three = 3"}}}}]
"""


async def say(runtime: Runtime, record: JobRecord, text: str) -> Said:
    return await runtime.ask(router_of(record.session_id), Say(text))


async def at_work(runtime: Runtime, repo: Path, folder: Path) -> JobRecord:
    """The job, when its first task is being tested and its third runs."""
    record = await runtime.submit(job(folder), repo, "tidy")

    def far_enough(seen: JobRecord) -> bool:
        first, endless = seen.tasks.get("first"), seen.tasks.get("endless")
        return first is not None and first.phase == "testing" and endless is not None and endless.phase == "running"

    return await runtime.until(lambda: runtime.job(record.job_id), far_enough)


async def test_what_a_person_says_of_tasks_changes_the_run_as_said(shared, repo, tmp_path):
    record = await at_work(shared, repo, tmp_path / "granted")

    said = await say(shared, record, '/task fir query "what have you changed?"')
    assert said.well
    assert said.answers[0].data["files_changed"] == ["one.py"]
    assert said.answers[0].data["phase"] == "testing"

    assert (await say(shared, record, "how is the job going?")).answers[0].agent == "orchestrator"
    assert (await say(shared, record, "/task second ignore_tester we know")).well
    assert (await say(shared, record, '/task first prompt "be quick"')).answers[0].error.type == "needs_model"
    assert (await say(shared, record, "/task endless interrupt")).well
    assert (await say(shared, record, "/task first ignore_tester")).well

    over = await shared.until_over(record.job_id)
    assert {name: task.state for name, task in over.tasks.items()} == {
        "first": "succeeded",
        "second": "succeeded",
        "endless": "cancelled",
        "after_endless": "skipped",
    }
    assert over.tasks["second"].waived == ["tester"]
    assert (over.status, over.error.type) == (JobState.FAILED, "tasks_interrupted")
    assert git(repo, "show", "sylk/tidy:two.py") == "two = 2"


async def test_a_word_that_was_answered_outlives_every_cell(start, repo, tmp_path):
    runtime = await start(density="packed", cells=2)
    record = await at_work(runtime, repo, tmp_path / "granted")
    assert (await say(runtime, record, "/task second ignore_tester")).well
    assert (await say(runtime, record, "/task first ignore_tester")).well
    for cell in await runtime.cells():
        os.kill(cell.pid, signal.SIGKILL)
    (tmp_path / "granted" / "go").touch()
    over = await runtime.until_over(record.job_id)
    assert {name: task.state for name, task in over.tasks.items()} == dict.fromkeys(over.tasks, "succeeded")


async def test_what_makes_no_sense_is_refused_and_changes_nothing(shared, repo, tmp_path):
    record = await at_work(shared, repo, tmp_path / "granted")
    for wrong in ("/task first", "@to:testr hello", "/tsk first query a", "/task first ignore_testr"):
        with pytest.raises(InputError):
            await say(shared, record, wrong)
    unknown = await say(shared, record, "/task frst interrupt")
    assert (unknown.answers[0].error.type, unknown.answers[0].error.hint) == ("unknown_task", 'did you mean "first"?')
    assert (await shared.job(record.job_id)).status is JobState.RUNNING
    (tmp_path / "granted" / "go").touch()
    over = await shared.until_over(record.job_id)
    assert over.tasks["second"].error.type == "tests_failed"
    assert over.tasks["first"].state == "succeeded"


async def test_inspector_and_tester_look_at_the_branch_when_they_are_asked(shared, repo, tmp_path):
    folder = tmp_path / "granted"
    folder.mkdir()
    text = f"""
name: look
tasks:
  first:
    engineer: [{{write: {{path: bad.py, content: "import os, sys\\ndef one():\\n    return 1\\n"}}}}]
    tester: {{run: 'python -c "import bad" && python -m pytest -q'}}
  endless:
    depends_on: [first]
    engineer: [{{run: 'while [ ! -e {folder}/go ]; do sleep 0.02; done'}}]
"""
    record = await shared.submit(text, repo, "tidy")
    await shared.until(
        lambda: shared.job(record.job_id), lambda job: job.tasks and job.tasks["endless"].phase == "running"
    )
    found, tests = await asyncio.gather(say(shared, record, "/lint bad.py"), say(shared, record, "/test test_shop.py"))
    assert {issue["file"] for issue in found.answers[0].data["issues"]} == {"bad.py"}
    assert (tests.answers[0].data["passed"], tests.answers[0].data["tests_run"]) == (True, 1)
    results = await say(shared, record, "@to:tester did the tests pass?")
    assert results.answers[0].data["results"]["first"]["passed"]
    covered = await say(shared, record, "/coverage")
    assert (
        covered.answers[0].text
        == "first: 2 of 3 changed statement(s) were seen to run, 67%\n  not seen to run: bad.py:3"
    )
    kept = git(repo, "worktree", "list", "--porcelain").count("worktree ")
    assert kept == 2, "the repository's own, and that of the task at work: none that was only looked at"
    (folder / "go").touch()
    assert (await shared.until_over(record.job_id)).status is JobState.SUCCEEDED

    async def at_rest(text: str) -> Said:
        return await shared.ask(GUIDE, SayAtRest(record.session_id, text))

    assert (await at_rest("did the tests pass?")).answers[0].data["results"]["first"]["passed"]
    assert (await at_rest("/coverage")).answers[0].text == covered.answers[0].text


async def test_an_issue_that_a_person_accepts_is_kept_apart_and_holds_nothing_up(shared, repo, tmp_path):
    folder = tmp_path / "granted"
    folder.mkdir()
    text = f"""
name: accepted
tasks:
  first:
    engineer: [{{write: {{path: one.py, content: "one = 1  # TODO: two\\n"}}}}]
    on_feedback: [{{run: 'while [ ! -e {folder}/go ]; do sleep 0.02; done'}}]
    inspector:
      tools:
        - &todo
          name: todo
          run: grep -n TODO {{files}} /dev/null
          pattern: '^(?P<file>[^:]+):(?P<line>\\d+):(?P<message>.*)$'
finally:
  inspector: {{tools: [*todo]}}
"""
    record = await shared.submit(text, repo, "tidy")
    sent_back = await shared.until(
        lambda: shared.job(record.job_id), lambda job: bool(job.tasks) and job.tasks["first"].loops.inspector == 1
    )
    assert sent_back.tasks["first"].phase == "running"
    listed = await say(shared, record, "/issues")
    ((issue,),) = listed.answers[0].data["issues"].values()
    name = issue.partition(":")[0]
    wrong = await say(shared, record, f"/override {name[:-1]} why")
    assert wrong.answers[0].error.hint == "see /issues"
    said = await say(shared, record, f"/override {name} it is for later")
    assert said.answers[0].text.startswith(f"first may pass with {name}: one.py:1: ")
    assert "already" in (await say(shared, record, f"/override {name}")).answers[0].text
    assert (await say(shared, record, "/issues")).answers[0].data["issues"] == {}
    (folder / "go").touch()
    over = await shared.until_over(record.job_id)
    assert (over.status, over.tasks["first"].loops.inspector) == (JobState.SUCCEEDED, 1)
    ((kept),) = over.tasks["first"].overridden
    assert (kept.issue, kept.reason) == (name, "it is for later")
    at_rest = await shared.ask(GUIDE, SayAtRest(record.session_id, "/issues"))
    accepted = {"first": [str(kept)], "session-checks": [str(kept)]}
    assert at_rest.answers[0].data == {"issues": {}, "overridden": accepted}


async def test_a_task_that_waits_to_be_let_in_says_where_it_is_in_line(start, repo, tmp_path):
    runtime = await start(density="packed", cells=2, max_pipelines=1)
    folder = tmp_path / "granted"
    folder.mkdir()
    wait = f"engineer: [{{run: 'while [ ! -e {folder}/go ]; do sleep 0.02; done'}}]"
    record = await runtime.submit(f"name: line\ntasks:\n  one: {{{wait}}}\n  two: {{{wait}}}\n", repo, "tidy")
    await runtime.until(lambda: runtime.at_work("engineer"), lambda agents: len(agents) == 1)
    told = [(await say(runtime, record, f"/task {name} query where")).answers[0].text for name in ("one", "two")]
    assert sum("waits to be let in: 1st in line in its session" in each for each in told) == 1
    (folder / "go").touch()
    assert (await runtime.until_over(record.job_id)).status is JobState.SUCCEEDED


async def test_a_job_keeps_the_trace_of_its_submission_whoever_lets_it_go_on(start, repo, tmp_path):
    """Each request to the gateway begins a trace of its own."""
    packed = await start(gateway=True, density="packed", cells=2)
    http = GatewayClient(packed.settings.home)
    folder = tmp_path / "granted"
    folder.mkdir()
    text = f"""
name: traced
sandbox: {{write: [{folder}]}}
tasks:
  first: {{engineer: [{{run: 'while [ ! -e {folder}/go ]; do sleep 0.02; done'}}]}}
  second: {{depends_on: [first], engineer: [{{run: 'echo "$TRACEPARENT" > {folder}/trace'}}]}}
"""
    body = {"job": text, "repo": str(repo), "session": "tidy"}
    record = msgspec.convert(await asyncio.to_thread(http.post, "/jobs", body), JobRecord)
    await packed.until(lambda: packed.at_work("engineer"), lambda agents: len(agents) == 1)
    await asyncio.to_thread(http.post, "/sessions/tidy/pause")
    (folder / "go").touch()
    await packed.until(lambda: packed.job(record.job_id), lambda job: job.tasks["first"].state == "succeeded")
    await asyncio.to_thread(http.post, "/sessions/tidy/resume")
    over = await packed.until_over(record.job_id)
    assert over.status is JobState.SUCCEEDED
    assert len(over.trace) == 32
    events = read_events(session_directory(packed.settings.home, record.session_id) / "journal.db")
    traces = {event.trace for event in events if event.kind in ("task.state", "action.done", "pipeline.phase")}
    assert traces == {over.trace}
    assert (folder / "trace").read_text().split("-")[1] == over.trace


async def test_sessions_know_nothing_of_each_others_conversations(packed, repo, tmp_path):
    one = await at_work(packed, repo, tmp_path / "granted")
    two = await packed.submit(job(tmp_path / "granted"), repo, "other")
    await packed.until(lambda: packed.job(two.job_id), lambda seen: bool(seen.tasks))
    await say(packed, one, "how is the job going?")
    again = await say(packed, two, "how is the job going?")
    # The route may be known from the other session; whose job it is must not be.
    assert two.job_id in again.answers[0].text
    assert one.job_id not in again.answers[0].text
    metrics = await packed.ask(GUIDE, GetGlobalRouteMetrics())
    by_session = {each.session: each.counts.said for each in metrics.sessions}
    assert (by_session[one.session_id], by_session[two.session_id]) == (1, 1)
    assert metrics.counts.said == 2
    (tmp_path / "granted" / "go").touch()
    await packed.until_over(one.job_id)
    await packed.until_over(two.job_id)
