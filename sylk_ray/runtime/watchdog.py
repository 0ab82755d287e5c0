"""Finds out who blocks an event loop: a thread that asks the loop for a sign of life."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
import traceback
from collections.abc import Callable

log = logging.getLogger("sylk.watchdog")


class Watchdog:
    """Asks every ``every_s`` seconds; when no sign comes for ``report_s`` it reports the task at work and where it
    stands, once a blockage. ``blocked`` is called with the task's name and the seconds, when the loop is free again.

    A task of a host is named after its agent, so a report names the agent.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        *,
        report_s: float,
        every_s: float = 0.05,
        blocked: Callable[[str, float], None] = lambda name, seconds: None,
    ) -> None:
        self._loop = loop
        self._report_s = report_s
        self._every_s = every_s
        self._blocked = blocked
        self._loop_thread = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)
        self.blocking = ""
        """The name of the task that blocks the loop right now, empty while it is free."""

    def start(self) -> None:
        """Begin to watch; call on the loop's own thread."""
        self._loop_thread = threading.get_ident()
        self._thread.start()

    def stop(self) -> None:
        """Watch no more."""
        self._stop.set()

    def _watch(self) -> None:
        while not self._stop.wait(self._every_s):
            sign = threading.Event()
            asked = time.monotonic()
            try:
                self._loop.call_soon_threadsafe(sign.set)
            except RuntimeError:
                return
            if sign.wait(self._report_s):
                continue
            name = self._report(asked)
            while not sign.wait(0.5) and not self._stop.is_set():
                pass
            self.blocking = ""
            seconds = time.monotonic() - asked
            log.warning("%s held the event loop for %.2f s", name, seconds)
            self._blocked(name, seconds)

    def _report(self, asked: float) -> str:
        task = asyncio.current_task(self._loop)
        name = task.get_name() if task is not None else "the event loop"
        self.blocking = name
        frame = sys._current_frames().get(self._loop_thread)  # pyright: ignore[reportPrivateUsage]
        where = "".join(traceback.format_stack(frame)[-3:]) if frame is not None else ""
        log.warning(
            "%s does not await: it has held the event loop for %.2f s, and every agent of this cell waits for it\n%s",
            name,
            time.monotonic() - asked,
            where,
        )
        return name
