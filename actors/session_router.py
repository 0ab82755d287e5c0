"""The per-session half of the Guide: where a session's agents live, and what has happened there."""

from __future__ import annotations

import asyncio

from actors.routing_desk import RoutingDesk
from sylk_ray.errors import SylkError
from sylk_ray.messaging import Address, Event
from sylk_ray.runtime import Context, handler
from sylk_ray.runtime.dead_letters import DropDeadLetter, ListDeadLetters, RetryDeadLetter
from sylk_ray.runtime.directory import FLEET, GroupDone, Located, Place, Resolve
from sylk_ray.runtime.feed import REACHED_WITHIN_S, Feed
from sylk_ray.runtime.fleet_messages import ReleaseGroup
from sylk_ray.runtime.following import Renewal
from sylk_ray.runtime.history import (
    TOPICS,
    AcrossSessions,
    HistoryGrew,
    Published,
    ReadHistory,
    Register,
    Subscribe,
    Unsubscribe,
)
from sylk_ray.runtime.journal import DeadLetter

KEEPING = 100
"""Events that are being written at once."""
FLUSH_S = 2.0
"""For how long a subscriber that is slow is waited for where all should have what happened."""


class SessionRouter(RoutingDesk):
    """Every message between agents of a session finds its way here; cells remember the answers.

    The session's history is in its journal, where whoever has something to tell writes it; the router reads what is
    new and sends it to whoever subscribes to it: agents of the session and shared ones, and those that have asked the
    agent of the topics for several sessions. It keeps nothing itself: the fleet knows where agents live, subscribers
    ask again.
    """

    role = "router"

    async def on_activate(self, ctx: Context) -> None:
        """Begin where the history ends, and ask who wants to hear of it."""
        self._routes: dict[Address, str] = {ctx.address: ctx.cell}
        self._feed = Feed(
            ctx.address.session,
            ctx.journal,
            send=lambda subscriber, events: ctx.tell(subscriber, events, timeout=REACHED_WITHIN_S),
            clock=ctx.clock,
        )
        self._keeping: set[asyncio.Task[None]] = set()
        self._across: set[str] = set()
        self._changes = 0
        self._registration = Renewal(lambda: self._register(ctx), ctx.clock)
        self._registration.start()
        self._forget_nobody = ctx.on_cell_lost(self._cell_lost)
        self.open_desk(ctx)

    async def on_deactivate(self) -> None:
        """Hear of lost cells no more, and send nothing more."""
        await self._kept(FLUSH_S)
        for task in self._keeping:
            task.cancel()
        self._forget_nobody()
        self._registration.close()
        self._feed.close()
        self.close_desk()

    def _cell_lost(self, cell: str) -> None:
        lost = {address for address, known in self._routes.items() if known == cell}
        for address in lost:
            del self._routes[address]
        # In their next lives they subscribe anew.
        self._feed.unsubscribe(*(each.id for each in self._feed.subscriptions() if each.subscriber in lost))
        self._registration.soon()

    async def _register(self, ctx: Context) -> None:
        """The agent of the topics knows who subscribes over sessions; it may have died, and forgotten this one."""
        while True:
            before = self._changes
            wanted = await ctx.ask(TOPICS, Register(ctx.address.session), timeout=10)
            if before == self._changes:
                break  # otherwise what it has told meanwhile may be newer than this
        ended = self._across - {each.id for each in wanted}
        await self._reach_over(AcrossSessions(wanted, list(ended)))

    async def _reach_over(self, change: AcrossSessions) -> None:
        self._feed.unsubscribe(*change.ended)
        self._across.difference_update(change.ended)
        for each in change.begun:
            self._across.add(each.id)
            await self._feed.subscribe(each, greet=True)

    @handler(concurrent=True)
    async def resolve(self, message: Resolve, ctx: Context) -> Located:
        """Where an agent of this session lives; the fleet decides the first time."""
        address = ctx.address.beside(message.role, message.name)
        cell = self._routes.get(address)
        if cell is None:
            located = await ctx.ask(FLEET, Place(ctx.address.session, message.role, message.name), timeout=90)
            cell = self._routes[address] = located.cell
        return Located(cell)

    @handler(concurrent=True)
    async def group_done(self, message: GroupDone, ctx: Context) -> None:
        """Forget a group whose work is done, and give its places back."""
        for address in [address for address in self._routes if address.name == message.name]:
            del self._routes[address]
        group = [agent for agent in await ctx.journal.agents() if agent.name == message.name]
        # At once: the journal makes one transaction of them.
        await asyncio.gather(*(ctx.journal.forget(agent) for agent in group))
        await ctx.tell(FLEET, ReleaseGroup(ctx.address.session, message.name))

    @handler()
    async def published(self, message: Published, ctx: Context) -> None:
        """An event from where the journal is not open; a passing one is spread and not kept."""
        if message.passing:
            await self._kept()
            await self._feed.pass_on(message.event, lost=message.lost)
            return
        if len(self._keeping) >= KEEPING:
            await self._kept()
        # Beside, and in order: whoever asks for the history after this must find it begun.
        task = asyncio.create_task(self._keep(message.event, ctx))
        self._keeping.add(task)
        task.add_done_callback(self._keeping.discard)

    async def _keep(self, event: Event, ctx: Context) -> None:
        try:
            await ctx.journal.add_events([event])
        except SylkError as error:
            ctx.log.warning("%s could not be kept: %s", event.kind, error)
        self._feed.grew()

    async def _kept(self, within_s: float | None = None) -> None:
        """Return when what was to be kept until now is written, or after a while."""
        if self._keeping:
            await asyncio.wait(set(self._keeping), timeout=within_s)

    # What follows is concurrent, so that it does not wait while whoever publishes is held back.

    @handler(concurrent=True)
    async def grew(self, message: HistoryGrew, ctx: Context) -> None:
        """Spread what is new."""
        self._feed.grew()

    @handler(concurrent=True)
    async def subscribe(self, message: Subscribe, ctx: Context) -> int:
        """Send events from now on, or from where the subscriber has come to."""
        return await self._feed.subscribe(message.subscription, afresh=message.afresh)

    @handler(concurrent=True)
    async def unsubscribe(self, message: Unsubscribe, ctx: Context) -> None:
        """Send no more."""
        self._feed.unsubscribe(message.id)

    @handler(concurrent=True)
    async def across(self, message: AcrossSessions, ctx: Context) -> None:
        """Who subscribes over sessions has changed."""
        self._changes += 1
        await self._reach_over(message)

    @handler(concurrent=True)
    async def history(self, message: ReadHistory, ctx: Context) -> list[Event]:
        """The kept events after a number."""
        await self._kept()
        if not message.limit:
            await self._feed.flush(FLUSH_S)
            return []
        return await ctx.journal.events(message.after, message.limit)

    @handler(concurrent=True)
    async def dead_letters(self, message: ListDeadLetters, ctx: Context) -> list[DeadLetter]:
        """What could not be handled."""
        return await ctx.journal.dead_letters()

    @handler(concurrent=True)
    async def retry_letter(self, message: RetryDeadLetter, ctx: Context) -> bool:
        """Make a dead letter mail again, and send it."""
        mail = await ctx.journal.revive(message.mail_id)
        if mail is not None:
            ctx.resend(mail)
        return mail is not None

    @handler(concurrent=True)
    async def drop_letter(self, message: DropDeadLetter, ctx: Context) -> bool:
        """Forget a dead letter."""
        return await ctx.journal.drop(message.mail_id)
