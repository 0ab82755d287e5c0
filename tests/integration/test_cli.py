"""The ``sylk`` command on a real runtime: what it prints, what it ends with, and what it leaves."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest

from sylk_ray.tools import find_tool_processes
from tests.unit.sessions.conftest import git, new_repository

from .command import Done, RayJobs, Sylk, bearer, end_of, http_status, lines_until, processes_with, until
from .job_files import job_in, quick_job, waiting_job

SECRET = "verysecret-7c1f"

NOTES = """
name: notes
vars: {greeting: hello}
tasks:
  notes:
    engineer: [{write: {path: NOTES.md, content: "{{ vars.greeting }}\\n"}}]
  more:
    depends_on: [notes]
    engineer: [{run: "echo made by a tool; cat NOTES.md > MORE.md"}]
    tester: grep -q . MORE.md
"""
FAILING = "name: failing\ntasks:\n  broken: {engineer: [{write: {path: x, content: x}}], tester: 'echo no; exit 3'}\n"


class Runtime(NamedTuple):
    """A runtime of this module's own, how the two commands ended that were to start it at once, and in which folder."""

    sylk: Sylk
    ups: list[Done]
    folder: Path


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    folder = tmp_path_factory.mktemp("modules")
    for name in ("contextlib", "msgspec", "colorsys"):
        (folder / f"{name}.py").write_text(f"open({str(folder / 'ran')!r}, 'w')\n")
    sylk = Sylk(tmp_path_factory.mktemp("cli") / "a höme", folder, AWS_SECRET_ACCESS_KEY=SECRET)
    both = [sylk.start("up", "--num-cpus", 4, "--json") for _ in range(2)]
    try:
        ups = [end_of(process) for process in both]
        assert [up.code for up in ups] == [0, 0], ups
        yield Runtime(sylk, ups, folder)
    finally:
        down = sylk("down")
        sylk.close()
    assert down.code == 0, down


@pytest.fixture
def sylk(runtime: Runtime) -> Sylk:
    return runtime.sylk


@pytest.fixture
def ray_jobs(sylk: Sylk) -> RayJobs:
    return RayJobs(sylk)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "my próject", {"one.txt": "1\n"})


@pytest.fixture
def job_file(tmp_path: Path) -> Path:
    return job_in(tmp_path, NOTES)


def traces(sylk: Sylk, repo: Path) -> list[str]:
    """What a job could leave in a repository, among the sessions and among the processes."""
    if not (repo / ".git").exists():
        return sorted(path.name for path in (sylk.home / "sessions").glob("*"))
    return [
        git(repo, "for-each-ref"),
        git(repo, "status", "--porcelain=v2", "--branch"),
        git(repo, "worktree", "list", "--porcelain"),
        *sorted(path.name for path in (sylk.home / "sessions").glob("*")),
    ]


def at_work(sylk: Sylk, role: str) -> list[dict[str, object]]:
    return [agent for agent in sylk.told("ps")["agents"] if agent["role"] == role and agent["state"] == "busy"]


def sessions_with_agents(sylk: Sylk) -> set[object]:
    return {agent["session"] for agent in sylk.told("ps")["agents"]}


# -- the runtime -------------------------------------------------------------------------------------------------


def test_two_that_start_the_runtime_at_once_find_the_same_one(runtime):
    one, two = (up.document() for up in runtime.ups)
    assert sorted([one.pop("started"), two.pop("started")]) == [False, True]
    assert one == two
    again = runtime.sylk("up")
    assert (again.code, again.output.splitlines()[0].split(":")[0]) == (0, "already runs")


def test_nothing_of_the_runtime_takes_a_module_of_the_folder_that_it_is_started_in(runtime, repo, job_file):
    done = runtime.sylk("submit", job_file, "--repo", repo, "--session", "modules")
    assert done.code == 0, done
    assert not (runtime.folder / "ran").exists()


def test_status_tells_how_things_stand(sylk):
    told = sylk.told("status")
    assert told["running"] is True
    assert (told["home"], told["density"], told["silent"]) == (str(sylk.home), "packed", [])
    assert told["cells"] >= 2
    assert told["gateway_url"].startswith("http://127.0.0.1:")


