"""Jobs end to end: real Ray, real git, real tools."""

from __future__ import annotations

import asyncio
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from sylk_ray.errors import InputError
from sylk_ray.jobs import load_job
from sylk_ray.sessions import JobRecord, JobState
from sylk_ray.sessions.messages import GUIDE, CancelJob, EndSession, ListSessions, StartJob, SubmitJob
from tests.unit.sessions.conftest import git, write

PATHLIB = """
name: modernise
tasks:
  use_pathlib:
    description: Join paths with pathlib.
    engineer:
      - rewrite: {language: python, files: "*.py", pattern: "os.path.join($A, $B)", to: "Path($A) / $B"}
      - edit: {path: shop.py, old: "import os\\n", new: "import os\\nfrom pathlib import Path\\n"}
    on_feedback:
      - edit: {path: shop.py, old: "import os\\n", new: ""}
    inspector: {tools: [{name: ruff, arguments: [--isolated, --select, F401]}]}
    tester: python -m pytest -q
  notes:
    depends_on: [use_pathlib]
    engineer:
      - write: {path: NOTES.md, content: "changed: {{ tasks.use_pathlib.files_changed | join(', ') }}\\n"}
finally:
  tester: python -m pytest -q
"""


async def test_a_job_leaves_one_tested_commit_a_task_and_nothing_else(shared, repo):
    before = git(repo, "status", "--porcelain=v2", "--branch")
    record = await shared.run(PATHLIB, repo, "demo")
    assert (record.status, record.error) == (JobState.SUCCEEDED, None)
    assert git(repo, "log", "--format=%s", "main..sylk/demo").splitlines() == ["Notes", "Use pathlib"]
    assert "Path('shop') / Path('data') / name" in git(repo, "show", "sylk/demo:shop.py")
    assert "import os" not in git(repo, "show", "sylk/demo:shop.py")
    assert git(repo, "show", "sylk/demo:NOTES.md") == "changed: shop.py"
    task = record.tasks["use_pathlib"]
    assert (task.state, task.loops.inspector, task.loops.tester, task.files_changed) == ("succeeded", 1, 0, ["shop.py"])
    assert record.checks.state == "succeeded"
    assert record.commit == git(repo, "rev-parse", "sylk/demo")
    assert git(repo, "status", "--porcelain=v2", "--branch") == before
    assert git(repo, "worktree", "list", "--porcelain").count("worktree ") == 1
    assert git(repo, "for-each-ref", "--format=%(refname)", "refs/heads").split() == [
        "refs/heads/main",
        "refs/heads/sylk/demo",
    ]


async def test_the_tester_sends_work_back_and_then_passes(shared, repo):
    job = """
name: sent_back
tasks:
  break_it:
    engineer: [{edit: {path: shop.py, old: "'shop'", new: "'store'"}}]
    on_feedback:
      - run: printf '%s' {{ feedback | shquote }} > feedback.txt
      - run: sed -i s/store/shop/ shop.py
    tester: python -m pytest -q
"""
    record = await shared.run(job, repo, "demo")
    assert record.status is JobState.SUCCEEDED
    assert record.tasks["break_it"].loops.tester == 1
    assert record.tasks["break_it"].files_changed == ["feedback.txt"]
    assert "test_path" in git(repo, "show", "sylk/demo:feedback.txt")


async def test_work_that_stays_wrong_fails_after_max_loops(shared, repo):
    job = """
name: hopeless
tasks:
  break_it:
    engineer: [{edit: {path: shop.py, old: "'shop'", new: "'store'"}}]
    on_feedback: [{run: "echo again >> again.txt"}]
    tester: python -m pytest -q
    max_loops: 2
"""
    record = await shared.run(job, repo)
    task = record.tasks["break_it"]
    assert (record.status, task.state, task.loops.tester) == (JobState.FAILED, "failed", 2)
    assert task.error.type == "tests_failed"
    assert task.error.message.startswith("after 2 loops: 1 of 1 test(s) failed:")
    assert "test_shop" in task.error.message
    assert git(repo, "rev-parse", record.branch) == git(repo, "rev-parse", "main")


