"""``sylk status`` and ``sylk ps``."""

from __future__ import annotations

import time
from typing import Any

from sylk_ray.cli.humanise import duration
from sylk_ray.cli.shell import Home, Json, Shell
from sylk_ray.cli.state import read_state, state_path
from sylk_ray.errors import RuntimeNotReachable


def status(home: Home = None, json: Json = False) -> None:
    """Say whether a runtime runs, and what it is at. Exits with 3 when none does.

    Examples:

      sylk status

      sylk status --json
    """
    shell = Shell(home, json)
    state = read_state(shell.home)
    try:
        client = shell.client()
        told = client.get("/status")
    except RuntimeNotReachable as error:
        if state is None:
            raise
        raise RuntimeNotReachable(
            f"{error.message}; {state_path(shell.home)} is of an earlier one (process {state.head_pid})",
            hint="start a runtime with `sylk up`, which replaces the stale file",
        ) from error
    dashboard = state.dashboard_url if state is not None else ""
    shell.document({"running": True, "gateway_url": client.url, "dashboard_url": dashboard, **told})
    if json:
        return
    shell.say(f"sylk {told['version']} runs for {duration(told['uptime_s'])} at {client.url} ({told['home']})")
    if dashboard:
        shell.say(f"Ray dashboard: {dashboard}")
    shell.say(f"{told['running_jobs']} running job(s), {told['sessions']} session(s), {told['agents']} agent(s)")
    shell.say(f"{told['cells']} cell(s), {told['warm_cells']} of them warm, density {told['density']}")
    if told["silent"]:
        shell.say(f"silent cells: {', '.join(told['silent'])}")
    shell.say(*(_illness(agent) for agent in told.get("health", []) if agent["condition"] != "healthy"))


def _illness(agent: dict[str, Any]) -> str:
    """An agent of the system that is not well, and what that means."""
    needed = "nothing goes without it" if agent["needed"] else "the rest goes on"
    problem = f": {agent['problem']}" if agent.get("problem") else ""
    since = duration(max(0.0, time.time() - agent["since"]))
    return f"{agent['agent']} is {agent['condition']} for {since} ({needed}){problem}"


def ps(home: Home = None, json: Json = False) -> None:
    """List the living agents, and the cells that they live in.

    Examples:

      sylk ps

      sylk ps --json
    """
    from rich.table import Table

    shell = Shell(home, json)
    census = shell.client().get("/agents")
    shell.document(census)
    if json:
        return
    nodes = {cell["cell"]: cell["node"][:8] for cell in census["cells"]}
    table = Table("agent", "role", "state", "cell", "node", "mailbox", "handled", "at", box=None, pad_edge=False)
    for agent in sorted(census["agents"], key=lambda each: each["address"]):
        table.add_row(
            agent["address"],
            agent["role"],
            agent["state"],
            agent["cell"],
            nodes.get(agent["cell"], "-"),
            str(agent["depth"]),
            str(agent["handled"]),
            agent["handling"] or "-",
        )
    shell.show(table)
    cells = Table("cell", "pid", "agents", "holds", box=None, pad_edge=False)
    for cell in census["cells"]:
        holds = "warm, waiting" if cell["warm"] else ", ".join(cell["sessions"]) or "-"
        if cell["blocked_by"]:
            holds += f" (blocked by {cell['blocked_by']})"
        cells.add_row(cell["cell"], str(cell["pid"]), str(cell["agents"]), holds)
    shell.say("")
    shell.show(cells)
    for silent in census["silent"]:
        shell.say(f"{silent} did not answer")
