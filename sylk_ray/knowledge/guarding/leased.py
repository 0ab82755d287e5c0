"""Whether a reader of an earlier owner may still count on its lease: a note on the disk, made before one is granted.

Times are seconds since the machine started, which all of its processes count alike; of another start nothing is known.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from pathlib import Path

AHEAD = 30.0
"""Seconds that a note is good for, so that it is not written with every lease."""
_BOOT = Path("/proc/sys/kernel/random/boot_id")


class Leased:
    """The note of one directory. Threads may share it."""

    def __init__(self, path: Path, clock: Callable[[], float]) -> None:
        self._path = path
        self._clock = clock
        self._until = float("-inf")
        self._writing = threading.Lock()

    def may_be_held(self) -> bool:
        """Whether an owner before this one may have granted a lease that is not over."""
        try:
            boot, until = self._path.read_text().split()
            return boot != _boot() or self._clock() < float(until)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except (OSError, ValueError):
            return True

    def note(self, duration: float) -> None:
        """A lease of so many seconds is about to be granted. Raises OSError; then none may be."""
        needed = self._clock() + duration
        with self._writing:
            if needed <= self._until:
                return
            until = needed + AHEAD
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            new = self._path.with_name(f"{self._path.name}.new")
            new.write_text(f"{_boot()} {until}\n")
            new.replace(self._path)
            self._until = until

    def over(self) -> None:
        """None is held any more."""
        self._until = float("-inf")
        with contextlib.suppress(OSError):
            self._path.unlink()


def _boot() -> str:
    try:
        return _BOOT.read_text().strip()
    except OSError:
        return f"host-{os.uname().nodename}"
