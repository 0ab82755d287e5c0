"""The processes of a tool run: finding every one of them, however they hide, and ending them.

A process belongs to a run if it descends from the run's first process, is in its session, or carries the
run's marker in its environment; the last finds daemons that were reparented. Read straight from ``/proc``, in
one pass, since with many tools at work that pass is what watching them costs.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sylk_ray.tools.cgroups import end_group
from sylk_ray.tools.environment import MARKER

_PAGE = os.sysconf("SC_PAGE_SIZE")
_GIVE_UP_S = 5.0


@dataclass(frozen=True)
class Entry:
    """One process of the table; pid and start (clock ticks since boot) identify it for good."""

    pid: int
    start: int
    parent: int
    group: int
    session: int
    rss_bytes: int


@dataclass(frozen=True)
class ToolProcess:
    """A living process that carries a run's marker."""

    pid: int
    run_id: str
    command: str


def process_table() -> dict[int, Entry]:
    """All living processes; zombies are not among them."""
    table: dict[int, Entry] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - in the hot path
        if name.isdigit() and (entry := _entry(int(name))) is not None:
            table[entry.pid] = entry
    return table


def descendants(table: dict[int, Entry], roots: Iterable[int]) -> set[Entry]:
    """The given processes, as far as they live, and all that they started."""
    children: dict[int, list[Entry]] = {}
    for entry in table.values():
        children.setdefault(entry.parent, []).append(entry)
    found: set[Entry] = set()
    pending = [table[pid] for pid in roots if pid in table]
    while pending:
        entry = pending.pop()
        if entry not in found:
            found.add(entry)
            pending += children.get(entry.pid, ())
    return found


class RunProcesses:
    """The processes of one run, remembered from look to look, because a parent's end hides its children."""

    def __init__(self, leader: int, run_id: str, group: Path | None = None) -> None:
        """``leader`` is the pid of the first, ``group`` their control group, if they have one."""
        self._leader = leader
        self._run_id = run_id
        self._group = group
        self._seen: dict[int, int] = {}

    def living(self, *, search_markers: bool) -> set[Entry]:
        """Those that live now. Reading every environment costs more, so it is left to the end of a run."""
        table = process_table()
        roots = {self._leader} | {
            pid for pid, start in self._seen.items() if pid in table and table[pid].start == start
        }
        roots |= {entry.pid for entry in table.values() if entry.session == self._leader}
        if search_markers:
            own = _lineage(table)
            roots |= {pid for pid in table if pid not in own and _run_of(pid) == self._run_id}
        found = descendants(table, roots)
        self._seen.update((entry.pid, entry.start) for entry in found)
        return found

    def stop(self, grace_s: float) -> int:
        """End them all; return how many were left after all. Blocks until they are gone. The first ends when no other
        is left (``confine``), and passes on what it is asked, also when it has not started the program yet."""
        if not grace_s and self._group is not None:
            end_group(self._group)
        _signal({self._leader}, signal.SIGTERM if grace_s else signal.SIGUSR2)
        return _stop(lambda: self.living(search_markers=True), grace_s, spared=self._leader)

    def started(self) -> set[Entry]:
        """Those that live, without the first."""
        return {entry for entry in self.living(search_markers=False) if entry.pid != self._leader}


def find_tool_processes(run_id_prefix: str | None = None, *, cell: str = "") -> tuple[ToolProcess, ...]:
    """Every living process that a tool run left, of the runs whose id starts so and that a cell started, or of all.
    A few ms."""
    table = process_table()
    own = _lineage(table)
    found: list[ToolProcess] = []
    for pid in sorted(table.keys() - own):
        run_id = _run_of(pid)
        if run_id is None or not run_id.startswith(run_id_prefix or ""):
            continue
        if not cell or run_id.endswith(f"@{cell}"):
            found.append(ToolProcess(pid, run_id, _command_of(pid)))
    return tuple(found)


async def kill_tool_processes(run_id_prefix: str | None = None, *, cell: str = "", grace_s: float = 1.0) -> int:
    """End what ``find_tool_processes`` finds, with all descendants; how many there were at first."""

    def living() -> set[Entry]:
        marked = [each.pid for each in find_tool_processes(run_id_prefix, cell=cell)]
        return descendants(process_table(), marked)

    count = len(await asyncio.to_thread(living))
    if count:
        await asyncio.to_thread(_stop, living, grace_s)
    return count


def _stop(find: Callable[[], set[Entry]], grace_s: float, spared: int = 0) -> int:
    """Until nothing is found any more. The process ``spared`` is only waited for."""
    asked = {spared}
    started = time.monotonic()
    while living := find():
        waited = time.monotonic() - started
        if waited > grace_s + _GIVE_UP_S:
            return len(living)
        pids = {entry.pid for entry in living}
        if waited >= grace_s:
            _kill({entry for entry in living if entry.pid != spared})
        else:
            _signal(pids - asked, signal.SIGTERM)
        asked |= pids
        time.sleep(0.01)
    return 0


def _kill(living: set[Entry]) -> None:
    """Groups first and whole, which the kernel does at one instant: one by one, those that start others without end
    would be faster. A group whose leader is not the run's may have others in it."""
    pids = {entry.pid for entry in living}
    for group in {entry.group for entry in living} & pids:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)
    _signal(pids, signal.SIGKILL)


def _signal(pids: set[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _entry(pid: int) -> Entry | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - in the hot path
            text = file.read()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = text[text.rindex(b")") + 2 :].split()
    if fields[0] in (b"Z", b"X") and fields[17] == b"1":  # with more threads only its first has ended
        return None
    return Entry(pid, int(fields[19]), int(fields[1]), int(fields[2]), int(fields[3]), int(fields[21]) * _PAGE)


def _run_of(pid: int) -> str | None:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:  # noqa: PTH123 - in the hot path
            environment = file.read()
    except OSError:
        return None
    name = MARKER.encode() + b"="
    if name not in environment:
        return None
    for variable in environment.split(b"\0"):
        if variable.startswith(name):
            return os.fsdecode(variable[len(name) :])
    return None


def _command_of(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:  # noqa: PTH123
            return os.fsdecode(file.read().rstrip(b"\0").replace(b"\0", b" "))
    except OSError:
        return ""


def _lineage(table: dict[int, Entry]) -> set[int]:
    """This process and its ancestors, which are never a run's own, even when sylk itself runs as a tool."""
    lineage: set[int] = set()
    pid = os.getpid()
    while pid and pid not in lineage:
        lineage.add(pid)
        pid = table[pid].parent if pid in table else 0
    return lineage
