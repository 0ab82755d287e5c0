"""The agent that owns the cells: ``shared/fleet/main``."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (Ray's own annotations are partly unknown)

from __future__ import annotations

import asyncio
import logging
from collections import Counter, defaultdict
from typing import Any

import msgspec
import ray
from ray.exceptions import ActorDiedError

from sylk_ray.errors import SylkError
from sylk_ray.messaging import SHARED, Address, CellLost, UnknownAddress
from sylk_ray.runtime.agent import Agent, handler
from sylk_ray.runtime.cluster.cell_watch import CellWatch, told
from sylk_ray.runtime.cluster.census import gateway_handles, take_census
from sylk_ray.runtime.cluster.factory import CellFactory, CellHandle
from sylk_ray.runtime.cluster.inheritance import Inheritance, living_cells
from sylk_ray.runtime.cluster.own_cells import OwnCells
from sylk_ray.runtime.cluster.shared_cells import SharedCells
from sylk_ray.runtime.cluster.warm_pool import WarmPool
from sylk_ray.runtime.context import Context
from sylk_ray.runtime.directory import Density, Located, LocateSession, Place, PlaceShared, SessionBinding
from sylk_ray.runtime.fleet_messages import (
    CellDied,
    Census,
    CloseSession,
    GetResources,
    OpenSession,
    ReleaseGroup,
    Resources,
    SessionLost,
    ShutDown,
    SuspendSession,
    TakeCensus,
)
from sylk_ray.runtime.placement import Packing, PlacementFailed
from sylk_ray.runtime.supervision import RestartPolicy, Restarts
from sylk_ray.runtime.turns import Turns

GUIDE = Address(SHARED, "guide", "main")

TRY_AGAIN_S = 1.0

log = logging.getLogger("sylk.fleet")


class Fleet(Agent[None]):
    """Creates cells, keeps a warm pool, places sessions and groups by the density, and replaces dead cells.

    Handlers are concurrent, because creating a cell takes half a second and looking one up must not wait for it;
    what must not interleave is behind a lock a session. It keeps nothing on disk: one that was killed finds the cells
    in Ray, and asks them what they hold.
    """

    role = "fleet"

    async def on_activate(self, ctx: Context) -> None:
        """Find the cells that there are, start the warm pool and the watch."""
        settings = ctx.settings
        self._ctx = ctx
        self._density: Density = settings.density
        self._settings = settings
        self._factory = CellFactory(settings, self._cells_on)
        self._pool = WarmPool(self._factory, settings.warm_cells if settings.density == "packed" else 0)
        self._packing = Packing(most_cells=settings.cells or await _cpus(), slack=settings.group_slack)
        self._cells: dict[str, CellHandle] = {}
        self._bindings: dict[str, SessionBinding] = {}
        self._own = OwnCells(self._factory, settings, self._began)
        self._shared = SharedCells(self._factory, ctx.clock, began=self._began, died=self._cell_died)
        self._opened: set[tuple[str, str]] = set()
        self._bereft: Counter[str] = Counter()
        """Of a session, the deaths of cells that it waits to be brought back from."""
        self._deaths: defaultdict[str, Restarts] = defaultdict(
            lambda: Restarts(RestartPolicy(most=settings.session_restarts, within_s=60.0, first_s=0.0))
        )
        self._turns = Turns()
        self._growing = asyncio.Lock()
        self._chores: set[asyncio.Task[None]] = set()
        self._watch = CellWatch(settings.cell_silence_s, self._cell_died)
        await self._inherit()
        self._pool.fill()

    async def on_deactivate(self) -> None:
        """Stop watching; the cells stay."""
        self._watch.close()
        for chore in list(self._chores):
            chore.cancel()

    async def _inherit(self) -> None:
        """Take over what an earlier fleet of this runtime has left."""
        inheritance: Inheritance = await living_cells(self._settings)
        if self._density == "packed":
            self._pool.take_over(inheritance.idle())
        else:
            for handle in inheritance.idle():
                await handle.kill()
        for handle, info in inheritance.shared():
            if self._shared.take_over(info.purpose, handle):
                self._began(handle)
            else:
                await handle.kill()
        own: dict[str, CellHandle] = {}
        for handle, info in inheritance.held():
            self._began(handle)
            self._opened.update((handle.cell, binding.session) for binding in info.bindings)
            if info.purpose:
                own[info.purpose] = handle
            else:
                self._packing.add_cell(handle.cell, handle.node)
        await self._own.take_over(inheritance.placement_groups, own)
        for binding, groups in inheritance.sessions():
            self._bindings[binding.session] = binding
            if binding.router_cell not in self._cells:
                self._bereft[binding.session] += 1
                self._soon(self._rehouse(binding.session, binding.router_cell, "it died with the fleet"))
            if self._density == "packed":
                self._packing.restore(binding.session, binding.router_cell, groups)

    @handler(concurrent=True)
    async def open_session(self, message: OpenSession, ctx: Context) -> SessionBinding:
        """Place a session's router; the same binding when it is asked again."""
        session = message.session
        async with self._turns.of(session):
            binding = self._bindings.get(session)
            if binding is None:
                self._own.limit(session, message.group)
                try:
                    binding = await self._settle(SessionBinding(session, "", self._density))
                except BaseException:
                    await asyncio.shield(self._put_away(session, None))
                    raise
            if message.recover:
                await self._recover(binding)
            return binding

    @handler(concurrent=True)
    async def locate(self, message: LocateSession, ctx: Context) -> SessionBinding:
        """Where a session's router lives; while it moves, the answer waits."""
        session = message.session
        if session not in self._bindings:
            raise UnknownAddress(f"there is no open session {session!r}", hint="see `sylk session list`")
        async with self._turns.of(session):
            binding = self._bindings.get(session)
            if binding is None:
                raise UnknownAddress(f"there is no open session {session!r}", hint="see `sylk session list`")
            return binding

    @handler(concurrent=True)
    async def place(self, message: Place, ctx: Context) -> Located:
        """The cell for an agent, with its session opened there."""
        session = message.session
        async with self._turns.of(session):
            binding = self._bindings.get(session)
            if binding is None:
                raise UnknownAddress(f"there is no open session {session!r}")
            if binding.router_cell not in self._cells:
                raise CellLost(f"{binding.router_cell}, the home of session {session}, died")
            if self._density == "packed":
                handle = self._cells[self._packing.place(session, message.name)]
            elif self._density == "session":
                handle = self._cells[binding.router_cell]
            else:
                handle = await self._own.dedicated(session, message.role, message.name)
            try:
                await self._open_on(handle, binding)
            except ActorDiedError as problem:
                await self._cell_died(handle, told(problem))
                agent = Address(session, message.role, message.name)
                raise CellLost(f"{handle.cell} died before {agent} lived there") from problem
            return Located(handle.cell)

    @handler(concurrent=True)
    async def place_shared(self, message: PlaceShared, ctx: Context) -> Located:
        """The cell of a shared agent that has one to itself: made now, if there is none."""
        return Located((await self._shared.living(message.role)).cell)

    @handler(concurrent=True)
    async def close_session(self, message: CloseSession, ctx: Context) -> None:
        """Put a session's agents away; done when it was not open."""
        await self._leave(message.session, ctx, None)

    @handler(concurrent=True)
    async def suspend_session(self, message: SuspendSession, ctx: Context) -> None:
        """Put a session's agents away, so that they can go on later."""
        await self._leave(message.session, ctx, message.grace_s)

    async def _leave(self, session: str, ctx: Context, grace_s: float | None) -> None:
        async with self._turns.of(session):
            await self._put_away(session, grace_s)

    async def _put_away(self, session: str, grace_s: float | None) -> None:
        """End all that there is of a session. Done again, or of one that was opened half, it does what is left."""
        self._bindings.pop(session, None)
        opened = [cell for cell, opened in self._opened if opened == session]
        self._opened -= {(cell, session) for cell in opened}
        handles = [self._cells[cell] for cell in opened if cell in self._cells]
        if grace_s is not None:
            timeout = grace_s + 30
            suspending = (handle.call("suspend_session", session, grace_s, timeout=timeout) for handle in handles)
            await _all_of(session, suspending)
        self._ctx.session_over(session)
        others = [*await gateway_handles(), *handles]
        await _all_of(session, (handle.call("close_session", session) for handle in others))
        self._packing.close_session(session)
        self._deaths.pop(session, None)
        for handle in self._own.cells_of(session):
            self._watch.remove(handle.cell)
            self._cells.pop(handle.cell, None)
        for handle in await self._own.put_away(session):
            await self._forget(handle.cell)
        self._own.forget(session)

    @handler(concurrent=True)
    async def release(self, message: ReleaseGroup, ctx: Context) -> None:
        """A group of agents is done with: under ``dedicated`` their processes end and their places are free."""
        session = message.session
        if self._density == "packed":
            self._packing.release(session, message.name)
        if self._density != "dedicated" or session not in self._bindings:
            return
        async with self._turns.of(session):
            for handle in self._own.let_go(session, message.name):
                self._watch.remove(handle.cell)
                self._cells.pop(handle.cell, None)
                self._opened.discard((handle.cell, session))
                await handle.kill()
                await self._forget(handle.cell)

    @handler(concurrent=True)
    async def census(self, message: TakeCensus, ctx: Context) -> Census:
        """Ask every cell; one that does not answer within two seconds is named as silent."""
        return await take_census(list(self._cells.values()), self._pool.idle, ctx)

    @handler(concurrent=True)
    async def resources(self, message: GetResources, ctx: Context) -> Resources:
        """What the cluster has."""
        cpus = await _cpus()
        self._packing.allow(self._settings.cells or cpus)
        return Resources(float(cpus), sorted(self._bindings))

    @handler(concurrent=True)
    async def shut_down(self, message: ShutDown, ctx: Context) -> None:
        """Stop every cell in order and end its process. The system's own cells are ended by whoever asked."""
        self._factory.close()
        self._watch.close()
        for session in sorted({*self._bindings, *self._turns.names()}):
            await self.close_session(CloseSession(session), ctx)
        await self._pool.close()
        await self._shared.close()
        handles = list(self._cells.values())
        await asyncio.gather(
            *(handle.call("stop", message.grace_s, timeout=message.grace_s + 10) for handle in handles),
            return_exceptions=True,
        )
        for handle in handles:
            await handle.kill()
        self._cells.clear()

    # -- placing ----------------------------------------------------------------------------------------------

    async def _settle(self, binding: SessionBinding) -> SessionBinding:
        """Give a session a home, and say so to the cells that hold something of it. Raises PlacementFailed."""
        session = binding.session
        while True:
            home = await self._home_of(session)
            binding = msgspec.structs.replace(binding, router_cell=home.cell)
            # Noted before it is opened: if the cell dies meanwhile, that is a death of this session's home too.
            self._opened.add((home.cell, session))
            try:
                await home.call("open_session", binding)
            except ActorDiedError as problem:
                # It died since the watch looked last.
                packed = self._density == "packed"
                if packed:  # nothing of this session was on it, so another will do
                    self._opened.discard((home.cell, session))
                await self._cell_died(home, told(problem))
                if packed:
                    continue
                raise CellLost(f"{home.cell} died before session {session} was opened on it") from problem
            except SylkError:
                self._opened.discard((home.cell, session))
                raise
            others = [cell for cell, opened in self._opened if opened == session and cell != home.cell]
            opening = (self._cells[cell].call("open_session", binding) for cell in others if cell in self._cells)
            await _all_of(session, opening)
            # Only now: whoever learns of the binding may send there at once.
            self._bindings[session] = binding
            return binding

    async def _recover(self, binding: SessionBinding) -> None:
        home = self._cells.get(binding.router_cell)
        if home is not None:
            try:
                await home.call("recover", binding.session)
            except ActorDiedError as problem:
                raise CellLost(f"{home.cell} died while session {binding.session} was recovered") from problem

    async def _home_of(self, session: str) -> CellHandle:
        if self._density == "packed":
            async with self._growing:
                if self._packing.wants_cell():
                    handle = await self._pool.adopt()
                    self._began(handle)
                    self._packing.add_cell(handle.cell, handle.node)
                return self._cells[self._packing.open_session(session)]
        return await self._own.home(session)

    def _began(self, handle: CellHandle) -> None:
        self._cells[handle.cell] = handle
        self._watch.add(handle)

    def _cells_on(self) -> Counter[str]:
        """How many cells each node has, idle ones as well."""
        return Counter(handle.node for handle in (*self._cells.values(), *self._pool.idle))

    async def _open_on(self, handle: CellHandle, binding: SessionBinding) -> None:
        key = (handle.cell, binding.session)
        if key not in self._opened:
            await handle.call("open_session", binding)
            self._opened.add(key)

    # -- the death of cells -----------------------------------------------------------------------------------

    async def _forget(self, cell: str) -> None:
        """A cell was ended on purpose: nobody shall keep a way to it."""
        self._ctx.cell_died(cell)
        for other in await gateway_handles():
            other.actor.peer_lost.remote(cell)

    async def _cell_died(self, handle: CellHandle, why: str) -> None:
        cell = handle.cell
        if self._cells.pop(cell, None) is None:
            return
        # All that is known of it goes before anything is awaited: nobody may be sent there any more.
        self._watch.remove(cell)
        sessions = {session for opened, session in self._opened if opened == cell}
        sessions.update(self._packing.lose_cell(cell))
        sessions &= set(self._bindings)
        self._opened = {(opened, session) for opened, session in self._opened if opened != cell}
        self._own.lose(cell)
        shared = self._shared.lose(cell)
        log.error("%s died with agents of %s: %s", cell, ", ".join(sorted(sessions)) or "no session", why)
        self._ctx.cell_died(cell)
        # Whatever befell it, it must not go on working while others take its place.
        try:
            await handle.kill()
        except Exception:
            log.exception("%s could not be ended", cell)
        others = [*await gateway_handles(), *self._cells.values()]
        await asyncio.gather(*(other.call("peer_lost", cell, timeout=5) for other in others), return_exceptions=True)
        await self._tell_guide(CellDied(cell, sorted(sessions)))
        for session in sorted(sessions):
            self._bereft[session] += 1
            self._soon(self._rehouse(session, cell, why))
        if shared:
            self._soon(self._shared.replace(shared))

    async def _rehouse(self, session: str, dead: str, why: str, *, again: bool = False) -> None:
        """Bring back what a dead cell held of a session: fence the cell, find another home if it was that, and have
        all mail sent again that waits. What stands in the way (a full disk, a cell that does not answer) is waited
        for: it is tried ``again`` until it goes well, or the session is closed."""
        async with self._turns.of(session):
            if not again:
                self._bereft -= Counter([session])
            elif self._bereft[session]:
                return  # another of its cells has died since: that counts first, and then brings back all
            binding = self._bindings.get(session)
            if binding is None:
                return
            if not again and self._deaths[session].next_pause(self._ctx.clock.now()) is None:
                await self._put_away(session, None)
                times = f"its cells died {self._settings.session_restarts + 1} times within a minute, at last because"
                await self._tell_guide(SessionLost(session, f"{times} {why}", for_good=True))
                return
            # Kept at once: whoever comes here next fences this cell too.
            binding = msgspec.structs.replace(binding, fenced=tuple(dict.fromkeys((*binding.fenced, dead))))
            self._bindings[session] = binding
            try:
                home = self._cells.get(binding.router_cell)
                if home is None:
                    binding = await self._settle(binding)
                else:
                    await home.call("fence_off", session, dead)
                await self._recover(binding)
            except PlacementFailed as error:
                await self._put_away(session, None)
                told_so = f"{dead}, which held its agents, died, and there is no other place for them: {error.message}"
                await self._tell_guide(SessionLost(session, told_so, for_good=False))
            except Exception as problem:
                log.warning("session %s could not be brought back yet: %r", session, problem)
                self._soon(self._rehouse_later(session, dead, why))

    async def _rehouse_later(self, session: str, dead: str, why: str) -> None:
        await self._ctx.clock.sleep(TRY_AGAIN_S)
        await self._rehouse(session, dead, why, again=True)

    async def _tell_guide(self, message: CellDied | SessionLost) -> None:
        try:
            await self._ctx.tell(GUIDE, message)
        except SylkError as error:
            log.warning("the guide could not be told %s: %s", message, error)

    def _soon(self, chore: Any) -> None:
        task = asyncio.create_task(chore)
        self._chores.add(task)
        task.add_done_callback(self._chore_done)

    def _chore_done(self, task: asyncio.Task[Any]) -> None:
        self._chores.discard(task)
        if not task.cancelled() and (problem := task.exception()) is not None:
            log.error("a chore of the fleet failed", exc_info=problem)


async def _all_of(session: str, calls: Any) -> None:
    for problem in await asyncio.gather(*calls, return_exceptions=True):
        if isinstance(problem, BaseException):
            log.warning("session %s: %r", session, problem)


async def _cpus() -> int:
    return max(1, int((await asyncio.to_thread(ray.cluster_resources)).get("CPU", 1)))