async def test_a_merge_conflict_is_done_again_on_the_new_head(shared, repo, tmp_path):
    folder = tmp_path / "granted"
    folder.mkdir()
    job = """
name: conflict
tasks:
  first:
    engineer: [{run: "sed -i \\"s/'shop'/'store'/\\" shop.py && while [ ! -e {folder}/began ]; do sleep 0.02; done"}]
  second:
    engineer: [{run: "touch {folder}/began; sleep 1"}, {edit: {path: shop.py, old: "'data'", new: "'info'"}}]
sandbox: {write: ["{folder}"]}
""".replace("{folder}", str(folder))
    record = await shared.run(job, repo, "demo")
    assert record.status is JobState.SUCCEEDED, record
    assert record.tasks["second"].loops.merge + record.tasks["first"].loops.merge == 1
    source = git(repo, "show", "sylk/demo:shop.py")
    assert "'store'" in source
    assert "'info'" in source


async def test_a_write_that_would_discard_others_work_fails_and_names_the_file(shared, repo):
    job = """
name: overwrite
policy: {on_failure: continue_on_failure}
tasks:
  first: {engineer: [{write: {path: new.txt, content: "one\\n"}}, {run: "sleep 0.5"}]}
  second: {engineer: [{write: {path: new.txt, content: "two\\n"}}, {run: "sleep 0.5"}]}
"""
    record = await shared.run(job, repo)
    states = sorted(task.state for task in record.tasks.values())
    assert states == ["failed", "succeeded"]
    (failed,) = [task for task in record.tasks.values() if task.state == "failed"]
    assert "new.txt" in failed.error.message


async def test_cancelling_kills_the_tools_and_leaves_nothing(shared, repo):
    job = """
name: slow
tasks:
  sleeper: {engineer: [{run: "sleep 987 & sleep 987"}]}
  after: {depends_on: [sleeper], engineer: [{write: {path: x, content: x}}]}
"""
    record = await shared.submit(job, repo)

    async def sleeping() -> int:
        return _sleepers("987")

    await shared.until(sleeping, lambda count: count >= 2)
    await shared.ask(GUIDE, CancelJob(record.job_id))
    record = await shared.until_over(record.job_id)
    assert record.status is JobState.CANCELLED
    assert {name: task.state for name, task in record.tasks.items()} == {"sleeper": "cancelled", "after": "cancelled"}
    assert await sleeping() == 0
    await shared.until(lambda: _worktrees(repo), lambda count: count == 1)


async def test_a_command_that_hangs_ends_at_the_tasks_time_limit_and_is_tried_again(shared, repo, tmp_path):
    folder = tmp_path / "granted"
    folder.mkdir()
    job = """
name: hanging
tasks:
  hang: {engineer: [{run: "echo try >> {folder}/tries; sleep 986"}], timeout_s: 1, retries: 1}
policy: {retry_delay_s: 0.1}
sandbox: {write: ["{folder}"]}
""".replace("{folder}", str(folder))
    record = await shared.run(job, repo)
    task = record.tasks["hang"]
    assert (record.status, task.state, task.attempts) == (JobState.FAILED, "failed", 2)
    assert "1 s" in task.reason or "time" in task.reason


async def test_fail_fast_stops_the_others_and_continue_skips_only_dependents(shared, repo):
    job = """
name: failing
policy: {on_failure: POLICY}
tasks:
  bad: {engineer: [{run: "sleep 0.3; exit 3"}]}
  child: {depends_on: [bad], engineer: [{write: {path: a, content: a}}]}
  other: {engineer: [{run: "sleep 2"}, {write: {path: b, content: b}}]}
"""
    fast, on = await asyncio.gather(
        shared.run(job.replace("POLICY", "fail_fast"), repo),
        shared.run(job.replace("POLICY", "continue_on_failure"), repo),
    )
    assert {n: t.state for n, t in fast.tasks.items()} == {"bad": "failed", "child": "skipped", "other": "cancelled"}
    assert {n: t.state for n, t in on.tasks.items()} == {"bad": "failed", "child": "skipped", "other": "succeeded"}
    assert '"bad" failed' in on.tasks["child"].reason
    assert on.tasks["bad"].error.message.endswith("ended with exit code 3; there was no output")
    assert on.error.hint == on.tasks["bad"].error.hint