def test_doctor_finds_a_sound_machine_and_a_sound_runtime(sylk):
    told = sylk.told("doctor")
    assert told["ok"] is True
    assert {check["name"]: check["detail"] for check in told["checks"] if check["state"] != "ok"} == {}
    assert {"git", "ray", "confinement", "gateway", "ray head"} <= {check["name"] for check in told["checks"]}


def test_the_gateway_answers_nobody_without_its_token(sylk):
    url = f"{sylk.told('status')['gateway_url']}/jobs"
    token = (sylk.home / "token").read_text().strip()
    assert [http_status(url, headers) for headers in ({}, bearer("wrong"), bearer(token))] == [401, 401, 200]
    for name in ("token", "ray-token"):
        assert (sylk.home / name).stat().st_mode & 0o777 == 0o600


def test_a_stale_state_file_is_told_of_and_mended(sylk, tmp_path):
    stale = Sylk(tmp_path / "stale")
    stale.home.mkdir(mode=0o700)
    state = json.loads((sylk.home / "runtime.json").read_text())
    # Nobody can listen on port 1 or have this process id.
    gone = state | {"gateway_url": "http://127.0.0.1:1", "head_pid": 2**22 + 1}
    (stale.home / "runtime.json").write_text(json.dumps(gone))
    (stale.home / "gateway.json").write_text(json.dumps({"url": gone["gateway_url"], "pid": 1, "version": "0.1.0"}))
    (stale.home / "token").write_text("x")
    (stale.home / "token").chmod(0o600)

    status = stale("status", "--json")
    mended = stale("doctor", "--fix", "--json")
    after = stale("status")

    assert (status.code, status.document()["error"]["code"]) == (3, "runtime_not_reachable")
    assert "runtime.json is of an earlier one" in status.document()["error"]["message"]
    assert "state file" in [check["name"] for check in mended.document()["checks"] if check["state"] == "fixed"]
    assert after.code == 3
    assert "no runtime runs" in after.errors
    assert sylk.told("status")["running"] is True
    stale.close()


# -- jobs that run -----------------------------------------------------------------------------------------------


def test_a_job_through_ray_is_on_its_dashboard_and_leaves_one_document_and_a_branch(sylk, ray_jobs, job_file, repo):
    before = git(repo, "status", "--porcelain=v2", "--branch")

    done = sylk("submit", job_file, "--repo", repo, "--session", "demo", "--set", "greeting=hi", "--wait", "--json")

    assert done.code == 0, done
    document = done.document()
    head = git(repo, "rev-parse", "sylk/demo")
    durations = {document.pop("duration_s"), *(task.pop("duration_s") for task in document["tasks"].values())}
    assert all(isinstance(seconds, float) and seconds > 0 for seconds in durations)
    task = {"state": "succeeded", "attempts": 1, "loops": {"inspector": 0, "tester": 0}, "error": None}
    assert document == {
        "job_id": document["job_id"],
        "session_id": document["session_id"],
        "status": "succeeded",
        "branch": "sylk/demo",
        "commit": head,
        "tasks": {
            "notes": {**task, "files_changed": ["NOTES.md"], "commit": git(repo, "rev-parse", f"{head}~1")},
            "more": {**task, "files_changed": ["MORE.md"], "commit": head},
        },
    }
    assert git(repo, "show", "sylk/demo:MORE.md") == "hi"
    assert git(repo, "status", "--porcelain=v2", "--branch") == before
    assert git(repo, "for-each-ref", "--format=%(refname:lstrip=2)").split() == ["main", "sylk/demo"]

    submission = f"sylk-{document['job_id']}"
    ray_job = until(lambda: ray_jobs.get(submission), lambda job: job["status"] != "RUNNING")
    assert (ray_job["status"], ray_job["metadata"]["branch"]) == ("SUCCEEDED", "sylk/demo")
    logs = ray_jobs.get(f"{submission}/logs")["logs"]
    assert "notes: merged as" in logs
    assert "job succeeded" in logs
    assert "job succeeded" in done.errors


