"""When to speak of what changed: once things have settled, and of many things at once.

Pure: it is told what changed and what time it is, and says when to ask again.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

QUIET = 0.1
"""Seconds without a change after which what was collected is told."""
LONGEST = 5.0
"""Seconds after which it is told although changes go on."""
MANY = 100
"""Changed paths above which a look at everything is cheaper than one at each."""


class Batch(msgspec.Struct, frozen=True):
    """What changed, told at once."""

    paths: tuple[str, ...] = ()
    """Relative to the root, in order; files and folders, that exist or do not any more."""
    everything: bool = False
    """So much may be another that all of the root is to be looked at; ``paths`` is empty then."""


class Debouncer:
    """Collects changes into batches. Times are seconds of one clock."""

    def __init__(self, *, quiet: float = QUIET, longest: float = LONGEST, many: int = MANY) -> None:
        self._quiet = quiet
        self._longest = longest
        self._many = many
        self._paths: set[str] = set()
        self._everything = False
        self._locked = False
        self._first: float | None = None
        self._last = 0.0

    def changed(self, paths: Iterable[str], now: float, *, everything: bool = False) -> None:
        """Some paths changed; or with ``everything``, what cannot be told path by path."""
        self._paths.update(paths)
        self._everything = self._everything or everything or len(self._paths) > self._many
        if self._everything:
            self._paths.clear()
        if self._paths or self._everything:
            self._first = now if self._first is None else self._first
            self._last = now

    def lock(self, held: bool, now: float) -> None:
        """Git holds the lock of its index, or let it go: what happens meanwhile is one change."""
        if self._locked != held:
            self._locked = held
            self._last = now

    def due(self) -> float | None:
        """When the batch is ready if nothing more changes; None if there is none."""
        if self._first is None:
            return None
        latest = self._first + self._longest
        return latest if self._locked else min(self._last + self._quiet, latest)

    def take(self, now: float) -> Batch | None:
        """The batch, if it is due."""
        due = self.due()
        if due is None or now < due:
            return None
        batch = Batch((), True) if self._everything else Batch(tuple(sorted(self._paths)))
        self._paths.clear()
        self._everything = False
        self._first = None
        return batch
