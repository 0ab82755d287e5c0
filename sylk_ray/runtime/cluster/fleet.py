"""The agent that owns the cells: ``shared/fleet/main``."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (Ray's own annotations are partly unknown)

from __future__ import annotations

import asyncio
import logging
import os
from collections import defaultdict
from typing import Any

import ray
from ray.exceptions import ActorDiedError, ActorUnavailableError, RayError
from ray.util.placement_group import PlacementGroup

from sylk_ray.errors import SylkError
from sylk_ray.messaging import SHARED, Address, CellLost, UnknownAddress
from sylk_ray.runtime.agent import Agent, handler
from sylk_ray.runtime.cluster.factory import AGENT_CPUS, CELL_CPUS, CellFactory, CellHandle
from sylk_ray.runtime.cluster.transport import NAMESPACE
from sylk_ray.runtime.cluster.warm_pool import WarmPool
from sylk_ray.runtime.context import Context
from sylk_ray.runtime.directory import ROUTER, Density, Located, LocateSession, Place, SessionBinding
from sylk_ray.runtime.fleet_messages import (
    CellDied,
    CellStatus,
    Census,
    CloseSession,
    OpenSession,
    ReleaseGroup,
    ShutDown,
    TakeCensus,
)
from sylk_ray.runtime.placement import Packing

GUIDE = Address(SHARED, "guide", "main")
WATCH_EVERY_S = 2.0

log = logging.getLogger("sylk.fleet")


class Fleet(Agent[None]):
    """Creates cells, keeps a warm pool, places sessions and groups by the density, and notices dead cells.

    Handlers are concurrent, because creating a cell takes half a second and looking one up must not wait for it;
    what must not interleave is behind a lock a session.
    """

    role = "fleet"

    async def on_activate(self, ctx: Context) -> None:
        """Start the warm pool and the watch."""
        settings = ctx.settings
        self._density: Density = settings.density
        self._settings = settings
        self._factory = CellFactory(settings)
        self._pool = WarmPool(self._factory, settings.warm_cells if settings.density == "packed" else 0)
        cpus = int(ray.cluster_resources().get("CPU", 1))
        self._packing = Packing(most_cells=settings.cells or max(1, cpus), slack=settings.group_slack)
        self._cells: dict[str, CellHandle] = {}
        self._bindings: dict[str, SessionBinding] = {}
        self._groups: dict[str, PlacementGroup] = {}
        self._owned: dict[str, dict[tuple[str, str], str]] = defaultdict(dict)
        self._opened: set[tuple[str, str]] = set()
        self._locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._growing = asyncio.Lock()
        self._pool.fill()
        self._watch = asyncio.create_task(self._watch_cells(ctx))

    async def on_deactivate(self) -> None:
        """Stop watching; the cells stay."""
        self._watch.cancel()

    @handler(concurrent=True)
    async def open_session(self, message: OpenSession, ctx: Context) -> SessionBinding:
        """Place a session's router; the same binding when it is asked again."""
        session = message.session
        async with self._locks[session]:
            if session in self._bindings:
                return self._bindings[session]
            while True:
                home = await self._home_of(session)
                binding = SessionBinding(session, home.cell, self._density)
                try:
                    await self._open_on(home, binding)
                except ActorDiedError as problem:
                    if self._density != "packed":
                        raise CellLost(f"{home.cell} died before session {session} was opened on it") from problem
                    # It died since the watch looked last. Nothing of this session was on it, so another will do.
                    self._packing.close_session(session)
                    await self._cell_died(home, _why(problem), ctx)
                    continue
                # Only now: whoever learns of the binding may send there at once.
                self._bindings[session] = binding
                return binding

    @handler(concurrent=True)
    async def locate(self, message: LocateSession, ctx: Context) -> SessionBinding:
        """Where a session's router lives."""
        binding = self._bindings.get(message.session)
        if binding is None:
            raise UnknownAddress(f"there is no open session {message.session!r}", hint="see `sylk session list`")
        return binding

    @handler(concurrent=True)
    async def place(self, message: Place, ctx: Context) -> Located:
        """The cell for an agent, with its session opened there."""
        session = message.session
        async with self._locks[session]:
            binding = self._bindings.get(session)
            if binding is None:
                raise UnknownAddress(f"there is no open session {session!r}")
            while True:
                if binding.router_cell not in self._cells:
                    raise CellLost(f"{binding.router_cell}, the home of session {session}, died")
                if self._density == "packed":
                    handle = self._cells[self._packing.place(session, message.name)]
                elif self._density == "session":
                    handle = self._cells[binding.router_cell]
                else:
                    handle = await self._dedicated(session, message.role, message.name)
                try:
                    await self._open_on(handle, binding)
                except ActorDiedError as problem:
                    if self._density != "packed":
                        agent = Address(session, message.role, message.name)
                        raise CellLost(f"{handle.cell} died before {agent} lived there") from problem
                    # As above: nothing of this session was on it yet.
                    self._packing.release(session, message.name)
                    await self._cell_died(handle, _why(problem), ctx)
                    continue
                return Located(handle.cell)

    @handler(concurrent=True)
    async def close_session(self, message: CloseSession, ctx: Context) -> None:
        """Put a session's agents away; done when it was not open."""
        session = message.session
        async with self._locks[session]:
            if self._bindings.pop(session, None) is None:
                self._locks.pop(session, None)
                return
            opened = [cell for cell, opened in self._opened if opened == session]
            self._opened -= {(cell, session) for cell in opened}
            handles = [*self._gateway(), *(self._cells[cell] for cell in opened if cell in self._cells)]
            ctx.session_over(session)
            for problem in await asyncio.gather(
                *(handle.call("close_session", session) for handle in handles), return_exceptions=True
            ):
                if isinstance(problem, BaseException):
                    log.warning("closing %s: %r", session, problem)
            self._packing.close_session(session)
            group = self._groups.pop(session, None)
            if group is not None:
                own = [self._cells.pop(cell) for cell in self._owned.pop(session, {}).values() if cell in self._cells]
                await self._factory.release(group, own)
                for handle in own:
                    self._forget(handle.cell, ctx)
        self._locks.pop(session, None)

    @handler(concurrent=True)
    async def release(self, message: ReleaseGroup, ctx: Context) -> None:
        """A group of agents is done with: under ``dedicated`` their processes end and their places are free."""
        session = message.session
        if self._density == "packed":
            self._packing.release(session, message.name)
        if self._density != "dedicated" or session not in self._bindings:
            return
        async with self._locks[session]:
            owned = self._owned.get(session, {})
            for key in [key for key in owned if key[1] == message.name]:
                handle = self._cells.pop(owned.pop(key), None)
                if handle is not None:
                    self._opened.discard((handle.cell, session))
                    await handle.kill()
                    self._forget(handle.cell, ctx)

    @handler(concurrent=True)
    async def census(self, message: TakeCensus, ctx: Context) -> Census:
        """Ask every cell; one that does not answer within two seconds is named as silent."""
        warm = {handle.cell for handle in self._pool.idle}
        handles = [*self._gateway(), *self._cells.values(), *self._pool.idle]
        answers = await asyncio.gather(*(self._look(handle) for handle in handles))
        agents = ctx.neighbours()
        node = ray.get_runtime_context().get_node_id()
        sessions = sorted({agent.session for agent in agents})
        # Its own cell is looked at from within: a cell that calls itself through Ray gets no answer.
        cells = [CellStatus(ctx.cell, "System(guide, fleet)", os.getpid(), node, sessions, len(agents), "")]
        silent: list[str] = []
        for handle, answer in zip(handles, answers, strict=True):
            if answer is None:
                silent.append(handle.cell)
                continue
            info, living = answer
            cells.append(
                CellStatus(
                    info.cell,
                    info.title,
                    info.pid,
                    info.node,
                    info.sessions,
                    info.agents,
                    info.blocked_by,
                    info.cell in warm,
                )
            )
            agents.extend(living)
        return Census(cells, agents, silent)

    @handler(concurrent=True)
    async def shut_down(self, message: ShutDown, ctx: Context) -> None:
        """Stop every cell in order and end its process. The system's own cells are ended by whoever asked."""
        self._watch.cancel()
        for session in list(self._bindings):
            await self.close_session(CloseSession(session), ctx)
        await self._pool.close()
        handles = list(self._cells.values())
        await asyncio.gather(
            *(handle.call("stop", message.grace_s, timeout=message.grace_s + 10) for handle in handles),
            return_exceptions=True,
        )
        for handle in handles:
            await handle.kill()
        self._cells.clear()

    # -- placing ----------------------------------------------------------------------------------------------

    async def _home_of(self, session: str) -> CellHandle:
        if self._density == "packed":
            async with self._growing:
                if self._packing.wants_cell():
                    handle = await self._pool.adopt()
                    self._cells[handle.cell] = handle
                    self._packing.add_cell(handle.cell)
                return self._cells[self._packing.open_session(session)]
        if self._density == "session":
            group = self._groups[session] = await self._factory.reserve(session, CELL_CPUS)
            handle = await self._in_group(session, group, title=f"Cell(session {session})")
            self._owned[session][("cell", "main")] = handle.cell
            return handle
        cpus = self._settings.dedicated_agents * AGENT_CPUS
        self._groups[session] = await self._factory.reserve(session, cpus)
        return await self._dedicated(session, ROUTER, "main")

    async def _dedicated(self, session: str, role: str, name: str) -> CellHandle:
        owned = self._owned[session]
        if (role, name) in owned:
            return self._cells[owned[(role, name)]]
        if len(owned) >= self._settings.dedicated_agents:
            raise UnknownAddress(
                f"session {session} has {len(owned)} agents, all that its placement group has room for",
                hint="raise dedicated_agents in the settings, or use another density",
            )
        title = f"{class_name_of(role)}({session}/{role}/{name})"
        handle = await self._in_group(
            session, self._groups[session], class_name=class_name_of(role), title=title, cpus=AGENT_CPUS
        )
        owned[(role, name)] = handle.cell
        return handle

    async def _in_group(self, session: str, group: PlacementGroup, **how: Any) -> CellHandle:
        try:
            handle = await self._factory.create(group=group, **how)
        except SylkError:
            if not self._owned[session]:
                await self._factory.release(self._groups.pop(session), [])
            raise
        self._cells[handle.cell] = handle
        return handle

    async def _open_on(self, handle: CellHandle, binding: SessionBinding) -> None:
        key = (handle.cell, binding.session)
        if key not in self._opened:
            await handle.call("open_session", binding)
            self._opened.add(key)

    # -- watching ---------------------------------------------------------------------------------------------

    def _gateway(self) -> list[CellHandle]:
        try:
            return [CellHandle("gateway", ray.get_actor("gateway", NAMESPACE))]
        except ValueError:
            return []

    async def _look(self, handle: CellHandle) -> tuple[Any, Any] | None:
        try:
            return await asyncio.gather(handle.call("info", timeout=2), handle.call("agents", timeout=2))
        except (TimeoutError, RayError, SylkError) as problem:
            log.warning("%s does not answer: %r", handle.cell, problem)
            return None

    async def _watch_cells(self, ctx: Context) -> None:
        while True:
            await asyncio.sleep(WATCH_EVERY_S)
            await asyncio.gather(*(self._check(handle, ctx) for handle in list(self._cells.values())))

    async def _check(self, handle: CellHandle, ctx: Context) -> None:
        try:
            await handle.call("info", timeout=30)
        except TimeoutError:
            log.warning("%s has not answered for 30 s", handle.cell)
        except ActorUnavailableError as problem:
            log.warning("%s is out of reach, and may come back: %s", handle.cell, _why(problem))
        except RayError as problem:
            await self._cell_died(handle, _why(problem), ctx)
        except Exception:
            log.exception("%s could not be looked at", handle.cell)

    def _forget(self, cell: str, ctx: Context) -> None:
        """A cell was ended on purpose: nobody shall keep a way to it."""
        ctx.cell_died(cell)
        for other in self._gateway():
            other.actor.peer_lost.remote(cell)

    async def _cell_died(self, handle: CellHandle, why: str, ctx: Context) -> None:
        cell = handle.cell
        if self._cells.pop(cell, None) is None:
            return
        # Whatever befell it, it must not go on working while others clear up after it.
        await handle.kill()
        sessions = {session for opened, session in self._opened if opened == cell}
        sessions.update(self._packing.lose_cell(cell))
        self._opened = {(opened, session) for opened, session in self._opened if opened != cell}
        log.error("%s died with agents of %s: %s", cell, ", ".join(sorted(sessions)) or "no session", why)
        ctx.cell_died(cell)
        others = [*self._gateway(), *self._cells.values()]
        await asyncio.gather(*(other.call("peer_lost", cell, timeout=5) for other in others), return_exceptions=True)
        try:
            await ctx.tell(GUIDE, CellDied(cell, sorted(sessions)))
        except SylkError as error:
            log.warning("the guide could not be told that %s died: %s", cell, error)


def _why(problem: RayError) -> str:
    return str(problem).splitlines()[0]


def class_name_of(role: str) -> str:
    """What the Ray dashboard calls an actor of a role: ``session_router`` becomes ``SessionRouter``."""
    if role == ROUTER:
        return "SessionRouter"
    return "".join(part.capitalize() for part in role.replace("-", "_").split("_"))
