"""Asking every cell who lives there."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (Ray's own annotations are partly unknown)

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Sequence

import ray
from ray.exceptions import RayError

from sylk_ray.errors import SylkError
from sylk_ray.runtime.cluster.cell import CellInfo
from sylk_ray.runtime.cluster.factory import CellHandle
from sylk_ray.runtime.cluster.transport import NAMESPACE
from sylk_ray.runtime.context import Context
from sylk_ray.runtime.fleet_messages import CellStatus, Census
from sylk_ray.runtime.slots import AgentInfo

PATIENCE_S = 2.0

log = logging.getLogger("sylk.fleet")


async def gateway_handles() -> list[CellHandle]:
    """The gateway's cell, if there is one: it is the system's own, and belongs to no session."""
    try:
        return [CellHandle("gateway", await asyncio.to_thread(ray.get_actor, "gateway", NAMESPACE))]
    except ValueError:
        return []


async def look_at(handle: CellHandle, patience_s: float = PATIENCE_S) -> tuple[CellInfo, list[AgentInfo]] | None:
    """What a cell says of itself and its agents; None when it does not answer in time."""
    try:
        return await asyncio.gather(handle.call("info", timeout=patience_s), handle.call("agents", timeout=patience_s))
    except (TimeoutError, RayError, SylkError) as problem:
        log.warning("%s does not answer: %r", handle.cell, problem)
        return None


async def take_census(cells: Sequence[CellHandle], idle: Sequence[CellHandle], ctx: Context) -> Census:
    """Ask the cells, the idle ones, and the gateway's; the asker's own is looked at from within, for a cell that
    calls itself through Ray gets no answer."""
    warm = {handle.cell for handle in idle}
    handles = [*await gateway_handles(), *cells, *idle]
    answers = await asyncio.gather(*(look_at(handle) for handle in handles))
    agents = ctx.neighbours()
    node = ray.get_runtime_context().get_node_id()
    sessions = sorted({agent.session for agent in agents})
    found = [CellStatus(ctx.cell, "System(guide, fleet)", os.getpid(), node, sessions, len(agents), "")]
    silent: list[str] = []
    for handle, answer in zip(handles, answers, strict=True):
        if answer is None:
            silent.append(handle.cell)
            continue
        info, living = answer
        found.append(
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
    return Census(found, agents, silent)