def test_a_failing_job_ends_with_1_and_says_what_failed_and_what_to_do(sylk, tmp_path, repo):
    done = sylk("submit", job_in(tmp_path, FAILING), "--repo", repo, "--direct", "--json")

    assert done.code == 1, done
    document = done.document()
    task = document["tasks"]["broken"]
    assert (document["status"], task["state"]) == ("failed", "failed")
    assert (task["error"]["type"], set(task["error"])) == ("tests_failed", {"type", "message", "hint"})
    assert "exit code 3" in task["error"]["message"]
    assert "on_feedback" in task["error"]["hint"]
    assert document["error"]["type"] == "tasks_failed"
    assert git(repo, "rev-parse", document["branch"]) == git(repo, "rev-parse", "main")


def test_a_failing_job_shows_its_errors_to_a_person(sylk, tmp_path, repo):
    done = sylk("submit", job_in(tmp_path, FAILING), "--repo", repo, "--direct")

    assert done.code == 1
    assert "exit code 3" in done.output
    assert "hint: " in done.output


def test_a_job_that_is_not_waited_for_is_listed_followed_and_cancelled(sylk, tmp_path, repo):
    path, _ = waiting_job(tmp_path)
    told = sylk.told("submit", path, "--repo", repo, "--session", "later", "--no-wait")
    job = told["job_id"]
    assert set(told) == {"job_id", "session_id", "branch", "status"}
    assert sylk.status_of(job) == "running"
    following = sylk.start("logs", job[:6], "--follow")
    lines_until(following, "the tester runs the tests")
    (tester,) = at_work(sylk, "tester")
    assert tester["address"] == f"{told['session_id']}/tester/wait_here"

    cancelled = sylk("cancel", job, "--json")

    assert (cancelled.code, cancelled.document()["status"]) == (0, "cancelled")
    followed = end_of(following)
    assert followed.code == 0
    assert "job cancelled" in followed.output
    assert sylk("cancel", job).output.startswith(f"job {job} was cancelled already")
    kept = sylk.told("logs", job, "--task", "wait_here")["events"]
    assert {event["task"] for event in kept} == {"wait_here"}
    assert find_tool_processes(told["session_id"]) == ()


def test_stopping_the_job_on_rays_dashboard_cancels_it(sylk, ray_jobs, tmp_path, repo):
    path, _ = waiting_job(tmp_path)
    job = sylk.told("submit", path, "--repo", repo, "--no-wait")["job_id"]

    assert ray_jobs.post(f"sylk-{job}/stop") == {"stopped": True}

    assert sylk.until_over(job) == "cancelled"
    assert until(lambda: ray_jobs.get(f"sylk-{job}")["status"], lambda status: status != "RUNNING") == "STOPPED"


def test_a_job_outlives_its_driver(sylk, tmp_path, repo):
    path, release = waiting_job(tmp_path)
    job = sylk.told("submit", path, "--repo", repo, "--no-wait")["job_id"]
    drivers = list(processes_with("sylk_ray.gateway.driver", job))
    assert drivers
    for driver in drivers:
        driver.kill()
    assert sylk.status_of(job) == "running"

    release.touch()

    assert sylk.until_over(job) == "succeeded"


def test_the_same_job_file_submitted_twice_at_once_runs_twice(sylk, job_file, repo):
    both = [sylk.start("submit", job_file, "--repo", repo, "--json") for _ in range(2)]
    one, two = (end_of(process) for process in both)
    assert (one.code, two.code) == (0, 0), (one, two)
    assert one.document()["branch"] != two.document()["branch"]


def test_an_interrupt_in_a_pipe_cancels_the_job_and_leaves_nothing(sylk, tmp_path, repo):
    path, _ = waiting_job(tmp_path)
    submitting = sylk.start("submit", path, "--repo", repo, "--session", "interrupted", "--direct")
    lines_until(submitting, "the tester runs the tests")

    submitting.send_signal(signal.SIGINT)

    done = end_of(submitting)
    assert done.code == 1, done
    assert "job cancelled" in done.output
    assert "Traceback" not in done.output + done.errors
    session = sylk.told("session", "show", "interrupted")["session"]
    assert find_tool_processes(session["id"]) == ()
    assert git(repo, "worktree", "list", "--porcelain").count("worktree ") == 1
    branches = git(repo, "for-each-ref", "--format=%(refname:lstrip=2)").split()
    assert branches == ["main", "sylk/interrupted"]
    until(lambda: sessions_with_agents(sylk), lambda sessions: session["id"] not in sessions)


