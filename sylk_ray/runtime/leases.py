"""Asking FairShare for resources, from within a cell, and holding what it grants.

Every cell has a ``Leases``: it passes on what its agents want, and tells FairShare each second what they hold and
wait for, all of it. So nothing is lost for good: a message that was, an answer that was, or FairShare itself, which
finds out again from these reports. A cell that is silent for longer than a lease lasts has lost its leases.

A tool run holds a CPU slot; a call of a model holds one of its provider's calls, and says as it goes what it has used
so far, in all, which is idempotent and may be said as often as is convenient::

    async with ctx.leases.held(Request(key, session, {"cpu": 1.0})):
        ...
    async with ctx.leases.model_call(key, session, "anthropic", estimate=count_tokens(prompt)) as call:
        async for piece in client.stream(prompt):
            call.charge(input=piece.usage.input_tokens, output=piece.usage.output_tokens)

The call waits while its session or its provider has had its tokens a minute, and raises ``TokenBudgetSpent`` when the
session's budget is used up. The ``key`` is the same when the call is made again after a crash.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
import uuid
from collections.abc import AsyncGenerator, Callable
from typing import Any

from msgspec import Struct

from sylk_ray.errors import SylkError
from sylk_ray.fairness import Decision, Granted, Group, Lane, Refused, Request, Snapshot
from sylk_ray.messaging import SHARED, Address, Message, said_by
from sylk_ray.messaging import Request as Asking
from sylk_ray.messaging.trace import NO_TRAIL, follow
from sylk_ray.runtime.agent import Agent, handler
from sylk_ray.runtime.context import Context
from sylk_ray.runtime.directory import DESK

FAIR_SHARE = Address(SHARED, "fair_share", "main")
HEARTBEAT_S = 1.0
AGAIN_S = 0.2
TELL_SPENT_S = 60.0
"""For how long a session's tokens are told again after they changed."""

log = logging.getLogger("sylk.leases")


class NotGranted(SylkError):
    """FairShare refused: as things are it can never be met, or the session has spent its tokens."""

    code = "not_granted"


class TokenBudgetSpent(NotGranted):
    """The session has used all of its tokens."""

    code = "token_budget_spent"


class Usage(Struct, frozen=True):
    """Tokens that the agents of a cell have used. All counts only grow, so that a report may come twice or not at all.

    ``source`` is one life of a cell: what another one has counted is apart.
    """

    source: str = ""
    calls: dict[str, tuple[float, float]] = {}
    """Input and output so far, by the key of the lease."""
    sessions: dict[str, float] = {}
    """In all the life of the source, by session; those that lately changed."""


class Wanted(Message, frozen=True):
    """A cell to FairShare: what is wanted from now on, and what is wanted or held no more."""

    flow = said_by("host", to="fair_share")

    holder: str
    wanted: list[Request]
    given_back: list[str]
    usage: Usage = Usage()


class Holding(Message, frozen=True):
    """A cell to FairShare: it lives, and this is all that it holds and waits for."""

    flow = said_by("host", to="fair_share")

    holder: str
    held: list[Request]
    waiting: list[Request]
    usage: Usage = Usage()


class Decided(Message, frozen=True):
    """FairShare to a cell's desk."""

    flow = said_by("fair_share", to="leases")

    decisions: list[Decision]


class SetShare(Message, frozen=True):
    """The Guide to FairShare: a session is open, with this weight and these limits."""

    flow = said_by("guide", to="fair_share")

    session: str
    group: Group


class CloseShare(Message, frozen=True):
    """The Guide to FairShare: nothing of a session is wanted any more."""

    flow = said_by("guide", to="fair_share")

    session: str


class GetShares(Asking[Snapshot], frozen=True):
    """Everything that there is to see of FairShare."""

    flow = said_by("user", to="fair_share")


class GetPlace(Asking[str], frozen=True):
    """Where a request is in line, and why, in words."""

    flow = said_by("orchestrator", to="fair_share")

    key: str


class _Want:
    """One request, until it is given back. ``decide`` is called with None when it is granted, or with the reason."""

    __slots__ = ("_context", "_decide", "granted", "refused", "request")

    def __init__(self, request: Request, decide: Callable[[str | None], object], *, granted: bool = False) -> None:
        self.request = request
        self.granted = granted
        self.refused: Refused | None = None
        self._decide = decide
        self._context = contextvars.copy_context()

    def decide(self, reason: str | None) -> None:
        """Tell whoever wants it."""
        self._context.run(self._decide, reason)


