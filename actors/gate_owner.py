"""What the knowledge agent does for the gates of cells: grants leases, shelves snapshots, and tells of writes."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from actors.knowledge_messages import GateChanged, Leased
from sylk_ray.messaging import Address
from sylk_ray.runtime import Context

if TYPE_CHECKING:
    from sylk_ray.knowledge import Domain
    from sylk_ray.knowledge.gate import Push
    from sylk_ray.knowledge.guarding import Guards

FORGET_S = 10.0
"""A cell that has not renewed its lease for so long, several times what one lasts, is told nothing any more."""


class GateOwner:
    """On the agent's loop; what waits for a write in progress does so in a thread."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._loop = asyncio.get_running_loop()
        self._cells: dict[Address, float] = {}
        self._shelved: dict[Domain, str] = {}
        self._shelving = asyncio.Lock()

    async def lease(self, guards: Guards, asked: bytes, cell: Address) -> Leased:
        """For one cell, which is told of every write from now on."""
        from sylk_ray.knowledge.guarding import remote

        self._cells[cell] = self._ctx.clock.now()
        guards.pushed = self._pushed
        names = await self._shelve(guards)
        # The last thing that is done: what is granted counts from now on.
        granted = await asyncio.to_thread(remote.lease, guards, asked)
        return Leased(granted, self._ctx.cell, names)

    async def confirm(self, guards: Guards, said: bytes) -> None:
        """What a cell knows."""
        from sylk_ray.knowledge.guarding import remote

        await asyncio.to_thread(remote.confirm, guards, said)

    async def _shelve(self, guards: Guards) -> dict[str, str]:
        """The snapshots' names by domain. One that is built meanwhile is not found by its readers until they ask
        again."""
        async with self._shelving:
            for domain, (epoch, version, content) in (await asyncio.to_thread(guards.snapshots)).items():
                name = f"gate/{domain.value}/{epoch.hex()}/{version}"
                before = self._shelved.get(domain)
                if before != name:
                    await self._ctx.shelf.put(name, content)
                    self._shelved[domain] = name
                    if before is not None:
                        await self._ctx.shelf.put(before, None)
            return {domain.value: name for domain, name in self._shelved.items()}

    def _pushed(self, domain: Domain, push: Push) -> None:
        """Called by whoever has written, in its thread."""
        from sylk_ray.knowledge.guarding import remote

        # Without a loop there is nobody to tell, and the write goes on all the same.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._tell, GateChanged(remote.pushed(domain, push)))

    def _tell(self, message: GateChanged) -> None:
        now = self._ctx.clock.now()
        self._cells = {cell: at for cell, at in self._cells.items() if now - at < FORGET_S}
        for cell in self._cells:
            self._ctx.notify(cell, message)
