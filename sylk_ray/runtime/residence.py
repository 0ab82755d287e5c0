"""The sessions that live in one cell: open ones with their journals, closed ones so that they are refused."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Sequence

from sylk_ray.errors import SylkError
from sylk_ray.messaging import SHARED, Event
from sylk_ray.runtime.clock import Clock
from sylk_ray.runtime.directory import SessionBinding
from sylk_ray.runtime.journal import Journal, Journals, PatientJournal
from sylk_ray.runtime.turns import Turns

REMEMBERED_CLOSED = 10_000

log = logging.getLogger("sylk.host")


class Residence:
    """``stalled`` is told of a session that waits for room on its disk, and (None) when it goes on."""

    def __init__(
        self, cell: str, journals: Journals, clock: Clock, stalled: Callable[[str, SylkError | None], None]
    ) -> None:
        self._cell = cell
        self._journals = journals
        self._clock = clock
        self._stalled = stalled
        self._bindings: dict[str, SessionBinding] = {}
        self._open: dict[str, Journal] = {}
        self._closed: dict[str, None] = {}
        self._held: set[str] = set()
        self._turns = Turns()

    async def open(self, binding: SessionBinding) -> Journal:
        """Have the session's journal open, with the binding's fenced cells fenced. Raises what Journals.open does."""
        session = binding.session
        async with self._turns.of(session):
            journal = self._open.get(session)
            if journal is None:
                opened = await self._opened(session, binding.fenced)
                reopen = functools.partial(self._opened, session)
                journal = self._open[session] = PatientJournal(opened, self._clock, self._stalled, reopen)
            else:
                for cell in binding.fenced:
                    await journal.fence(cell)
            self._bindings[session] = binding
            self._closed.pop(session, None)
            self._held.discard(session)
            return journal

    async def _opened(self, session: str, fenced: Sequence[str] = ()) -> Journal:
        """Opened, a damaged file is repaired; the session's history tells of it."""
        journal = await self._journals.open(session, self._cell, fence=fenced)
        report = journal.report
        if not report.whole:
            log.error("the journal of %s was damaged: %s", session, report)
            told = {"problem": report.problem, "saved": report.saved, "damaged_file": report.damaged_file}
            await journal.add_events([Event("journal.repaired", session, "", told, 0, self._clock.now())])
        return journal

    async def close(self, session: str) -> None:
        """Refuse the session from now on, and let its journal go."""
        self.refuse(session)
        async with self._turns.of(session):
            self.refuse(session)  # again, for it may have been opened meanwhile
            journal = self._open.pop(session, None)
            if journal is not None:
                await journal.close()
            self._bindings.pop(session, None)
            self._held.discard(session)

    def refuse(self, session: str) -> None:
        """Take nothing more for the session."""
        self._closed[session] = None
        while len(self._closed) > REMEMBERED_CLOSED:
            self._closed.pop(next(iter(self._closed)))

    def hold(self, session: str) -> None:
        """Let the session's agents begin with no further message."""
        self._held.add(session)

    def is_held(self, session: str) -> bool:
        """Whether they may not."""
        return session in self._held

    def is_open(self, session: str) -> bool:
        """Whether agents of the session may live here."""
        return session == SHARED or (session in self._open and session not in self._closed)

    def is_closed(self, session: str) -> bool:
        """Whether the session was here and is no more."""
        return session in self._closed

    def is_here(self, session: str) -> bool:
        """Whether the session is open, or just being opened or closed."""
        return session in self._open or session in self._turns

    def journal(self, session: str) -> Journal | None:
        """The journal of an open session."""
        return self._open.get(session)

    def bindings(self) -> list[SessionBinding]:
        """The open sessions."""
        return list(self._bindings.values())

    async def prune(self) -> None:
        """Let every open journal forget what nobody needs."""
        for session, journal in list(self._open.items()):
            try:
                await journal.prune(self._clock.now())
            except SylkError as error:
                log.warning("the journal of %s could not be pruned: %s", session, error)
