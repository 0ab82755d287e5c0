"""Who asks goes before who indexes.

Python runs one thread at a time, and takes turns without knowing who is waited for: a search beside an indexing took
three times as long as in quiet. So an indexing waits between its steps while something is asked, and works on for as
long as it has waited before it waits again: it waits for half of the time at most, however much is asked.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

LONGEST_S = 0.05
"""That an indexing waits at once."""


class Precedence:
    """Any number of threads may ask, and give way."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._asking = 0
        self._changed = threading.Condition()
        self._not_before = float("-inf")
        """Until then nobody gives way."""

    @contextmanager
    def asking(self) -> Generator[None]:
        """While something is asked."""
        with self._changed:
            self._asking += 1
        try:
            yield
        finally:
            with self._changed:
                self._asking -= 1
                if not self._asking:
                    self._changed.notify_all()

    def give_way(self) -> None:
        """Wait while something is asked, at most ``LONGEST_S``; a microsecond where nothing is. Not to be called with a
        lock that others may wait for."""
        if not self._asking:
            return
        with self._changed:
            began = self._clock()
            if began < self._not_before:
                return
            self._changed.wait_for(lambda: not self._asking, LONGEST_S)
            ended = self._clock()
            # Several may have waited: what one of them may do, all may.
            self._not_before = max(self._not_before, ended + (ended - began))
