"""Group commit: many callers on event loops, one thread that does what they ask in as few transactions as it can.

Nothing here knows of SQL. While one transaction is written the next callers queue up, and share the one after it:
the busier it is, the cheaper each write becomes.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Generic, Protocol, TypeVar

ResultT = TypeVar("ResultT")
ToolT = TypeVar("ToolT")

MOST_TOGETHER = 500
"""The most operations of one round: bounds how long other processes wait for a file, and callers for an answer."""
SETTLE_SECONDS = 0.005
"""How long a round of many sessions keeps those waiting that are done."""


@dataclass(frozen=True)
class Operation(Generic[ToolT]):
    """What a caller asks: ``act``, with what its store gives it to work with, in a transaction.

    ``fences`` names the writers that it replaces.
    """

    act: Callable[[ToolT], Any]
    writes: bool = True
    fences: tuple[str, ...] = ()


@dataclass(frozen=True)
class Alone:
    """What happens in its turn, but in no transaction."""

    act: Callable[[], Any]


@dataclass(frozen=True)
class Outcome:
    """What an operation came to: a value, or an error."""

    value: Any = None
    error: Exception | None = None


class Store(Protocol[ToolT]):
    """Where operations happen."""

    def run(self, operations: Sequence[Operation[ToolT] | Alone], /) -> list[Outcome]:
        """Do them in order, as one transaction when that is possible; one that fails leaves the others alone."""
        ...


@dataclass(frozen=True, eq=False)
class _Asked:
    store: Store[Any]
    operation: Operation[Any] | Alone
    future: asyncio.Future[Any]


class GroupWriter:
    """The thread and its queue. It starts with the first operation, and again after a stop."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[_Asked | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    def ask(self, store: Store[ToolT], operation: Operation[ToolT] | Alone) -> asyncio.Future[Any]:
        """Queue an operation. It happens whether or not the caller still waits when its turn comes."""
        if self._thread is None:
            with self._starting:
                if self._thread is None:
                    self._thread = threading.Thread(target=self._work, name="sylk-journal", daemon=True)
                    self._thread.start()
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._queue.put(_Asked(store, operation, future))
        return future

    async def stop(self) -> None:
        """End the thread after all that was queued is done."""
        with self._starting:
            thread, self._thread = self._thread, None
        if thread is not None:
            self._queue.put(None)
            await asyncio.to_thread(thread.join)

    def _work(self) -> None:
        while self._round():
            pass

    def _round(self) -> bool:
        """Wait for operations, and do all that there are; whether there may be more."""
        asked = [self._queue.get()]
        while asked[-1] is not None and len(asked) < MOST_TOGETHER:
            try:
                asked.append(self._queue.get_nowait())
            except Empty:
                break
        _do([each for each in asked if each is not None])
        return asked[-1] is not None


def _do(asked: Sequence[_Asked]) -> None:
    by_store: dict[int, list[_Asked]] = {}
    for each in asked:
        by_store.setdefault(id(each.store), []).append(each)
    done: list[tuple[asyncio.Future[Any], Outcome]] = []
    settled = time.monotonic()
    for group in by_store.values():
        try:
            outcomes = group[0].store.run([each.operation for each in group])
        except Exception as error:
            outcomes = [Outcome(error=error)] * len(group)
        done.extend(zip((each.future for each in group), outcomes, strict=True))
        if time.monotonic() - settled > SETTLE_SECONDS:
            _settle(done)
            done, settled = [], time.monotonic()
    _settle(done)


def _settle(done: list[tuple[asyncio.Future[Any], Outcome]]) -> None:
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Outcome]]] = {}
    for pair in done:
        by_loop.setdefault(pair[0].get_loop(), []).append(pair)
    for loop, pairs in by_loop.items():
        try:
            loop.call_soon_threadsafe(_answer, pairs)
        except RuntimeError:
            if not loop.is_closed():  # a closed one has nobody left who waits
                raise


def _answer(pairs: Sequence[tuple[asyncio.Future[Any], Outcome]]) -> None:
    for future, outcome in pairs:
        if future.done():
            continue
        if outcome.error is not None:
            future.set_exception(outcome.error)
        else:
            future.set_result(outcome.value)
