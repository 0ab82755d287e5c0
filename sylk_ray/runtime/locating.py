"""Finding the cell of an agent that this cell has not heard of."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from sylk_ray.messaging import SHARED, Address, DeadlinePassed, Request
from sylk_ray.runtime.directory import FLEET, ROUTER, Directory, LocateSession, PlaceShared, Resolve, router_of

AskAnyone = Callable[[Address, Request[Any], float], Awaitable[Any]]


class Locator:
    """Asks the session's router, and the fleet for a router or for a shared agent that has a cell to itself; the
    directory keeps what they say.

    Senders to one address that is being looked for wait in line, so that their messages leave in order: whoever
    comes while others wait goes behind them, even if the answer has just come.
    """

    def __init__(self, directory: Directory, ask: AskAnyone) -> None:
        self._directory = directory
        self._ask = ask
        self._lines: dict[Address, tuple[asyncio.Lock, int]] = {}

    async def cell_of(self, target: Address, timeout: float) -> str:
        """The cell of an address; raises UnknownAddress, or DeadlinePassed after ``timeout`` seconds."""
        if target not in self._lines:
            known = self._directory.route(target)
            if known is not None:
                return known
        lock, waiting = self._lines.get(target, (asyncio.Lock(), 0))
        self._lines[target] = (lock, waiting + 1)
        try:
            async with asyncio.timeout(timeout), lock:
                return self._directory.route(target) or await self._find(target, timeout)
        except TimeoutError:
            raise DeadlinePassed(
                f"nobody said within {timeout:g} s where {target} lives", hint="the system may be busy: `sylk status`"
            ) from None
        finally:
            lock, waiting = self._lines[target]
            if waiting > 1:
                self._lines[target] = (lock, waiting - 1)
            else:
                del self._lines[target]

    async def _find(self, target: Address, timeout: float) -> str:
        if target.session == SHARED:
            located = await self._ask(FLEET, PlaceShared(target.role), timeout)
            self._directory.learn(target, located.cell)
            return located.cell
        if target.role == ROUTER or self._directory.binding(target.session) is None:
            # Only the fleet knows where a router lives: asking the router for itself would wait for ever.
            binding = await self._ask(FLEET, LocateSession(target.session), timeout)
            self._directory.bind(binding)
            if (route := self._directory.route(target)) is not None:
                return route
        located = await self._ask(router_of(target.session), Resolve(target.role, target.name), timeout)
        self._directory.learn(target, located.cell)
        return located.cell
