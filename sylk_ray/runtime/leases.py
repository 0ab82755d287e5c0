"""Asking FairShare for resources, from within a cell, and holding what it grants.

Every cell has a ``Leases``: it passes on what its agents want, and tells FairShare each second what they hold and
wait for, all of it. So nothing is lost for good: a message that was, an answer that was, or FairShare itself, which
finds out again from these reports. A cell that is silent for longer than a lease lasts has lost its leases.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Callable
from typing import Any

from sylk_ray.errors import SylkError
from sylk_ray.fairness import Decision, Granted, Group, Refused, Request, Snapshot
from sylk_ray.messaging import SHARED, Address, Message
from sylk_ray.messaging import Request as Asking
from sylk_ray.runtime.agent import Agent, handler
from sylk_ray.runtime.context import Context
from sylk_ray.runtime.directory import EVERYWHERE as DESK

FAIR_SHARE = Address(SHARED, "fair_share", "main")
HEARTBEAT_S = 1.0
AGAIN_S = 0.2

log = logging.getLogger("sylk.leases")


class NotGranted(SylkError):
    """FairShare refused: as things are it can never be met, or the session has spent its tokens."""

    code = "not_granted"


class Wanted(Message, frozen=True):
    """A cell to FairShare: what is wanted from now on, and what is wanted or held no more."""

    holder: str
    wanted: list[Request]
    given_back: list[str]


class Holding(Message, frozen=True):
    """A cell to FairShare: it lives, and this is all that it holds and waits for."""

    holder: str
    held: list[Request]
    waiting: list[Request]


class Decided(Message, frozen=True):
    """FairShare to a cell's desk."""

    decisions: list[Decision]


class SetShare(Message, frozen=True):
    """The Guide to FairShare: a session is open, with this weight and these limits."""

    session: str
    group: Group


class CloseShare(Message, frozen=True):
    """The Guide to FairShare: nothing of a session is wanted any more."""

    session: str


class GetShares(Asking[Snapshot], frozen=True):
    """Everything that there is to see of FairShare."""


class GetPlace(Asking[str], frozen=True):
    """Where a request is in line, and why, in words."""

    key: str


class _Want:
    """One request, until it is given back. ``decide`` is called with None when it is granted, or with the reason."""

    __slots__ = ("decide", "granted", "request")

    def __init__(self, request: Request, decide: Callable[[str | None], object], *, granted: bool = False) -> None:
        self.request = request
        self.decide = decide
        self.granted = granted


class Leases:
    """All that one cell's agents want and hold. ``tell`` sends to FairShare; ``desk`` gets its answers."""

    def __init__(self, cell: str, tell: Callable[[Message], Any], now: Callable[[], float]) -> None:
        self._cell = cell
        self._tell = tell
        self._now = now
        self._wants: dict[str, _Want] = {}
        self._news: list[Request] = []
        self._given_back: list[str] = []
        self._sending: asyncio.Task[None] | None = None
        self._due = asyncio.Event()

    def want(self, request: Request, decide: Callable[[str | None], object]) -> None:
        """Ask for it. ``decide`` is called with None once it is granted, or with the reason why it never will be."""
        if request.at == 0.0:
            request = _at(request, self._now())
        self._wants[request.key] = _Want(request, decide)
        self._news.append(request)
        self._send_soon()

    def claim(self, request: Request, decide: Callable[[str | None], object]) -> None:
        """What it is for goes on already, since before this cell's time: FairShare is told, not asked."""
        self._wants[request.key] = _Want(_at(request, self._now()), decide, granted=True)
        self._send_soon()

    def give_back(self, key: str) -> None:
        """It is not wanted, or held, any more."""
        if self._wants.pop(key, None) is not None:
            self._news = [request for request in self._news if request.key != key]
            self._given_back.append(key)
            self._send_soon()

    @contextlib.asynccontextmanager
    async def held(self, request: Request) -> AsyncGenerator[None]:
        """Wait for it, hold it, and give it back. Raises NotGranted."""
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def decide(reason: str | None) -> None:
            if granted.done():
                return
            if reason is None:
                granted.set_result(None)
            else:
                granted.set_exception(NotGranted(reason, hint="see `sylk top`, and `sylk session set`"))

        self.want(request, decide)
        try:
            await granted
            yield
        finally:
            self.give_back(request.key)

    def take(self, decisions: list[Decision]) -> None:
        """What FairShare has decided."""
        for decision in decisions:
            want = self._wants.get(decision.key)
            if want is None:
                continue
            if isinstance(decision, Granted):
                if not want.granted:
                    want.granted = True
                    want.decide(None)
            elif isinstance(decision, Refused):
                del self._wants[decision.key]
                want.decide(decision.reason)
            else:
                # It is at work all the same: the next report claims it again.
                log.warning("the lease %s was lost for a moment: %s", decision.key, decision.reason)

    def close(self) -> None:
        """Tell nothing any more."""
        if self._sending is not None:
            self._sending.cancel()

    def _send_soon(self) -> None:
        self._due.set()
        if self._sending is None or self._sending.done():
            self._sending = asyncio.get_running_loop().create_task(self._send(), name="leases")

    async def _send(self) -> None:
        """One message at a time, in order: news at once, and a report each HEARTBEAT_S for as long as there is
        anything to report. Only news takes over what another cell held; a report does not."""
        reported = 0.0
        while self._wants or self._given_back:
            news, given_back = self._news, self._given_back
            self._news, self._given_back = [], []
            self._due.clear()
            try:
                if news or given_back:
                    await self._tell(Wanted(self._cell, news, given_back))
                    news, given_back = [], []
                if self._now() - reported >= HEARTBEAT_S:
                    wants = self._wants.values()
                    held = [want.request for want in wants if want.granted]
                    await self._tell(Holding(self._cell, held, [want.request for want in wants if not want.granted]))
                    reported = self._now()
            except SylkError as error:
                log.info("fair share is out of reach: %s", error)
                self._news = [*(request for request in news if request.key in self._wants), *self._news]
                self._given_back = [*given_back, *self._given_back]
                await asyncio.sleep(AGAIN_S)
                continue
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(0.01, reported + HEARTBEAT_S - self._now())):
                    await self._due.wait()


def _at(request: Request, now: float) -> Request:
    return Request(request.key, request.session, request.demand, request.lane, now, request.tokens)


class LeaseDesk(Agent[None]):
    """Takes FairShare's answers for its cell: ``shared/leases/<cell>``."""

    role = DESK

    @handler()
    async def decided(self, message: Decided, ctx: Context) -> None:
        """Pass them on."""
        ctx.leases.take(message.decisions)
