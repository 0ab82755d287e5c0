"""The per-session half of the Guide: where a session's agents live, and what has happened there."""

from __future__ import annotations

import asyncio

from actors.routing_desk import RoutingDesk
from sylk_ray.errors import SylkError
from sylk_ray.messaging import Address, Event
from sylk_ray.runtime import Context, handler
from sylk_ray.runtime.dead_letters import DropDeadLetter, ListDeadLetters, RetryDeadLetter
from sylk_ray.runtime.directory import FLEET, GroupDone, Located, Place, Resolve
from sylk_ray.runtime.fleet_messages import ReleaseGroup
from sylk_ray.runtime.history import Events, HistoryGrew, Published, ReadHistory, Subscribe, Unsubscribe
from sylk_ray.runtime.journal import DeadLetter

AT_ONCE = 500
"""Events of one message to a watcher."""


class SessionRouter(RoutingDesk):
    """Every message between agents of a session finds its way here; cells remember the answers.

    The session's history is in its journal, where whoever has something to tell writes it; the router reads what is
    new and sends it to whoever watches. It keeps nothing itself: the fleet knows where agents live, and watchers ask
    again.
    """

    role = "router"

    async def on_activate(self, ctx: Context) -> None:
        """Begin where the history ends."""
        self._routes: dict[Address, str] = {ctx.address: ctx.cell}
        self._watchers: set[Address] = set()
        self._spread_to = await ctx.journal.last_event()
        self._forget_nobody = ctx.on_cell_lost(self._cell_lost)
        self.open_desk(ctx)

    async def on_deactivate(self) -> None:
        """Hear of lost cells no more."""
        self._forget_nobody()
        self.close_desk()

    def _cell_lost(self, cell: str) -> None:
        for address in [address for address, known in self._routes.items() if known == cell]:
            del self._routes[address]

    @handler(concurrent=True)
    async def resolve(self, message: Resolve, ctx: Context) -> Located:
        """Where an agent of this session lives; the fleet decides the first time."""
        address = ctx.address.beside(message.role, message.name)
        cell = self._routes.get(address)
        if cell is None:
            located = await ctx.ask(FLEET, Place(ctx.address.session, message.role, message.name), timeout=90)
            cell = self._routes[address] = located.cell
        return Located(cell)

    @handler()
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
            await self._spread([message.event], ctx)
        else:
            await ctx.journal.add_events([message.event])
            await self._catch_up(ctx)

    @handler()
    async def grew(self, message: HistoryGrew, ctx: Context) -> None:
        """Spread what is new."""
        await self._catch_up(ctx)

    async def _catch_up(self, ctx: Context) -> None:
        if not self._watchers:
            self._spread_to = await ctx.journal.last_event()
            return
        while events := await ctx.journal.events(self._spread_to, AT_ONCE):
            self._spread_to = events[-1].sequence
            await self._spread(events, ctx)

    async def _spread(self, events: list[Event], ctx: Context) -> None:
        for watcher in list(self._watchers):
            try:
                await ctx.tell(watcher, Events(ctx.address.session, events), timeout=5)
            except SylkError as error:
                ctx.log.warning("%s watches no more: %s", watcher, error)
                self._watchers.discard(watcher)

    @handler()
    async def subscribe(self, message: Subscribe, ctx: Context) -> int:
        """Send events to a watcher from now on; what came before is in the history."""
        await self._catch_up(ctx)
        self._watchers.add(message.watcher)
        return self._spread_to

    @handler()
    async def unsubscribe(self, message: Unsubscribe, ctx: Context) -> None:
        """Send it no more."""
        self._watchers.discard(message.watcher)

    @handler()
    async def history(self, message: ReadHistory, ctx: Context) -> list[Event]:
        """The kept events after a number."""
        if not message.limit:
            await self._catch_up(ctx)
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
