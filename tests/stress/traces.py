"""What jobs that are over may not leave."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import psutil

from sylk_ray.sessions import JobRecord
from sylk_ray.tools import find_tool_processes
from tests.cluster import Runtime
from tests.unit.sessions.conftest import git


@dataclass(frozen=True)
class Left:
    """What there is of jobs that are over."""

    tool_processes: int = 0
    worktrees: int = 0
    locks: int = 0
    """Of git, in the person's repository."""
    agents: int = 0
    placement_groups: int = 0


NOTHING = Left()


def errors_of(record: JobRecord) -> str:
    """Everything that is said to have gone wrong."""
    return "\n".join(f"{each.error}" for each in (record, *record.tasks.values()) if each.error)


async def left_of(runtime: Runtime, repo: Path, records: list[JobRecord]) -> Left:
    """Look for the traces of these jobs."""
    from ray.util.placement_group import placement_group_table

    sessions = {record.session_id for record in records}
    groups = [group["name"] for group in placement_group_table().values() if group["state"] != "REMOVED"]
    return Left(
        tool_processes=sum(len(find_tool_processes(f"{session}.")) for session in sessions),
        worktrees=git(repo, "worktree", "list", "--porcelain").count("worktree ") - 1,
        locks=len(list((repo / ".git").rglob("*.lock"))),
        agents=sum(agent.session in sessions for agent in (await runtime.census()).agents),
        placement_groups=sum(name.removeprefix("sylk-") in sessions for name in groups),
    )


async def until_nothing_is_left(runtime: Runtime, repo: Path, records: list[JobRecord], most: Left) -> None:
    """Clearing away goes on for a moment after a job is over."""
    await runtime.until(lambda: left_of(runtime, repo, records), lambda left: left == most, seconds=20)


async def open_files(runtime: Runtime) -> dict[int, int]:
    """The number of open files of each cell with agents, by process."""
    return {cell.pid: psutil.Process(cell.pid).num_fds() for cell in await runtime.cells()}
