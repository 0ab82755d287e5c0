"""Who subscribes to topics of several sessions, and to those of none."""

from __future__ import annotations

import asyncio

import msgspec

from sylk_ray.errors import SylkError
from sylk_ray.messaging import SHARED, NotAllowed
from sylk_ray.messaging.subscriptions import Subscription
from sylk_ray.runtime import Agent, Context, handler
from sylk_ray.runtime.directory import router_of
from sylk_ray.runtime.feed import REACHED_WITHIN_S, Feed, NoHistory
from sylk_ray.runtime.following import RENEW_S
from sylk_ray.runtime.history import TOPICS, AcrossSessions, Published, Register, Subscribe, Unsubscribe

FORGET_S = 3 * RENEW_S


class Topics(Agent[None]):
    """Says who is to hear, and carries nothing of any session: a session's router has what happens there, and sends it
    to the subscribers itself. What is of no session it passes on.

    It keeps nothing. Routers register again and again, and subscribers renew; both are forgotten when they do not.
    """

    role = TOPICS.role

    async def on_activate(self, ctx: Context) -> None:
        """Nobody is known yet."""
        self._feed = Feed(
            SHARED,
            NoHistory(),
            send=lambda subscriber, events: ctx.tell(subscriber, events, timeout=REACHED_WITHIN_S),
            clock=ctx.clock,
        )
        self._renewed: dict[str, float] = {}
        self._routers: dict[str, float] = {}
        self._telling: set[asyncio.Task[None]] = set()

    async def on_deactivate(self) -> None:
        """Pass on nothing more."""
        self._feed.close()
        for task in self._telling:
            task.cancel()

    @handler(concurrent=True)
    async def register(self, message: Register, ctx: Context) -> list[Subscription]:
        """A session's router lives."""
        now = ctx.clock.now()
        self._routers[message.session] = now
        for session in [each for each, at in self._routers.items() if now - at > FORGET_S]:
            del self._routers[session]
        for id_ in [each for each, at in self._renewed.items() if now - at > FORGET_S]:
            self._end(id_, ctx)
        return [each for each in self._feed.subscriptions() if each.may_want(message.session)]

    @handler(concurrent=True)
    async def subscribe(self, message: Subscribe, ctx: Context) -> int:
        """Begin, or renew."""
        # Each router has a history of its own: a number would mean nothing to them.
        wanted = msgspec.structs.replace(message.subscription, after=None)
        if wanted.subscriber.session != SHARED:
            raise NotAllowed(
                f"{wanted.subscriber} may not subscribe over sessions: it is of one itself",
                hint="agents hear of their own session by ctx.bus",
            )
        is_new = wanted not in self._feed.subscriptions()
        await self._feed.subscribe(wanted)
        self._renewed[wanted.id] = ctx.clock.now()
        if is_new:
            self._tell(AcrossSessions(begun=[wanted]), wanted, ctx)
        return 0

    @handler(concurrent=True)
    async def unsubscribe(self, message: Unsubscribe, ctx: Context) -> None:
        """End."""
        self._end(message.id, ctx)

    @handler()
    async def published(self, message: Published, ctx: Context) -> None:
        """Something of no session."""
        await self._feed.pass_on(message.event)

    def _end(self, id_: str, ctx: Context) -> None:
        self._renewed.pop(id_, None)
        known = next((each for each in self._feed.subscriptions() if each.id == id_), None)
        self._feed.unsubscribe(id_)
        if known is not None:
            self._tell(AcrossSessions(ended=[id_]), known, ctx)

    def _tell(self, change: AcrossSessions, of: Subscription, ctx: Context) -> None:
        """Let the routers know that may have something to do with it, all at once."""
        for session in [each for each in self._routers if of.may_want(each)]:
            task = asyncio.get_running_loop().create_task(self._tell_router(session, change, ctx))
            self._telling.add(task)
            task.add_done_callback(self._telling.discard)

    async def _tell_router(self, session: str, change: AcrossSessions, ctx: Context) -> None:
        try:
            await ctx.tell(router_of(session), change, timeout=REACHED_WITHIN_S)
        except SylkError as error:
            # It is over, or elsewhere, and registers again.
            ctx.log.debug("the router of %s is not told: %s", session, error)
            self._routers.pop(session, None)
            ctx.session_over(session)