class ModelCall:
    """A call of a model that FairShare has let in."""

    def __init__(self, key: str, session: str, spend: Callable[[str, str, tuple[float, float], float], None]) -> None:
        self._key = key
        self._session = session
        self._spend = spend
        self.input = 0.0
        self.output = 0.0

    def charge(self, *, input: float = 0, output: float = 0) -> None:
        """The call has used so many tokens *so far*: what is left out, or is less than was said before, stays."""
        before = self.input + self.output
        self.input, self.output = max(self.input, input), max(self.output, output)
        self._spend(self._key, self._session, (self.input, self.output), self.input + self.output - before)


class Leases:
    """All that one cell's agents want and hold. ``tell`` sends to FairShare; ``desk`` gets its answers. What is decided
    is passed on in the context of whoever wanted it, and so with their trace."""

    def __init__(self, cell: str, tell: Callable[[Message], Any], now: Callable[[], float]) -> None:
        self._cell = cell
        self._tell = tell
        self._now = now
        self._wants: dict[str, _Want] = {}
        self._news: list[Request] = []
        self._given_back: list[str] = []
        self._sending: asyncio.Task[None] | None = None
        self._due = asyncio.Event()
        self._source = uuid.uuid4().hex[:8]
        self._calls: dict[str, tuple[float, float]] = {}
        self._spent: dict[str, float] = {}
        self._spent_at: dict[str, float] = {}

    def want(self, request: Request, decide: Callable[[str | None], object]) -> None:
        """Ask for it. ``decide`` is called with None once it is granted, or with the reason why it never will be."""
        if request.at == 0.0:
            request = _at(request, self._now())
        self._calls.pop(request.key, None)
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
            elif want.refused is not None and want.refused.over_budget:
                raise_it = f"`sylk session set {request.session} token_budget=N` gives it more"
                granted.set_exception(TokenBudgetSpent(reason, hint=raise_it))
            else:
                granted.set_exception(NotGranted(reason, hint="see `sylk top`, and `sylk session set`"))

        self.want(request, decide)
        want = self._wants[request.key]
        try:
            await granted
            yield
        finally:
            self.give_back(request.key)

    @contextlib.asynccontextmanager
    async def model_call(
        self, key: str, session: str, provider: str, *, estimate: float = 1, lane: Lane = Lane.NORMAL
    ) -> AsyncGenerator[ModelCall]:
        """Wait for one of a provider's calls, and hold it. ``estimate`` is the tokens of its input, charged at once
        and corrected at the end by what was used. Raises TokenBudgetSpent, and NotGranted."""
        request = Request(key, session, {f"model:{provider}": 1.0}, lane, tokens={provider: estimate})
        async with self.held(request):
            call = ModelCall(key, session, self._spend)
            try:
                yield call
            finally:
                # A call that came to nothing has used nothing.
                call.charge()

    def _spend(self, key: str, session: str, call: tuple[float, float], more: float) -> None:
        """It travels with the next message, at the latest when the call ends."""
        self._calls[key] = call
        if more > 0:
            self._spent[session] = self._spent.get(session, 0.0) + more
            self._spent_at[session] = self._now()

    def _usage(self) -> Usage:
        """The calls at work, and the sessions whose count changed lately: a FairShare that has just died may have taken
        the last report with it."""
        now = self._now()
        for session in [name for name, at in self._spent_at.items() if now - at > TELL_SPENT_S]:
            del self._spent_at[session]
        return Usage(self._source, dict(self._calls), {session: self._spent[session] for session in self._spent_at})

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
                want.refused = decision
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
        follow(NO_TRAIL)  # it tells of all that the cell wants, and goes on for long
        reported = 0.0
        while self._wants or self._given_back or self._spent_at:
            news, given_back = self._news, self._given_back
            self._news, self._given_back = [], []
            self._due.clear()
            try:
                if news or given_back:
                    await self._tell(Wanted(self._cell, news, given_back, self._usage()))
                    for key in given_back:
                        if key not in self._wants:
                            self._calls.pop(key, None)
                    news, given_back = [], []
                if self._now() - reported >= HEARTBEAT_S:
                    wants = self._wants.values()
                    held = [want.request for want in wants if want.granted]
                    waiting = [want.request for want in wants if not want.granted]
                    await self._tell(Holding(self._cell, held, waiting, self._usage()))
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