def test_sessions_are_listed_shown_and_closed(sylk, job_file, repo):
    job = sylk.told("submit", job_file, "--repo", repo, "--session", "tidy", "--direct")
    listed = {session["name"]: session for session in sylk.told("session", "list")["sessions"]}
    shown = sylk.told("session", "show", "tidy")
    assert listed["tidy"] == shown["session"]
    assert (shown["session"]["state"], shown["job"]["job_id"]) == ("completed", job["job_id"])

    closed = sylk.told("session", "close", "tidy", "--delete-branch")

    assert closed["closed"] is True
    assert "tidy" not in [session["name"] for session in sylk.told("session", "list")["sessions"]]
    assert git(repo, "for-each-ref", "--format=%(refname:lstrip=2)").split() == ["main"]


def test_a_secret_of_the_runtimes_environment_is_nowhere_in_its_files(sylk, tmp_path, repo):
    text = """
name: secrets
tasks:
  look:
    engineer: [{run: "env > environment.txt; env"}]
    tester: "env; exit 0"
"""
    job = sylk.told("submit", job_in(tmp_path, text), "--repo", repo, "--session", "secrets")
    artifacts = list((sylk.home / "sessions" / job["session_id"] / "artifacts").rglob("*.log"))
    assert any("PATH=" in path.read_text() for path in artifacts)
    assert SECRET not in git(repo, "show", "sylk/secrets:environment.txt")
    holders = [path for path in sylk.home.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
    assert holders == []


# -- sessions that stay, rest and are switched -------------------------------------------------------------------


def test_a_standing_session_runs_two_jobs_and_the_log_of_each_is_its_own(sylk, tmp_path, repo):
    made = sylk.told("session", "create", "stays", "--repo", repo, "--weight", 2, "--max-pipelines", 3)
    assert (made["standing"], made["group"]) == (True, {"weight": 2.0, "max_pipelines": 3, **dict.fromkeys(LIMITS)})
    jobs = [
        sylk.told("submit", quick_job(tmp_path, word), "--repo", repo, "--session", "stays", "--direct")["job_id"]
        for word in ("one", "two")
    ]

    logs = [sylk("logs", job).output for job in jobs]
    followed = [sylk("logs", job, "--follow").output for job in jobs]

    for told in (logs, followed):
        assert [told[0].count(word) for word in ("one: succeeded", "two: ", "job succeeded")] == [1, 0, 1]
        assert [told[1].count(word) for word in ("one: ", "two: succeeded", "job succeeded")] == [0, 1, 1]
    assert git(repo, "rev-list", "--count", "main..sylk/stays") == "2"
    shown = sylk("session", "show", "stays").output
    assert "it stays when its job is over" in shown
    assert "limits: weight=2 max_pipelines=3" in shown
    changed = sylk("session", "set", "stays", "weight=1", "max_pipelines=none", "cpu_slots=1.5")
    assert (changed.code, changed.output) == (0, "session stays: cpu_slots=1.5\n")
    wrong = sylk("session", "set", "stays", "wieght=3")
    assert (wrong.code, 'did you mean "weight"?' in wrong.errors) == (2, True), wrong
    assert sylk.told("session", "close", "stays")["closed"] is True


LIMITS = ("max_engineers", "cpu_slots", "tokens_per_minute", "token_budget", "memory_mb")


def test_a_job_is_paused_suspended_and_resumed_while_it_is_followed(sylk, tmp_path, repo):
    path, release = waiting_job(tmp_path)
    told = sylk.told("submit", path, "--repo", repo, "--session", "rests", "--direct", "--no-wait")
    job = told["job_id"]
    following = sylk.start("logs", job, "--follow")
    lines_until(following, "the tester runs the tests")

    assert "session rests is paused" in sylk("session", "pause", "rests").output
    lines_until(following, "paused: a person paused its session")
    assert f"job {job} is paused" in sylk("jobs").output
    assert sylk("session", "resume", "rests").output.splitlines()[0] == "session rests is active"
    lines_until(following, "it goes on")

    suspended = sylk("session", "pause", "rests", "--suspend", "--now")
    assert (suspended.code, "its agents are put away" in suspended.output) == (0, True), suspended
    lines_until(following, f"suspended: a person suspended its session; `sylk resume {job}` lets it go on")
    assert find_tool_processes(told["session_id"]) == ()
    assert told["session_id"] not in sessions_with_agents(sylk)
    illegal = sylk("session", "pause", "rests")
    assert illegal.code == 1
    assert "session rests is suspended and cannot become paused" in illegal.errors
    assert f"job {job} is suspended: a person suspended its session; `sylk resume {job}`" in sylk("jobs").output
    release.touch()
    resumed = sylk("resume", job, "--wait", "--json")
    assert (resumed.code, resumed.document()["status"]) == (0, "succeeded"), resumed

    followed = end_of(following)
    assert followed.code == 0
    assert "job succeeded" in followed.output
    over = sylk("resume", job)
    assert (over.code, "there is nothing to resume" in over.errors) == (1, True), over


def test_a_suspended_session_is_closed_without_being_resumed(sylk, tmp_path, repo):
    path, _ = waiting_job(tmp_path)
    told = sylk.told("submit", path, "--repo", repo, "--session", "given-up", "--direct", "--no-wait")
    assert sylk("session", "pause", "given-up", "--suspend", "--now").code == 0

    assert sylk.told("session", "close", "given-up", "--delete-branch")["closed"] is True

    assert sylk.status_of(told["job_id"]) == "cancelled"
    assert git(repo, "for-each-ref", "--format=%(refname:lstrip=2)").split() == ["main"]


def test_the_foreground_session_is_switched_and_told(sylk, repo):
    for name in ("here", "there"):
        sylk.told("session", "create", name, "--repo", repo)
        assert sylk("session", "switch", name).code == 0
    assert sylk("session", "current").output.startswith("there (")
    sylk("session", "switch", "here", "--pause")
    listed = sylk("session", "list").output.splitlines()
    assert [line.split()[:2] for line in listed if line.startswith("*")] == [["*", "here"]]
    assert ["paused (here was switched to)" in line for line in listed if "sylk/there" in line] == [True]
    for name in ("here", "there"):
        sylk.told("session", "close", name)
    assert sylk.told("session", "current") == {"session": None}


def test_top_shows_what_a_job_holds(sylk, tmp_path, repo):
    path, release = waiting_job(tmp_path)
    told = sylk.told("submit", path, "--repo", repo, "--session", "watched", "--direct", "--no-wait")
    until(lambda: at_work(sylk, "tester"), bool)

    shares = until(lambda: sylk.told("top"), lambda told: told["shares"]["leases"])["shares"]
    picture = sylk("top", "--once").output

    lease = f"{told['session_id']}/pipeline/wait_here#1"
    assert lease in [each["key"] for each in shares["leases"]]
    assert "pipelines 1/200" in picture
    assert [line for line in picture.splitlines() if line.startswith("pipeline/wait_here#1") and "watched" in line]
    release.touch()
    sylk.until_over(told["job_id"])


def test_a_session_without_dead_letters_says_so(sylk, repo):
    sylk.told("session", "create", "lettered", "--repo", repo)
    assert sylk.told("dead-letters", "list", "lettered") == {"dead_letters": []}
    assert sylk("dead-letters", "retry", "lettered", "m-1").code == 2
    assert sylk("dead-letters", "list", "nothing").code == 2
    sylk.told("session", "close", "lettered")


def test_following_goes_on_when_the_gateway_is_killed(sylk, tmp_path, repo):
    path, release = waiting_job(tmp_path)
    job = sylk.told("submit", path, "--repo", repo, "--direct", "--no-wait")["job_id"]
    following = sylk.start("logs", job, "--follow")
    lines_until(following, "the tester runs the tests")
    door = json.loads((sylk.home / "gateway.json").read_text())
    gateway = psutil.Process(door["pid"])
    assert gateway.cmdline()[0].startswith("ray::Gateway")

    gateway.kill()

    until(lambda: json.loads((sylk.home / "gateway.json").read_text())["pid"], lambda pid: pid != door["pid"])
    release.touch()
    followed = end_of(following)
    assert followed.code == 0, followed
    assert "job succeeded" in followed.output
    assert "started on branch" not in followed.output


# -- wrong input -------------------------------------------------------------------------------------------------

_TASK = "engineer: [{write: {path: x, content: x}}]"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("name: n\ntasks:\n  a: {engineer: [\n", ["a jöb.yaml:4:1"]),
        (f"name: n\ntasks:\n  a: {{{_TASK}, testr: x}}\n", ["a jöb.yaml:3:", "testr", 'did you mean "tester"']),
        (f"name: n\ntasks:\n  a: {{{_TASK}, retries: lots}}\n", ["a jöb.yaml:3:", "tasks.a.retries", "lots"]),
        (
            f"name: n\ntasks:\n  a: {{{_TASK}, depends_on: [b]}}\n  b: {{{_TASK}, depends_on: [a]}}\n",
            ["a jöb.yaml:3:", "in a circle: a -> b -> a"],
        ),
        (f"name: n\ntasks:\n  first: {{{_TASK}}}\n  b: {{{_TASK}, depends_on: [frist]}}\n", ["frist", "first"]),
    ],
    ids=["syntax", "unknown field", "wrong type", "cycle", "unknown dependency"],
)
def test_a_wrong_job_ends_with_2_names_the_place_and_changes_nothing(sylk, tmp_path, repo, text, told):
    path = job_in(tmp_path, text)
    before = traces(sylk, repo)

    done = sylk("submit", path, "--repo", repo)

    assert (done.code, done.output) == (2, ""), done
    assert [part for part in told if part not in done.errors] == [], done.errors
    assert traces(sylk, repo) == before
    checked = sylk("validate", path, "--json")
    assert (checked.code, checked.document()["error"]["code"]) == (2, "job_problems")


