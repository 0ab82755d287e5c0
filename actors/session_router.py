"""The per-session half of the Guide: where a session's agents live, and what has happened there."""

from __future__ import annotations

import asyncio
from collections import deque
from pathlib import Path

import msgspec

from sylk_ray.errors import SylkError
from sylk_ray.messaging import Address, Event
from sylk_ray.runtime import Agent, Context, handler
from sylk_ray.runtime.directory import FLEET, GroupDone, Located, Place, Resolve
from sylk_ray.runtime.fleet_messages import ReleaseGroup
from sylk_ray.runtime.history import Events, Published, ReadHistory, Subscribe, Unsubscribe
from sylk_ray.sessions import session_directory

REMEMBERED = 10_000
"""Events kept in memory; older ones are read from the file."""


class SessionRouter(Agent[None]):
    """Every message between agents of a session finds its way here; cells remember the answers.

    It numbers the session's events, keeps them in ``events.jsonl`` and sends them to whoever watches.
    """

    role = "router"

    async def on_activate(self, ctx: Context) -> None:
        """Find the session's history again, if there is one."""
        self._routes: dict[Address, str] = {ctx.address: ctx.cell}
        self._watchers: set[Address] = set()
        self._path = session_directory(ctx.settings.home, ctx.address.session) / "events.jsonl"
        self._events: deque[Event] = deque(await asyncio.to_thread(_read, self._path), maxlen=REMEMBERED)
        self._last = self._events[-1].sequence if self._events else 0
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self._path.open("ab")

    async def on_deactivate(self) -> None:
        """Close the history."""
        self._file.close()

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
        """Forget where a group lives, and give its places back."""
        for address in [address for address in self._routes if address.name == message.name]:
            del self._routes[address]
        await ctx.tell(FLEET, ReleaseGroup(ctx.address.session, message.name))

    @handler()
    async def published(self, message: Published, ctx: Context) -> None:
        """Number an event, keep it and spread it; a passing one is only spread."""
        event = message.event
        if not message.passing:
            self._last += 1
            event = msgspec.structs.replace(event, sequence=self._last)
            self._events.append(event)
            self._write(event, ctx)
        for watcher in list(self._watchers):
            try:
                await ctx.tell(watcher, Events(ctx.address.session, [event]), timeout=5)
            except SylkError as error:
                ctx.log.warning("%s watches no more: %s", watcher, error)
                self._watchers.discard(watcher)

    def _write(self, event: Event, ctx: Context) -> None:
        """A full disk costs the kept history; whoever watches still hears of the event."""
        try:
            self._file.write(msgspec.json.encode(event) + b"\n")
            self._file.flush()
        except OSError as problem:
            ctx.log.warning("event %d of %s is not in %s: %s", event.sequence, event.session, self._path, problem)

    @handler()
    async def subscribe(self, message: Subscribe, ctx: Context) -> int:
        """Send events to a watcher from now on."""
        self._watchers.add(message.watcher)
        return self._last

    @handler()
    async def unsubscribe(self, message: Unsubscribe, ctx: Context) -> None:
        """Send it no more."""
        self._watchers.discard(message.watcher)

    @handler()
    async def history(self, message: ReadHistory, ctx: Context) -> list[Event]:
        """The kept events after a number."""
        kept = [event for event in self._events if event.sequence > message.after]
        if len(self._events) == REMEMBERED and (not kept or kept[0].sequence > message.after + 1):
            kept = [event for event in await asyncio.to_thread(_read, self._path) if event.sequence > message.after]
        return kept[: message.limit]


def _read(path: Path) -> list[Event]:
    if not path.exists():
        return []
    events: list[Event] = []
    for line in path.read_bytes().splitlines():
        try:
            events.append(msgspec.json.decode(line, type=Event))
        except msgspec.DecodeError:
            break  # the last line of a process that was killed while it wrote
    return events
