from __future__ import annotations

import asyncio
import os
import subprocess
import time

import psutil
import pytest

from sylk_ray.programs import run_program

ENV = {"PATH": os.environ["PATH"]}


async def sh(script: str, cwd, **options):
    options = {"limit_s": 20.0, **options}
    return await run_program(("sh", "-c", script), cwd=cwd, env=ENV, **options)


async def test_what_it_read_and_wrote_and_how_it_ended(tmp_path):
    done = await sh("cat; pwd; echo bad >&2; exit 3", tmp_path, stdin=b"given\n")
    assert (done.returncode, done.stdout, done.stderr) == (3, f"given\n{tmp_path}\n".encode(), b"bad\n")
    done = await sh("echo bad >&2; cat", tmp_path, stderr=subprocess.STDOUT)
    assert (done.stdout, done.stderr) == (b"bad\n", None)


async def test_one_that_cannot_be_started_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        await run_program(("no-such-program",), cwd=tmp_path, env=ENV, limit_s=5)


async def test_many_at_once_all_come_to_their_end(tmp_path):
    done = await asyncio.gather(*(sh(f"sleep 0.05; echo {n}", tmp_path) for n in range(100)))
    assert [each.stdout for each in done] == [b"%d\n" % n for n in range(100)]


async def test_one_that_takes_too_long_is_ended_with_its_children(tmp_path):
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        await sh("sleep 60 & echo $! > child; wait", tmp_path, limit_s=0.3)
    assert time.monotonic() - began < 30
    await until_gone(int((tmp_path / "child").read_text()))


async def test_one_that_does_not_obey_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr("sylk_ray.programs._TERM_S", 0.2)
    with pytest.raises(TimeoutError):
        await sh("trap '' TERM; echo $$ > pid; while true; do sleep 0.05; done", tmp_path, limit_s=0.3)
    await until_gone(int((tmp_path / "pid").read_text()))


async def test_patience_lets_a_cancelled_one_finish(tmp_path):
    running = asyncio.create_task(sh("touch started; sleep 0.3; touch finished", tmp_path, patience_s=20))
    while not (tmp_path / "started").exists():
        await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (tmp_path / "finished").exists()


@pytest.mark.parametrize("turns", range(8))
def test_the_end_of_everything_waits_for_no_program_that_was_just_starting(tmp_path, turns):
    """asyncio's own subprocesses never return from this."""

    async def main() -> None:
        running = asyncio.create_task(sh("sleep 0.01", tmp_path, patience_s=20))
        for _ in range(turns):
            await asyncio.sleep(0)
        assert not running.done()

    asyncio.run(main())


def test_the_end_of_everything_ends_one_that_was_cancelled_before(tmp_path):
    """Patience is for a loop that goes on."""

    async def main() -> None:
        running = asyncio.create_task(sh("echo $$ > pid; exec sleep 60", tmp_path, patience_s=60))
        while not ((tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip()):
            await asyncio.sleep(0.01)
        running.cancel()
        await asyncio.sleep(0.01)

    began = time.monotonic()
    asyncio.run(main())
    assert time.monotonic() - began < 30
    asyncio.run(until_gone(int((tmp_path / "pid").read_text())))


async def until_gone(pid: int) -> None:
    async with asyncio.timeout(20):
        while is_alive(pid):
            await asyncio.sleep(0.01)


def is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