async def test_an_action_that_matches_nothing_fails_its_task(shared, repo):
    job = (
        "name: n\ntasks:\n  a: {engineer: [{rewrite: {language: python, files: '*.py', pattern: nowhere(), to: x}}]}\n"
    )
    record = await shared.run(job, repo)
    assert (record.status, record.tasks["a"].error.type) == (JobState.FAILED, "nothing_changed")


async def test_the_same_job_submitted_twice_at_once_runs_twice_but_a_named_session_once(shared, repo):
    job = "name: twice\ntasks:\n  a: {engineer: [{write: {path: x, content: x}}, {run: 'sleep 0.5'}]}\n"
    one, two = await asyncio.gather(shared.run(job, repo), shared.run(job, repo))
    assert one.status is two.status is JobState.SUCCEEDED
    assert one.branch != two.branch
    outcomes = await asyncio.gather(
        shared.submit(job, repo, "same"), shared.submit(job, repo, "same"), return_exceptions=True
    )
    assert sum(isinstance(outcome, InputError) for outcome in outcomes) == 1
    (record,) = [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]
    assert (await shared.until_over(record.job_id)).status is JobState.SUCCEEDED


async def test_work_that_nothing_is_declared_to_improve_is_not_sent_back(shared, repo):
    job = """
name: unanswered
policy: {on_failure: continue_on_failure}
tasks:
  tested: {engineer: [{write: {path: x, content: x}}], tester: "echo wrong; exit 1"}
  inspected: {engineer: [{write: {path: y, content: y}}], inspector: {forbid: [y]}}
"""
    record = await shared.run(job, repo)
    tested, inspected = record.tasks["tested"], record.tasks["inspected"]
    assert (tested.error.type, inspected.error.type) == ("tests_failed", "inspection_failed")
    assert (tested.loops.tester, inspected.loops.inspector) == (0, 0)
    assert "on_feedback" in tested.error.hint
    assert record.error.message == "tested, inspected failed"
    assert record.error.hint == ""


async def test_a_tool_that_is_not_installed_is_named_with_how_to_install_it(shared, repo):
    job = "name: m\ntasks:\n  a: {engineer: [{write: {path: x, content: x}}], tester: {run: [no-such-tool-42]}}\n"
    record = await shared.run(job, repo)
    assert record.tasks["a"].error.type == "tool_missing"
    assert "no-such-tool-42" in record.tasks["a"].error.message


async def test_tools_see_no_secrets_and_cannot_write_outside(shared, repo, tmp_path, monkeypatch):
    outside = tmp_path / "outside"
    outside.mkdir()
    job = f"""
name: escape
policy: {{on_failure: continue_on_failure}}
tasks:
  environment: {{engineer: [{{run: "env > environment.txt"}}]}}
  touch: {{engineer: [{{run: "echo x > {outside}/x"}}]}}
  dots: {{engineer: [{{write: {{path: ../../x, content: x}}}}]}}
"""
    record = await shared.run(job, repo, "demo")
    assert {n: t.state for n, t in record.tasks.items()} == {
        "environment": "succeeded",
        "touch": "failed",
        "dots": "failed",
    }
    environment = git(repo, "show", "sylk/demo:environment.txt")
    assert "RAY_AUTH" not in environment
    assert "TOKEN" not in environment
    assert list(outside.iterdir()) == []


async def test_a_closed_session_leaves_nothing_behind(shared, repo):
    record = await shared.submit("name: c\ntasks:\n  a: {engineer: [{run: 'sleep 985'}]}\n", repo, "demo")
    await shared.until(lambda: _worktrees(repo), lambda count: count == 2)
    session = await shared.ask(GUIDE, EndSession("demo", True))
    assert session.closed
    assert await _worktrees(repo) == 1
    assert git(repo, "for-each-ref", "--format=%(refname)", "refs/heads") == "refs/heads/main"
    assert await shared.ask(GUIDE, ListSessions()) == []
    assert (await shared.job(record.job_id)).status is JobState.CANCELLED