def test_a_job_file_that_is_missing_ends_with_2(sylk, tmp_path, repo):
    done = sylk("submit", tmp_path / "nowhere.yaml", "--repo", repo)
    assert (done.code, done.output) == (2, "")
    assert "nowhere.yaml" in done.errors


def test_a_folder_that_is_no_repository_ends_with_2(sylk, job_file, tmp_path):
    folder = tmp_path / "plain"
    folder.mkdir()
    before = traces(sylk, folder)
    for path, said in ((folder, "not a git repository"), (tmp_path / "none", "there is no folder")):
        done = sylk("submit", job_file, "--repo", path, "--json")
        assert (done.code, said in done.document()["error"]["message"]) == (2, True), done
    assert list(folder.iterdir()) == []
    assert traces(sylk, folder) == before


def test_a_repository_without_a_commit_ends_with_2(sylk, job_file, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    git(empty, "init", "-q")
    before = traces(sylk, empty)
    done = sylk("submit", job_file, "--repo", empty)
    assert done.code == 2
    assert "no commit yet" in done.errors
    assert "commit something first" in done.errors
    assert traces(sylk, empty) == before


def test_a_branch_that_exists_ends_with_2(sylk, job_file, repo):
    git(repo, "branch", "sylk/mine")
    before = traces(sylk, repo)
    done = sylk("submit", job_file, "--repo", repo, "--session", "mine")
    assert done.code == 2
    assert "the branch sylk/mine exists already" in done.errors
    assert traces(sylk, repo) == before


@pytest.mark.parametrize("variables", ["greeting", "=x", "greting=x"])
def test_a_wrong_variable_ends_with_2(sylk, job_file, repo, variables):
    before = traces(sylk, repo)
    done = sylk("submit", job_file, "--repo", repo, "--set", variables)
    assert (done.code, done.output) == (2, ""), done
    assert variables.strip("=x") in done.errors
    assert traces(sylk, repo) == before


@pytest.mark.parametrize(
    "command",
    [
        *(("logs", "j-nothing"), ("cancel", "j-nothing"), ("resume", "j-nothing")),
        *(("session", each, "nothing") for each in ("show", "pause", "resume", "switch", "close")),
        ("session", "set", "nothing", "weight=1"),
    ],
    ids=" ".join,
)
def test_what_is_not_known_ends_with_2(sylk, command):
    done = sylk(*command, "--json")
    error = done.document()["error"]
    assert (done.code, error["exit_code"]) == (2, 2)
    assert "nothing" in error["message"]
    assert "sylk" in error["hint"]


def test_validate_shows_the_layers(sylk, job_file, repo):
    told = sylk.told("validate", job_file, "--repo", repo)
    assert (told["valid"], told["layers"]) == (True, [["notes"], ["more"]])
