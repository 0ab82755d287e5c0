"""A control group for the processes of one run, where this process may make one: the kernel then refuses what is too
many, at once, where counting them would come too late. An ordinary user's are bounded by a limit of their own user
namespace (``confine``); this is for root, whose processes no such limit counts.

Linux, Documentation/admin-guide/cgroup-v1/pids.rst and cgroup-v2.rst.
"""

from __future__ import annotations

import functools
import itertools
import os
import signal
import time
from contextlib import suppress
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
_PREFIX = "sylk-"
_PATIENCE_S = 0.5
_numbers = itertools.count()


def make_group(most: int) -> Path | None:
    """A new group of at most so many tasks (processes and their threads); None where there can be none. Blocks."""
    above = _above()
    if above is None:
        return None
    group = above / f"{_PREFIX}{os.getpid()}-{next(_numbers)}"
    try:
        group.mkdir()
        (group / "pids.max").write_text(str(most))
    except OSError:
        remove_group(group)
        return None
    return group


def end_group(group: Path) -> None:
    """Kill all in it, who from now on can start nothing more."""
    with suppress(OSError):
        (group / "pids.max").write_text("0")
    with suppress(OSError):
        for pid in (group / "cgroup.procs").read_text().split():
            with suppress(ProcessLookupError, PermissionError):
                os.kill(int(pid), signal.SIGKILL)


def remove_group(group: Path | None) -> None:
    """Once its processes are gone; what the kernel still tidies up is waited for a moment."""
    until = time.monotonic() + _PATIENCE_S
    while group is not None and group.is_dir():
        try:
            group.rmdir()
        except OSError:
            if time.monotonic() > until:
                return  # the next runtime tries again
            time.sleep(0.005)


@functools.cache
def _above() -> Path | None:
    """Where groups can be made, without those that a runtime has left there which is gone."""
    if os.geteuid() != 0:
        return None
    for above in _candidates():
        with suppress(OSError):
            if not (above / "cgroup.procs").exists():
                continue  # of a hierarchy that is not mounted there
            for left in above.glob(f"{_PREFIX}*-*"):
                if not Path("/proc", left.name.removeprefix(_PREFIX).partition("-")[0]).exists():
                    with suppress(OSError):
                        left.rmdir()
            trial = above / f"{_PREFIX}{os.getpid()}-trial"
            trial.mkdir()
            try:
                (trial / "pids.max").write_text("8")
                return above
            finally:
                trial.rmdir()
    return None


def _candidates() -> list[Path]:
    """Version 1: beneath our own. Version 2: beside it, since a group that has processes has no other controllers."""
    found: list[Path] = []
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "pids" in controllers.split(","):
            found.append(ROOT / controllers / path.lstrip("/"))
        elif not controllers:
            own = ROOT / path.lstrip("/")
            found.append(own if own == ROOT else own.parent)
    return found
