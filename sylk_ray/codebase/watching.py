"""A root watched: batches of what changed in it, as long as one asks for them.

::

    async for batch in watch(Selection(root), stop=stop):
        found = changes(selection, stamps, only=None if batch.everything else batch.paths)

What does not count is not told, except for what ceased to count. When an ignore file changes, or another branch is
checked out, everything is to be looked at again.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path

from watchfiles import Change, awatch  # pyright: ignore[reportUnknownVariableType]

from sylk_ray.codebase.debouncing import Batch, Debouncer
from sylk_ray.codebase.ignoring import IGNORE_FILE
from sylk_ray.codebase.left_out import folder_is_left_out, name_is_left_out
from sylk_ray.codebase.selection import Selection

_STEP_MS = 50
_BRANCH = frozenset({"HEAD", "ORIG_HEAD", "MERGE_HEAD"})
_NOTHING: frozenset[str] = frozenset()


async def watch(
    selection: Selection,
    *,
    stop: asyncio.Event,
    ready: asyncio.Event | None = None,
    debouncer: Debouncer | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> AsyncIterator[Batch]:
    """Batches of changes until ``stop`` is set; ``ready`` is set when changes from now on will be seen."""
    waiting = debouncer or Debouncer()
    sorting = Sorting(selection.root)
    seen = awatch(
        selection.root,
        watch_filter=sorting.is_watched,
        step=_STEP_MS,
        debounce=_STEP_MS,
        rust_timeout=_STEP_MS,
        yield_on_timeout=True,
        stop_event=stop,
        ignore_permission_denied=True,
    )
    async for happened in seen:
        if ready is not None and not ready.is_set():
            ready.set()
        now = clock()
        if happened:
            told = sorting.sort(happened)
            waiting.changed(_that_count(selection, told.paths), now, everything=told.everything)
        waiting.lock(sorting.is_locked(), now)
        if batch := waiting.take(now):
            yield batch


class Sorting:
    """Tells apart what happened in a root: to its files, to its ignore files, to its git directory."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self._git = root / ".git"

    def is_locked(self) -> bool:
        """Whether git is at work on the files."""
        return (self._git / "index.lock").exists()

    def is_watched(self, change: Change, path: str) -> bool:
        """Whether a change is to be heard of at all; by its name alone."""
        parts = self._parts(path)
        if not parts:
            return False
        if parts[0] == ".git":
            return len(parts) == 2 and parts[1] in _BRANCH
        if any(folder_is_left_out(part, _NOTHING) for part in parts[:-1]):
            return False
        return not name_is_left_out(parts[-1])

    def sort(self, happened: Iterable[tuple[Change, str]]) -> Batch:
        """As one batch, of which not all may count."""
        paths: set[str] = set()
        everything = False
        for _, path in happened:
            parts = self._parts(path)
            if parts[:1] == [".git"] or parts[-1:] == [IGNORE_FILE]:
                everything = True
            elif parts:
                paths.add("/".join(parts))
        return Batch(() if everything else tuple(sorted(paths)), everything)

    def _parts(self, path: str) -> list[str]:
        if not path.startswith(f"{self._root}/"):
            return []
        return path[len(self._root) + 1 :].split("/")


def _that_count(selection: Selection, paths: Iterable[str]) -> list[str]:
    """Without those that exist and do not count by their name."""
    counting: list[str] = []
    for path in paths:
        if not os.path.lexists(selection.root / path) or selection.decide_by_name(path).counts:
            counting.append(path)
    return counting
