"""Noticing that a cell is dead: at once when its process ends, and after a while when it hangs."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (Ray's own annotations are partly unknown)

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

from ray.exceptions import ActorDiedError, ActorUnavailableError, RayError

from sylk_ray.runtime.cluster.factory import CellHandle

LOOK_EVERY_S = 2.0
_AGAIN_S = 0.5

log = logging.getLogger("sylk.fleet")


class CellWatch:
    """``died`` is told of each dead cell, once, and why. A call that never returns is open at every watched cell: it
    fails the moment the process ends."""

    def __init__(self, silence_s: float, died: Callable[[CellHandle, str], Awaitable[None]]) -> None:
        self._silence_s = silence_s
        self._died = died
        self._watching: dict[str, asyncio.Task[None]] = {}

    def add(self, handle: CellHandle) -> None:
        """Watch a cell from now on."""
        if handle.cell not in self._watching:
            self._watching[handle.cell] = asyncio.create_task(self._watch(handle), name=f"watch of {handle.cell}")

    def remove(self, cell: str) -> None:
        """Watch it no more: its end is wanted, or known."""
        watch = self._watching.pop(cell, None)
        if watch is not None and watch is not asyncio.current_task():
            watch.cancel()

    def close(self) -> None:
        """Watch nothing any more."""
        for cell in list(self._watching):
            self.remove(cell)

    async def _watch(self, handle: CellHandle) -> None:
        ending = asyncio.ensure_future(self._until_ended(handle))
        hanging = asyncio.ensure_future(self._until_silent(handle))
        try:
            done, _ = await asyncio.wait([ending, hanging], return_when=asyncio.FIRST_COMPLETED)
            why = next(iter(done)).result()
        finally:
            ending.cancel()
            hanging.cancel()
        if self._watching.pop(handle.cell, None) is not None:
            await self._died(handle, why)

    async def _until_ended(self, handle: CellHandle) -> str:
        while True:
            try:
                await handle.actor.linger.remote()
            except ActorDiedError as problem:
                return told(problem)
            except RayError as problem:
                log.warning("%s is out of reach, and may come back: %s", handle.cell, told(problem))
            await asyncio.sleep(_AGAIN_S)

    async def _until_silent(self, handle: CellHandle) -> str:
        heard = time.monotonic()
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            try:
                await handle.call("ping", timeout=min(self._silence_s, 10.0))
                heard = time.monotonic()
            except ActorDiedError as problem:
                return told(problem)
            except (TimeoutError, ActorUnavailableError) as problem:
                silent = time.monotonic() - heard
                log.warning("%s has not answered for %.0f s: %r", handle.cell, silent, problem)
                if silent >= self._silence_s:
                    return f"it has answered nothing for {silent:.0f} s"
            except RayError as problem:
                log.warning("%s could not be looked at: %s", handle.cell, told(problem))


def told(problem: RayError) -> str:
    """What Ray says of it, in a line."""
    return str(problem).strip().splitlines()[0]
