from __future__ import annotations

import json
import multiprocessing

import msgspec
import pytest
from typer.testing import CliRunner

from sylk_ray.cli import machine_checks, model_checks, runtime_checks
from sylk_ray.cli.app import app_for
from sylk_ray.cli.examination import Finding, examine, mend
from sylk_ray.cli.leftovers import ray_processes
from sylk_ray.cli.state import RuntimeState, one_at_a_time, read_state, write_state
from sylk_ray.gateway.door import ensure_token
from sylk_ray.sessions import SessionRecord
from tests.unit.sessions.conftest import git, new_repository

GONE = RuntimeState("127.0.0.1:1", "", "http://127.0.0.1:1", 2**22 + 1, 1.0, "packed", "0.1.0")


def found(check, home):
    return {finding.name: finding for finding in check(home)}


@pytest.fixture(autouse=True)
def own_home(monkeypatch, home):
    monkeypatch.setenv("SYLK_HOME", str(home))


def test_a_stale_state_file_is_found_and_removed(home):
    write_state(home, GONE)
    finding = found(runtime_checks.runtime, home)["state file"]
    assert finding.state == "warn"
    assert mend(finding).state == "fixed"
    assert read_state(home) is None


def test_a_home_that_others_can_read_is_found_and_closed(home):
    (home / "token").write_text("t")
    (home / "token").chmod(0o644)
    finding = found(machine_checks.home_directory, home)["state directory"]
    assert finding.state == "fail"
    mend(finding)
    assert found(machine_checks.home_directory, home)["state directory"].state == "ok"


def test_a_home_whose_tokens_a_repository_would_take_in_is_found_and_left_out(tmp_path):
    home = new_repository(tmp_path / "repo", {"a.py": ""}) / ".sylk"
    home.mkdir(mode=0o700)
    ensure_token(home)
    (home / ".gitignore").unlink()
    finding = found(machine_checks.home_directory, home)["state directory"]
    assert finding.state == "warn"
    mend(finding)
    assert found(machine_checks.home_directory, home)["state directory"].state == "ok"
    assert git(home.parent, "status", "--porcelain") == ""


def test_what_a_person_has_git_ignore_in_a_home_is_theirs_to_change(tmp_path):
    home = new_repository(tmp_path / "repo", {"a.py": ""}) / ".sylk"
    home.mkdir(mode=0o700)
    (home / ".gitignore").write_text("logs\n")
    ensure_token(home)
    mended = mend(found(machine_checks.home_directory, home)["state directory"])
    assert mended.state == "fail"
    assert "which is yours" in mended.detail
    assert (home / ".gitignore").read_text() == "logs\n"


def test_a_wrong_setting_is_found(home, monkeypatch):
    (home / "settings.yaml").write_text("densty: packed\n")
    finding = found(machine_checks.settings, home)["settings"]
    assert finding.state == "fail"
    assert "densty" in finding.detail
    assert found(machine_checks.settings, home / "other")["settings"].state in ("ok", "fail")


async def _leave_work(home, repo):
    from sylk_ray.sessions.repository import inspect_repository
    from sylk_ray.sessions.workspace import Workspace

    workspace = Workspace(home, "s-1", "tidy", repo)
    await workspace.create((await inspect_repository(repo)).head)
    await workspace.open_worktree("notes")
    record = SessionRecord("s-1", "tidy", str(repo), "sylk/tidy", "000")
    workspace.directory.session.write_bytes(msgspec.json.encode(record))
    return workspace


def test_worktrees_that_nobody_holds_are_found_and_removed(home, repo):
    import asyncio

    workspace = asyncio.run(_leave_work(home, repo))
    finding = found(runtime_checks.workspaces, home)["worktrees"]
    assert finding.state == "warn"
    assert mend(finding).state == "fixed"
    assert found(runtime_checks.workspaces, home)["worktrees"].state == "ok"
    assert asyncio.run(workspace.head()) is not None


def test_a_check_that_fails_is_a_finding(home, monkeypatch):
    def broken(home):
        raise ValueError("oh")
        yield

    monkeypatch.setattr(machine_checks, "CHECKS", (broken,))
    monkeypatch.setattr(runtime_checks, "CHECKS", ())
    monkeypatch.setattr(model_checks, "CHECKS", ())
    (finding,) = examine(home)
    assert finding.state == "fail"
    assert "oh" in finding.detail


def test_a_fix_that_fails_leaves_the_failure():
    def fix():
        raise OSError("read only")

    assert mend(Finding("x", "warn", "bad", fix=fix)).state == "fail"


def test_doctor_exits_with_1_until_what_failed_is_mended(home, monkeypatch):
    (home / "token").write_text("t")
    (home / "token").chmod(0o644)
    monkeypatch.setattr(machine_checks, "CHECKS", (machine_checks.home_directory,))
    runner, app = CliRunner(), app_for(["doctor"])
    first = runner.invoke(app, ["doctor", "--json"])
    assert first.exit_code == 1
    assert json.loads(first.stdout)["ok"] is False
    assert runner.invoke(app, ["doctor", "--fix"]).exit_code == 0
    assert runner.invoke(app, ["doctor"]).exit_code == 0


def test_nothing_of_another_home_is_taken_for_a_left_over(home):
    assert ray_processes(home) == []


def test_starting_and_ending_wait_for_each_other(home):
    told = []
    context = multiprocessing.get_context("spawn")
    holding, release = context.Event(), context.Event()
    other = context.Process(target=_hold, args=(home, holding, release))
    other.start()
    assert holding.wait(20)

    def tell(line):
        told.append(line)
        release.set()

    with one_at_a_time(home, tell):
        assert told == ["waiting for another sylk that starts or ends this runtime ..."]
    other.join(20)


def _hold(home, holding, release):
    with one_at_a_time(home, print):
        holding.set()
        release.wait(20)


def test_a_state_that_cannot_be_read_is_none(home):
    (home / "runtime.json").write_text("{")
    assert read_state(home) is None
    write_state(home, GONE)
    assert read_state(home) == GONE
    assert (home / "runtime.json").stat().st_mode & 0o077 == 0
