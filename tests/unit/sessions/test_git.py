from __future__ import annotations

import asyncio

import pytest

from sylk_ray.sessions import git as module
from sylk_ray.sessions.git import Git, GitFailed

from .conftest import git

SLOW_FILTER = "touch started; while [ ! -e go ]; do sleep 0.01; done; cat"


@pytest.fixture
def slow(repo):
    """A repository in which `git add` waits for a file to appear."""
    git(repo, "config", "filter.slow.clean", SLOW_FILTER)
    (repo / ".git/info").mkdir(exist_ok=True)
    (repo / ".git/info/attributes").write_text("slow.txt filter=slow\n")
    (repo / "slow.txt").write_text("x\n")
    return repo


async def until_started(repo) -> None:
    while not (repo / "started").exists():
        await asyncio.sleep(0.01)


async def test_a_cancelled_command_comes_to_its_end_and_leaves_no_lock(slow):
    adding = asyncio.create_task(Git(slow).run("add", "slow.txt"))
    await until_started(slow)
    adding.cancel()
    await asyncio.sleep(0)
    (slow / "go").touch()
    with pytest.raises(asyncio.CancelledError):
        await adding
    assert list((slow / ".git").rglob("*.lock")) == []
    assert "slow.txt" in git(slow, "ls-files")


async def test_a_command_that_hangs_is_ended_with_a_clear_error_and_leaves_no_lock(slow, monkeypatch):
    monkeypatch.setattr(module, "LIMIT_S", 0.3)
    with pytest.raises(GitFailed, match=r"did not end within 0\.3 s"):
        await Git(slow).run("add", "slow.txt")
    assert list((slow / ".git").rglob("*.lock")) == []


@pytest.mark.parametrize("turns", range(6))
async def test_one_that_is_cancelled_while_it_starts_comes_to_its_end_too(slow, turns):
    adding = asyncio.create_task(Git(slow).run("add", "slow.txt"))
    for _ in range(turns):
        await asyncio.sleep(0)
    adding.cancel()
    (slow / "go").touch()
    with pytest.raises(asyncio.CancelledError):
        await adding
    assert list((slow / ".git").rglob("*.lock")) == []
    if turns:  # before its first turn a task has begun nothing
        assert "slow.txt" in git(slow, "ls-files")