async def test_twelve_sessions_at_once_on_one_repository(shared, repo):
    write(repo, {"dirty.txt": "d"})
    job = "name: many\ntasks:\n" + "".join(
        f"  t{n}: {{engineer: [{{write: {{path: 'f{n}', content: '{n}'}}}}]}}\n" for n in range(4)
    )
    started = time.monotonic()
    records = await asyncio.gather(*(shared.run(job, repo) for _ in range(12)))
    assert [record.status for record in records] == [JobState.SUCCEEDED] * 12
    for record in records:
        assert git(repo, "rev-list", "--count", f"main..{record.branch}") == "4"
    assert time.monotonic() - started < 100
    assert git(repo, "status", "--porcelain") == "?? dirty.txt"


async def _prepared(runtime, repo) -> JobRecord:
    job = load_job("name: p\ntasks:\n  a: {engineer: [{write: {path: x, content: x}}]}\n", source="p")
    return await runtime.ask(GUIDE, SubmitJob(job.model_dump_json(by_alias=True), str(repo), start=False))


async def test_a_job_cancelled_while_it_starts_is_cancelled_and_leaves_nothing(shared, repo):
    for _ in range(3):
        record = await _prepared(shared, repo)
        await asyncio.gather(
            shared.ask(GUIDE, StartJob(record.job_id)), shared.ask(GUIDE, CancelJob(record.job_id, "changed my mind"))
        )
        record = await shared.until_over(record.job_id)
        assert record.status is JobState.CANCELLED
        assert git(repo, "rev-parse", record.branch) == git(repo, "rev-parse", "main")
        session = record.session_id
        await shared.until(shared.census, lambda census, s=session: not any(a.session == s for a in census.agents))


async def test_a_job_started_twice_at_once_runs_once(shared, repo):
    record = await _prepared(shared, repo)
    await asyncio.gather(*(shared.ask(GUIDE, StartJob(record.job_id)) for _ in range(3)))
    record = await shared.until_over(record.job_id)
    assert (record.status, record.tasks["a"].attempts) == (JobState.SUCCEEDED, 1)
    assert git(repo, "rev-list", "--count", f"main..{record.branch}") == "1"


async def test_a_repository_that_goes_away_ends_the_job(packed, repo):
    record = await packed.submit("name: gone\ntasks:\n  a: {engineer: [{run: 'sleep 1'}]}\n", repo)
    await packed.until(lambda: _worktrees(repo), lambda count: count == 2)
    repo.rename(repo.with_name("moved"))
    record = await packed.until_over(record.job_id)
    assert record.status is JobState.FAILED
    assert record.tasks["a"].error is not None


async def test_a_job_whose_cell_is_killed_goes_on_in_another(packed, repo, tmp_path):
    log = tmp_path / "granted" / "log"
    log.parent.mkdir()
    job = f"""
name: k
sandbox: {{write: [{log.parent}]}}
tasks:
  a:
    engineer:
      - run: "echo one >> {log}; echo one > one"
      - run: "echo half > two; echo two >> {log}; test $(grep -c two {log}) = 2 || sleep 984; cat two one > three"
      - run: "echo three >> {log}"
"""
    record = await packed.submit(job, repo)
    await packed.until(lambda: _lines(log), lambda lines: "two" in lines)
    (engineer,) = await packed.at_work("engineer")
    (cell,) = [cell for cell in await packed.cells() if cell.cell == engineer.cell]
    psutil.Process(cell.pid).kill()

    record = await packed.until_over(record.job_id)

    assert (record.status, record.error) == (JobState.SUCCEEDED, None)
    assert await _lines(log) == ["one", "two", "two", "three"]
    assert git(repo, "show", f"{record.branch}:three") == "half\none"
    await packed.until(lambda: _worktrees(repo), lambda count: count == 1)
    assert _sleepers("984") == 0


async def _lines(path: Path) -> list[str]:
    return path.read_text().split() if path.exists() else []


async def test_a_job_right_after_a_cell_died_runs_on_another(start, repo):
    runtime = await start(density="packed", cells=1)
    job = "name: j\ntasks:\n  a: {engineer: [{write: {path: x, content: x}}]}\n"
    assert (await runtime.run(job, repo)).status is JobState.SUCCEEDED
    (cell,) = await runtime.cells()
    psutil.Process(cell.pid).kill()
    record = await runtime.run(job, repo)
    assert (record.status, record.error) == (JobState.SUCCEEDED, None)


