"""Telling the Guide how a job is going, and that it is over."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from actors.job_messages import EndTold
from sylk_ray.errors import SylkError
from sylk_ray.messaging import SessionClosed
from sylk_ray.runtime import Context
from sylk_ray.runtime.directory import router_of
from sylk_ray.runtime.history import ReadHistory
from sylk_ray.sessions import JobRecord
from sylk_ray.sessions.messages import GUIDE, JobEnded, JobProgress

REPORT_EVERY_S = 0.5
_AGAIN_S = (0.5, 2.0, 10.0, 30.0)


class JobReports:
    """``record`` gives the job's record as it is now; None once there is nothing more to report."""

    def __init__(self, ctx: Context, record: Callable[[], JobRecord | None]) -> None:
        self._ctx = ctx
        self._record = record
        self._reporting: asyncio.Task[None] | None = None
        self._ending: asyncio.Task[None] | None = None
        self._due = False
        self._reported = 0.0

    def soon(self) -> None:
        """Report at once, but at most each REPORT_EVERY_S: a large job changes far more often."""
        self._due = True
        if self._reporting is None or self._reporting.done():
            self._reporting = asyncio.create_task(self._report())

    def at_once(self) -> None:
        """Report however soon after the last time: whoever has changed something looks at it next."""
        if self._reporting is not None:
            self._reporting.cancel()
            self._reporting = None
        self._reported = -REPORT_EVERY_S
        self.soon()

    def close(self) -> None:
        """Report no more."""
        for task in (self._reporting, self._ending):
            if task is not None:
                task.cancel()

    async def _report(self) -> None:
        while self._due:
            clock = self._ctx.clock
            await clock.sleep(max(0.0, self._reported + REPORT_EVERY_S - clock.now()))
            self._due, self._reported = False, clock.now()
            record = self._record()
            if record is None:
                return
            try:
                await self._ctx.tell(GUIDE, JobProgress(record))
            except SylkError as problem:
                self._ctx.log.warning("the guide did not hear of %s: %s", record.job_id, problem)

    def end(self, record: JobRecord) -> None:
        """Tell the end, in the background, until the Guide has heard; then ``EndTold`` comes to the orchestrator."""
        if self._ending is not None:
            self._ending.cancel()
        self._ending = asyncio.create_task(self._tell_end(record))

    async def _tell_end(self, record: JobRecord) -> None:
        """Who watches hears first: the Guide will close the session."""
        ctx = self._ctx
        with contextlib.suppress(SylkError):
            await ctx.ask(router_of(ctx.address.session), ReadHistory(limit=0), timeout=5)
        pauses = iter(_AGAIN_S)
        while True:
            try:
                await ctx.ask(GUIDE, JobEnded(record))
                await ctx.tell(ctx.address, EndTold(record.job_id))
            except SessionClosed:
                return
            except SylkError as problem:
                ctx.log.warning("the guide did not take the end of %s: %s", record.job_id, problem)
                await ctx.clock.sleep(next(pauses, _AGAIN_S[-1]))
            else:
                return
