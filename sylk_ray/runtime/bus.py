"""What an agent says and hears by topic within its session."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from sylk_ray.fairness import Lane
from sylk_ray.messaging import SHARED, Event, NotAllowed
from sylk_ray.messaging.subscriptions import BOUND, Filter, Overflow, Subscription
from sylk_ray.messaging.topics import segment_of
from sylk_ray.runtime.directory import router_of
from sylk_ray.runtime.following import Positions, Renewal
from sylk_ray.runtime.history import Events, Subscribe, Unsubscribe

if TYPE_CHECKING:
    from sylk_ray.runtime.context import Context


class SessionBus:
    """Topics are given without their beginning, ``session.{id}.``::

    async def on_activate(self, ctx):
        self._heard = await ctx.bus.subscribe("orchestrator.#", after=self.state.heard)

    @handler()
    async def events(self, message: Events, ctx):
        for event in self._heard.take(message):
            ...

    async def on_deactivate(self):
        self._heard.close()
    """

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx

    async def publish(
        self, kind: str, *, task: str = "", channel: str = "", priority: Lane = Lane.NORMAL, **data: Any
    ) -> None:
        """See Context.publish."""
        await self._ctx.publish(kind, task=task, channel=channel, priority=priority, **data)

    async def subscribe(
        self,
        pattern: str,
        *,
        kinds: Iterable[str] = (),
        at_least: Lane = Lane.BACKGROUND,
        overflow: Overflow = "block",
        bound: int = BOUND,
        after: int | None = None,
    ) -> Following:
        """Have ``Events`` sent to this agent: what comes from now on, or after the number ``after``. Raises
        InvalidTopic, and a DeliveryError."""
        ctx = self._ctx
        if ctx.address.session == SHARED:
            raise NotAllowed(f"{ctx.address} is of no session", hint="it subscribes to TOPICS, and says so again")
        whole = f"session.{segment_of(ctx.address.session)}.{pattern}"
        wanted = Filter(kinds=frozenset(kinds), at_least=at_least)
        # One for each life: neither another one of this pattern nor the end of an earlier one is this one's.
        id_ = f"{ctx.address} {pattern} {uuid.uuid4().hex[:12]}"
        following = Following(ctx, Subscription(id_, whole, ctx.address, wanted, overflow, bound, after))
        await following.begin()
        return following


class Following:
    """An agent's subscription, for as long as the agent lives. ``position`` is the number of the last event that it
    has seen or need not see: one that keeps it, with its state, goes on there in its next life."""

    def __init__(self, ctx: Context, subscription: Subscription) -> None:
        self._ctx = ctx
        self._session = ctx.address.session
        self._subscription = subscription
        self._positions = Positions({})
        self._afresh = False
        self._gone = False
        self._renewal = Renewal(self._renew, ctx.clock)
        self._forget_cells = ctx.on_cell_lost(lambda _: self._renewal.soon())
        self._let_rest = ctx.keep_awake()

    @property
    def position(self) -> int:
        """The cursor."""
        return self._positions.seen[self._session]

    async def begin(self) -> None:
        """Ask the router, and go on doing so."""
        wanted = self._subscription
        try:
            last = await self._ask(wanted, afresh=True)
        except BaseException:
            self._let_go()
            self._end()  # it may have begun, and not been said
            raise
        self._positions.seen[self._session] = last if wanted.after is None else min(wanted.after, last)
        self._renewal.start()

    def take(self, batch: Events) -> list[Event]:
        """What is new in a batch of this subscription, which may be nothing. When something is missing, because the
        router was lost, it is sent again from where this has come to."""
        if batch.subscription != self._subscription.id:
            return []
        if self._positions.fits(batch):
            return list(self._positions.walk(batch))
        self._afresh = True
        self._renewal.soon()
        return []

    def close(self) -> None:
        """Hear no more."""
        self._renewal.close()
        self._let_go()
        self._end()

    def _let_go(self) -> None:
        if not self._gone:
            self._gone = True
            self._forget_cells()
            self._let_rest()

    def _end(self) -> None:
        self._ctx.notify(router_of(self._session), Unsubscribe(self._subscription.id))

    async def _renew(self) -> None:
        afresh, self._afresh = self._afresh, False
        try:
            await self._ask(msgspec.structs.replace(self._subscription, after=self.position), afresh=afresh)
        except BaseException:
            self._afresh |= afresh
            raise

    async def _ask(self, subscription: Subscription, *, afresh: bool) -> int:
        return await self._ctx.ask(router_of(self._session), Subscribe(subscription, afresh), timeout=10)
