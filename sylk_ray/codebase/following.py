"""A root's knowledge kept in step with its files for as long as one likes: ``sylk index --watch``.

::

    watcher = Watcher(codebase.ask, root, report=print)
    await watcher.run(stop)
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from pathlib import Path
from typing import cast

from sylk_ray.codebase.debouncing import Batch, Debouncer
from sylk_ray.codebase.requests import AnyAnswer, AnyRequest, Index, Indexed, Progressed
from sylk_ray.codebase.selection import Selection
from sylk_ray.codebase.watching import watch
from sylk_ray.errors import SylkError

AGAIN_S = 10.0
"""After which what could not be taken in is tried again, if nothing changes before."""

Ask = Callable[[AnyRequest, Callable[[Progressed], None] | None], AnyAnswer]
Outcome = Indexed | SylkError


class Watcher:
    """Takes in everything once, and then what changes, in batches; whatever changes meanwhile comes next.

    ``ask`` is called in threads, one at a time. ``report`` is called in the event loop with what each indexing has
    done, or why it could not: then everything is looked at the next time.
    """

    def __init__(
        self,
        ask: Ask,
        root: Path,
        *,
        report: Callable[[Outcome], None],
        progress: Callable[[Progressed], None] | None = None,
        debouncer: Debouncer | None = None,
        again_s: float = AGAIN_S,
    ) -> None:
        """Raises what ``Selection`` raises for what is no folder."""
        self.selection = Selection(root)
        self._ask = ask
        self._report = report
        self._progress = progress
        self._debouncer = debouncer
        self._again_s = again_s
        self._waiting = Batch()
        self._come = asyncio.Event()

    async def run(self, stop: asyncio.Event) -> None:
        """Until ``stop`` is set; an indexing that has begun then is waited for. Raises what watching raises."""
        ready = asyncio.Event()
        watching = asyncio.create_task(self._watch(stop, ready))
        ended = asyncio.create_task(stop.wait())
        try:
            # Watched before it is read, so that nothing is missed between the two.
            await _first(watching, ended, asyncio.create_task(ready.wait()))
            self._add(Batch((), True))
            while not stop.is_set() and not watching.done():
                batch, self._waiting = self._waiting, Batch()
                self._come.clear()
                if batch.paths or batch.everything:
                    await self._take_in(batch)
                await _first(watching, ended, asyncio.create_task(self._come.wait()), within=self._patience())
        finally:
            stop.set()
            ended.cancel()
            await watching

    async def _take_in(self, batch: Batch) -> None:
        only = None if batch.everything else list(batch.paths)
        try:
            done = await asyncio.to_thread(self._ask, Index(root=str(self.selection.root), only=only), self._progress)
        except SylkError as problem:
            self._waiting = Batch((), True)
            self._report(problem)
        else:
            assert isinstance(done, Indexed)
            self._report(done)

    def _patience(self) -> float | None:
        """Something is waiting, without having come: it has failed."""
        return self._again_s if self._waiting.everything and not self._come.is_set() else None

    async def _watch(self, stop: asyncio.Event, ready: asyncio.Event) -> None:
        batches = watch(self.selection, stop=stop, ready=ready, debouncer=self._debouncer)
        async with aclosing(cast("AsyncGenerator[Batch, None]", batches)) as seen:
            async for batch in seen:
                self._add(batch)

    def _add(self, batch: Batch) -> None:
        everything = self._waiting.everything or batch.everything
        paths = () if everything else tuple(sorted({*self._waiting.paths, *batch.paths}))
        self._waiting = Batch(paths, everything)
        self._come.set()


async def _first(*tasks: asyncio.Task[object], within: float | None = None) -> None:
    """Wait for one of them; the last one is given up then."""
    try:
        await asyncio.wait(tasks, timeout=within, return_when=asyncio.FIRST_COMPLETED)
    finally:
        tasks[-1].cancel()
