"""Storing what was found while more is being found."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager

AHEAD = 2
"""What waits to be stored at most."""


@contextmanager
def stored_beside(
    transaction: Callable[[], AbstractContextManager[None]],
) -> Generator[Callable[[Callable[[], None]], None]]:
    """Gives a function that has writes done in order, each in a transaction of its own, in a thread beside. All are
    done when the block has ended. What a write raises is raised by one of the next calls, or at the end, and then
    nothing that came after it was done."""

    waiting: deque[Future[None]] = deque()
    failed = threading.Event()

    def write(do: Callable[[], None]) -> None:
        if failed.is_set():
            return
        try:
            with transaction():
                do()
        except BaseException:
            failed.set()
            raise

    def store(do: Callable[[], None]) -> None:
        waiting.append(thread.submit(write, do))
        while len(waiting) > AHEAD:
            waiting.popleft().result()

    with ThreadPoolExecutor(1) as thread:
        try:
            yield store
        except BaseException:
            failed.set()
            raise
        while waiting:
            waiting.popleft().result()
