"""How much a tool run adds to the disk, watched by walking the folders that it may write to."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

_BLOCK = 512
_INTERVAL_S = (0.25, 10.0)
_WALK_SHARE = 10
"""Walking may take one part in this many of the time, so the larger the folders, the rarer the look."""


def used_bytes(folders: Sequence[Path], stop: threading.Event) -> int:
    """What the folders take on the disk; links are not followed. What vanishes meanwhile does not count."""
    used = 0
    pending = [str(folder) for folder in folders]
    while pending and not stop.is_set():
        with suppress(OSError), os.scandir(pending.pop()) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):
                    used += entry.stat(follow_symlinks=False).st_blocks * _BLOCK
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
    return used


async def wait_for_growth(folders: Sequence[Path], limit_bytes: int) -> None:
    """Return once the folders have grown by more than the limit since the call; cancel it otherwise."""
    stop = threading.Event()
    try:
        took, before = await asyncio.to_thread(_timed_use, folders, stop)
        while True:
            shortest, longest = _INTERVAL_S
            await asyncio.sleep(min(longest, max(shortest, _WALK_SHARE * took)))
            took, now = await asyncio.to_thread(_timed_use, folders, stop)
            if now - before > limit_bytes:
                return
    finally:
        stop.set()


def _timed_use(folders: Sequence[Path], stop: threading.Event) -> tuple[float, int]:
    started = time.monotonic()
    used = used_bytes(folders, stop)
    return time.monotonic() - started, used
