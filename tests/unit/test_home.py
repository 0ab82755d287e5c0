"""Where the state directory is, and what keeps it out of the repository that it may lie in."""

from __future__ import annotations

from pathlib import Path

import pytest

from sylk_ray.codebase.selection import Selection
from sylk_ray.home import SETTINGS, make_home

from .sessions.conftest import git, new_repository


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "repo", {"a.py": "x = 1\n"})


@pytest.mark.parametrize("before", ["nothing", "a folder", "settings"])
def test_what_is_kept_within_a_repository_is_neither_committed_nor_searched(repo: Path, before: str) -> None:
    home = repo / "state" / "sylk"
    if before != "nothing":
        home.mkdir(parents=True)
    if before == "settings":
        (home / SETTINGS).write_text("log_level: debug\n")
    make_home(home)
    (home / "token").write_text("secret")
    (home / "sessions").mkdir()
    (home / "sessions" / "copy.py").write_text("x = 1\n")
    git(repo, "add", "-A")
    assert git(repo, "status", "--porcelain") == ""
    assert [found.path for found in Selection(repo).walk()] == ["a.py"]


def test_it_is_for_its_user_alone(tmp_path: Path) -> None:
    make_home(tmp_path / "state" / "sylk")
    assert (tmp_path / "state" / "sylk").stat().st_mode & 0o777 == 0o700


def test_a_directory_that_is_in_use_is_not_hidden_from_its_repository(repo: Path) -> None:
    make_home(repo)
    assert not (repo / ".gitignore").exists()
    make_home(repo)
    assert git(repo, "status", "--porcelain") == ""


def test_one_that_could_not_be_written_is_written_the_next_time(repo: Path) -> None:
    home = repo / "state"
    home.mkdir()
    (home / ".gitignore").touch()
    make_home(home)
    assert git(repo, "status", "--porcelain") == ""


def test_what_its_user_changed_stays(tmp_path: Path) -> None:
    make_home(tmp_path / "home")
    (tmp_path / "home" / ".gitignore").write_text("token\n")
    make_home(tmp_path / "home")
    assert (tmp_path / "home" / ".gitignore").read_text() == "token\n"


def test_a_file_in_its_place_is_told(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("")
    with pytest.raises(FileExistsError):
        make_home(tmp_path / "home")
