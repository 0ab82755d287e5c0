"""Cells of one session that come and go around the same journals."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from sylk_ray.config import Settings
from sylk_ray.runtime import Agent, Host, LocalTransport, Roles, SessionBinding, SystemClock

from .conftest import FakeFleet, FakeRouter


class World:
    """``journals`` gives a cell its way to the journals."""

    def __init__(self, journals: Callable[[], Any], settings: Settings, **roles: type[Agent[Any]]) -> None:
        self.journals = journals
        self.settings = settings
        self.transport = LocalTransport()
        self.roles = Roles({"router": FakeRouter, "fleet": FakeFleet, **roles})
        self.hosts: dict[str, Host] = {}
        self._opened: list[Any] = []

    async def cell(
        self, name: str, *, router: str = "a", fenced: tuple[str, ...] = (), of_session: bool = True
    ) -> Host:
        journals = self.journals()
        self._opened.append(journals)
        host = Host(
            name,
            roles=self.roles,
            transport=self.transport,
            journals=journals,
            clock=SystemClock(),
            settings=self.settings,
        )
        self.hosts[name] = host
        self.transport.join(name, host.receive)
        if of_session:
            await host.open_session(SessionBinding("s", router, fenced=fenced))
        return host

    async def crash(self, name: str) -> None:
        """As kill -9 does it: nothing is said, nothing is finished."""
        host = self.hosts.pop(name)
        self.transport.leave(name)
        host._outbox.send = never  # type: ignore[method-assign]
        for slot in list(host._slots.values()):
            slot.mailbox.clear()
            for task in slot.tasks():
                task.cancel()
        for task in list(host._tasks):
            task.cancel()
        host._slots.clear()
        for other in self.hosts.values():
            other.peer_lost(name)
        await asyncio.sleep(0)

    async def end(self) -> None:
        for host in self.hosts.values():
            await host.stop(grace_s=0)
        for journals in self._opened:
            await journals.close()


async def never(*_: Any) -> None:
    await asyncio.Event().wait()


async def until(look: Callable[[], Awaitable[Any]], good: Callable[[Any], bool]) -> Any:
    async with asyncio.timeout(10):
        while not good(seen := await look()):
            await asyncio.sleep(0.005)
        return seen
