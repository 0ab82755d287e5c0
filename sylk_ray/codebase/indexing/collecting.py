"""The garbage collector, held up while much is made at once."""

from __future__ import annotations

import gc
import threading
from collections.abc import Generator
from contextlib import contextmanager

_lock = threading.Lock()
_held_up = 0
"""How many ask for it now."""


@contextmanager
def without_collector() -> Generator[None]:
    """For what makes hundreds of thousands of objects and no cycles of them: the collector would look through all of
    them again and again, a tenth of the time of an indexing. Those without cycles are freed as ever."""
    global _held_up
    with _lock:
        mine = gc.isenabled() or _held_up > 0
        _held_up += mine
        gc.disable()
    try:
        yield
    finally:
        with _lock:
            _held_up -= mine
            if mine and not _held_up:
                gc.enable()
