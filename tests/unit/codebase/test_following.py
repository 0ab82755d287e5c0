"""A root kept in step: real files, a real knowledge base."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from sylk_ray.codebase.following import Ask, Outcome, Watcher
from sylk_ray.codebase.requests import AnyAnswer, AnyRequest, Index, Indexed, Progressed
from sylk_ray.codebase.serving import open_codebase
from sylk_ray.errors import InputError

from .serving.owning import own


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    (folder / "a.py").write_text("def parse():\n    pass\n")
    return folder


@asynccontextmanager
async def followed(ask: Ask, root: Path, **more: float) -> AsyncIterator[asyncio.Queue[Outcome]]:
    outcomes: asyncio.Queue[Outcome] = asyncio.Queue()
    stop = asyncio.Event()
    watcher = Watcher(ask, root, report=outcomes.put_nowait, **more)
    task = asyncio.create_task(watcher.run(stop))
    try:
        yield outcomes
    finally:
        stop.set()
        await asyncio.wait_for(task, 20)


async def next_of(outcomes: asyncio.Queue[Outcome]) -> Indexed:
    outcome = await asyncio.wait_for(outcomes.get(), 20)
    assert isinstance(outcome, Indexed), outcome
    return outcome


async def test_everything_is_taken_in_and_then_what_changes(tmp_path: Path, root: Path) -> None:
    with open_codebase(tmp_path / "home", own=own) as codebase:
        async with followed(codebase.ask, root) as outcomes:
            assert (await next_of(outcomes)).added == 1
            (root / "b.py").write_text("def other():\n    pass\n")
            assert (await next_of(outcomes)).files == 2
            (root / "a.py").unlink()
            assert (await next_of(outcomes)).removed == 1


async def test_what_changes_while_it_is_read_comes_next_and_at_once(tmp_path: Path, root: Path) -> None:
    asked: list[Index] = []
    read, written = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    with open_codebase(tmp_path / "home", own=own) as codebase:

        def ask(request: AnyRequest, progress: Callable[[Progressed], None] | None) -> AnyAnswer:
            assert isinstance(request, Index)
            answer = codebase.ask(request, progress)
            asked.append(request)
            if len(asked) == 1:
                loop.call_soon_threadsafe(read.set)
                asyncio.run_coroutine_threadsafe(written.wait(), loop).result(20)
            return answer

        async with followed(ask, root) as outcomes:
            await asyncio.wait_for(read.wait(), 20)
            for name in ("b.py", "c.py"):
                (root / name).write_text("x = 1\n")
            written.set()
            files = 0
            while files < 3:
                files = (await next_of(outcomes)).files
    assert asked[0].only is None
    assert {path for each in asked[1:] for path in each.only or []} == {"b.py", "c.py"}


async def test_what_could_not_be_taken_in_is_tried_again(tmp_path: Path, root: Path) -> None:
    tries = 0

    with open_codebase(tmp_path / "home", own=own) as codebase:

        def ask(request: AnyRequest, progress: Callable[[Progressed], None] | None) -> AnyAnswer:
            nonlocal tries
            tries += 1
            if tries == 1:
                raise InputError("not now")
            return codebase.ask(request, progress)

        async with followed(ask, root, again_s=0.01) as outcomes:
            first = await asyncio.wait_for(outcomes.get(), 20)
            assert isinstance(first, InputError)
            assert (await next_of(outcomes)).added == 1
