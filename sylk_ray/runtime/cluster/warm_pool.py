"""Idle cells, kept running so that taking one into use costs milliseconds and not half a second."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Iterable

from ray.exceptions import RayError

from sylk_ray.errors import SylkError
from sylk_ray.runtime.cluster.factory import CellFactory, CellHandle

log = logging.getLogger("sylk.fleet")


class WarmPool:
    """Holds up to ``size`` idle cells and refills itself in the background."""

    def __init__(self, factory: CellFactory, size: int) -> None:
        self._factory = factory
        self._size = size
        self._idle: deque[CellHandle] = deque()
        self.refilling: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def idle(self) -> list[CellHandle]:
        """The cells that wait."""
        return list(self._idle)

    def take_over(self, handles: Iterable[CellHandle]) -> None:
        """Idle cells that another pool has left."""
        self._idle.extend(handles)

    def fill(self) -> None:
        """Bring the pool back to its size, in the background."""
        if not self._closed and (self.refilling is None or self.refilling.done()):
            self.refilling = asyncio.get_running_loop().create_task(self._fill())

    async def adopt(self) -> CellHandle:
        """An idle cell, or a new one when there is none that answers. May raise PlacementFailed."""
        try:
            while self._idle:
                handle = self._idle.popleft()
                try:
                    await handle.call("adopt", timeout=5)
                except (TimeoutError, RayError):
                    log.warning("idle %s does not answer and is replaced", handle.cell)
                    await handle.kill()
                    continue
                return handle
            return await self._factory.create()
        finally:
            self.fill()

    async def _fill(self) -> None:
        while len(self._idle) < self._size and not self._closed:
            try:
                self._idle.append(await self._factory.create())
            except SylkError as error:
                log.warning("the warm pool stays at %d of %d: %s", len(self._idle), self._size, error)
                return

    async def close(self) -> None:
        """End the idle cells."""
        self._closed = True
        if self.refilling is not None:
            self.refilling.cancel()
            await asyncio.wait([self.refilling])
        while self._idle:
            await self._idle.pop().kill()
