"""Whom to kill."""

from __future__ import annotations

import psutil

from sylk_ray.runtime.fleet_messages import CellStatus
from tests.cluster import Runtime


async def cell_with(runtime: Runtime, role: str, session: str) -> CellStatus:
    """The cell that an agent of a session lives in."""

    async def look() -> list[CellStatus]:
        census = await runtime.census()
        names = {agent.cell for agent in census.agents if (agent.session, agent.role) == (session, role)}
        return [cell for cell in census.cells if cell.cell in names]

    return (await runtime.until(look, bool, seconds=20))[0]


async def process_of(runtime: Runtime, victim: str, session: str) -> psutil.Process:
    """Of the system's or the gateway's cell, or of the cell with a session's agent of a role."""
    if victim in ("system", "gateway"):
        return psutil.Process(await runtime.pid_of(victim))
    return psutil.Process((await cell_with(runtime, victim, session)).pid)
