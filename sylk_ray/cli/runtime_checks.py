"""Whether the runtime of a state directory is whole, and what earlier ones left behind."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

from sylk_ray.cli.examination import Check, Finding
from sylk_ray.cli.leftovers import end_ray, ray_processes, remove_ray_files
from sylk_ray.cli.lifecycle import find_running
from sylk_ray.cli.state import read_state, state_path
from sylk_ray.gateway.door import door_path
from sylk_ray.runtime.cluster.head import is_head, temp_dir
from sylk_ray.sessions import SessionRecord
from sylk_ray.sessions.store import read_records
from sylk_ray.sessions.workspace import Workspace
from sylk_ray.tools import find_tool_processes, kill_tool_processes


def runtime(home: Path) -> Iterator[Finding]:
    """The gateway answers, the head lives, and the records tell the truth."""
    running = find_running(home)
    state = read_state(home)
    headed = state is not None and is_head(state.head_pid, home)
    if running is not None:
        yield Finding("gateway", "ok", f"answers at {running.gateway_url}")
        if headed and state is not None:
            yield Finding("ray head", "ok", f"process {state.head_pid}")
        else:
            yield Finding("ray head", "warn", "the gateway answers, but runtime.json names no living Ray head")
        return
    if headed and state is not None:
        hint = "`sylk up` starts what is missing, `sylk down` ends the rest"
        yield Finding("gateway", "fail", f"does not answer, though Ray runs (process {state.head_pid})", hint)
        return
    yield Finding("gateway", "ok", "no runtime runs")
    stale = [path for path in (state_path(home), door_path(home)) if path.exists()]
    if stale:

        def remove() -> str:
            for path in stale:
                path.unlink(missing_ok=True)
            return "removed"

        told = ", ".join(path.name for path in stale)
        yield Finding("state file", "warn", f"{told} of a runtime that is gone", "--fix removes it", remove)


def ray_leftovers(home: Path) -> Iterator[Finding]:
    """Processes and files of a Ray that nobody leads any more."""
    state = read_state(home)
    if find_running(home) is not None or (state is not None and is_head(state.head_pid, home)):
        return
    processes = ray_processes(home)
    if processes:
        told = ", ".join(str(process.pid) for process in processes[:10])

        def end() -> str:
            return f"ended {end_ray(home)}"

        yield Finding("ray processes", "fail", f"{len(processes)} without a head: {told}", "--fix ends them", end)
    elif temp_dir(home).exists():

        def remove() -> str:
            return "removed" if remove_ray_files(home) else "was gone"

        yield Finding("ray files", "warn", f"{temp_dir(home)} is left over", "--fix removes it", remove)


def tool_processes(home: Path) -> Iterator[Finding]:
    """Tools of this state directory's sessions that run although no runtime does."""
    if find_running(home) is not None:
        return
    left = [each for session, _ in read_records(home) for each in find_tool_processes(f"{session.id}.")]
    if not left:
        yield Finding("tool processes", "ok", "none left over")
        return

    def kill() -> str:
        async def kill_all() -> int:
            counts = [await kill_tool_processes(f"{session.id}.") for session, _ in read_records(home)]
            return sum(counts)

        return f"killed {asyncio.run(kill_all())}"

    told = ", ".join(f"{each.pid} ({each.command[:40]})" for each in left[:5])
    yield Finding("tool processes", "fail", f"{len(left)} run without a runtime: {told}", "--fix kills them", kill)


def workspaces(home: Path) -> Iterator[Finding]:
    """Worktrees of sessions that no runtime holds."""
    if find_running(home) is not None:
        return
    left = [session for session, _ in read_records(home) if _has_work(home, session)]
    if not left:
        yield Finding("worktrees", "ok", "none left over")
        return
    for session in left:

        def close(session: SessionRecord = session) -> str:
            asyncio.run(_workspace(home, session).close())
            return "removed"

        detail = f"session {session.name} left worktrees for {session.repo}"
        yield Finding("worktrees", "warn", detail, "--fix removes them; the branch stays", close)


def _has_work(home: Path, session: SessionRecord) -> bool:
    return any(_workspace(home, session).directory.worktrees.glob("*"))


def _workspace(home: Path, session: SessionRecord) -> Workspace:
    return Workspace(home, session.id, session.name, Path(session.repo))


CHECKS: tuple[Check, ...] = (runtime, ray_leftovers, tool_processes, workspaces)