@pytest.mark.parametrize("density", ["packed", "session", "dedicated"])
async def test_each_density_runs_the_job_and_shows_its_actors(start, repo, tmp_path, density):
    from ray.util.placement_group import placement_group_table
    from ray.util.state import list_actors

    runtime = await start(density=density, cells=1)
    release = runtime.settings.home / "release"
    job = f"""
name: shown
tasks:
  wait_here:
    engineer: [{{write: {{path: x, content: x}}}}]
    tester: {{run: "while [ ! -e '{release}' ]; do sleep 0.05; done"}}
"""
    record = await runtime.submit(job, repo)
    session = record.session_id
    await runtime.until(
        runtime.census, lambda c: any(a.role == "tester" and a.state == "busy" for a in c.agents), seconds=60
    )

    async def actors() -> dict[str, str]:
        found = await asyncio.to_thread(
            list_actors, address=runtime.head.dashboard_url, filters=[("state", "=", "ALIVE")], detail=True, limit=1000
        )
        return {actor.repr_name: actor.class_name for actor in found}

    shown = await actors()
    if density == "dedicated":
        for class_name, address in {
            "SessionRouter": f"{session}/router/main",
            "Orchestrator": f"{session}/orchestrator/main",
            "Pipeline": f"{session}/pipeline/wait_here",
            "Engineer": f"{session}/engineer/wait_here",
            "Inspector": f"{session}/inspector/wait_here",
            "Tester": f"{session}/tester/wait_here",
        }.items():
            assert shown[f"{class_name}({address})"] == class_name
    elif density == "session":
        assert shown[f"Cell(session {session})"] == "Cell"
    else:
        titles = [cell.title for cell in (await runtime.census()).cells if session in cell.sessions]
        assert any(f"agents of {session}" in title for title in titles), titles
        assert any(name.startswith("Cell(cell-") for name in shown)

        async def named_in_a_title() -> bool:
            looked = await asyncio.to_thread(subprocess.run, ["ps", "-ewwo", "args"], capture_output=True, text=True)
            return f"agents of {session}" in looked.stdout

        await runtime.until(named_in_a_title, bool, seconds=15)
        # The cell is called again and again meanwhile, and Ray writes the title anew each time.
        assert sum([await named_in_a_title() for _ in range(200)]) > 100
    assert shown["System(guide, fleet)"] == "System"
    groups = [group["name"] for group in placement_group_table().values() if group["state"] == "CREATED"]
    assert (f"sylk-{session}" in groups) == (density != "packed")

    release.parent.mkdir(exist_ok=True)
    release.touch()
    record = await runtime.until_over(record.job_id)
    assert record.status is JobState.SUCCEEDED, record

    async def left() -> list[str]:
        alive = [name for name in await actors() if session in name]
        groups = [g["name"] for g in placement_group_table().values() if g["state"] not in ("REMOVED",)]
        return alive + [name for name in groups if session in name]

    await runtime.until(left, lambda names: names == [], seconds=20)


async def test_a_session_without_room_says_what_is_missing(start, repo):
    runtime = await start(density="dedicated", dedicated_agents=100_000, placement_timeout_s=2)
    record = await runtime.run("name: n\ntasks:\n  a: {engineer: [{write: {path: x, content: x}}]}\n", repo)
    assert (record.status, record.error.type) == (JobState.FAILED, "placement_failed")
    assert "100 CPU" in record.error.message
    assert "free now" in record.error.message


def _sleepers(seconds: str) -> int:
    """Processes that are exactly ``sleep SECONDS``."""
    return sum(process.info["cmdline"] == ["sleep", seconds] for process in psutil.process_iter(["cmdline"]))


async def _worktrees(repo) -> int:
    return git(repo, "worktree", "list", "--porcelain").count("worktree ")


async def test_many_tasks_fit_into_few_places_under_dedicated(start, repo):
    runtime = await start(density="dedicated", dedicated_agents=12)
    job = "name: chain\npolicy: {max_concurrency: 1}\ntasks:\n" + "".join(
        f"  t{n}: {{engineer: [{{write: {{path: 'f{n}', content: x}}}}]}}\n" for n in range(4)
    )
    record = await runtime.run(job, repo)
    assert record.status is JobState.SUCCEEDED, record
