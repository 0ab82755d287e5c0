"""A journal that waits while its disk is full: the session stops, and goes on when there is room."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from sylk_ray.errors import SylkError
from sylk_ray.messaging import Address, Event
from sylk_ray.runtime.clock import Clock
from sylk_ray.runtime.journal.errors import JournalClosed, JournalDamaged, JournalFull
from sylk_ray.runtime.journal.faults import JournalUnavailable
from sylk_ray.runtime.journal.protocol import Journal
from sylk_ray.runtime.journal.records import (
    Committed,
    DeadLetter,
    Mail,
    Memory,
    Report,
    StepRecord,
    Transaction,
)

PAUSE_S = 1.0
AGAIN_S = 10.0
"""After so long that a session still waits is told again: who follows it since a moment ago knows nothing of it."""
ResultT = TypeVar("ResultT")

log = logging.getLogger("sylk.journal")


class PatientJournal:
    """See Journal. Nothing raises JournalFull or JournalUnavailable; ``stalled`` is told when writes begin to wait, and
    now and then while they do (with the error), and when they go on (with None). A journal that is found damaged is
    opened anew, once, which repairs it."""

    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        stalled: Callable[[str, SylkError | None], None],
        reopen: Callable[[], Awaitable[Journal]],
    ) -> None:
        self._reopen = reopen
        self.session = journal.session
        self.epoch = journal.epoch
        self.report: Report = journal.report
        self._journal = journal
        self._clock = clock
        self._stalled = stalled
        self._waiting = 0
        self._told_at: float | None = None
        """When it was last told that writes wait; None if none does."""
        self._repairing = asyncio.Lock()

    async def _written(self, write: Callable[[], Awaitable[ResultT]]) -> ResultT:
        waits = repaired = False
        try:
            while True:
                journal = self._journal
                try:
                    return await write()
                except JournalClosed:
                    if not await self._replaces(journal):
                        raise
                except JournalDamaged as error:
                    if repaired:
                        raise
                    repaired = True
                    await self._repair(journal, error)
                except (JournalFull, JournalUnavailable) as error:
                    if not waits:
                        waits = True
                        self._waiting += 1
                    self._tell(error)
                    await self._clock.sleep(PAUSE_S)
        finally:
            if waits:
                self._waiting -= 1
                if not self._waiting:
                    log.warning("session %s goes on", self.session)
                    self._told_at = None
                    self._stalled(self.session, None)

    def _tell(self, error: SylkError) -> None:
        now = self._clock.now()
        if self._told_at is None:
            log.warning("session %s stops until there is room: %s", self.session, error)
        elif 0 <= now - self._told_at < AGAIN_S:
            return
        self._told_at = now
        self._stalled(self.session, error)

    async def _replaces(self, closed: Journal) -> bool:
        """Whether a journal was closed only to be repaired; returns when there is another one."""
        async with self._repairing:
            return self._journal is not closed

    async def _repair(self, damaged: Journal, error: JournalDamaged) -> None:
        """Open the journal anew, once, however many have found it damaged: each opening fences the one before."""
        async with self._repairing:
            if self._journal is not damaged:
                return
            log.error("the journal of %s is damaged, and is repaired: %s", self.session, error)
            try:
                await damaged.close()
            except SylkError as problem:
                log.warning("the damaged journal of %s could not be closed: %s", self.session, problem)
            self._journal = await self._reopen()
            self.epoch, self.report = self._journal.epoch, self._journal.report

    async def commit(self, transaction: Transaction) -> Committed:
        """See Journal.commit."""
        return await self._written(lambda: self._journal.commit(transaction))

    async def add_events(self, events: Sequence[Event]) -> Committed:
        """See Journal.add_events."""
        return await self._written(lambda: self._journal.add_events(events))

    async def record_step(
        self, agent: Address, message_id: str, step: StepRecord, events: Sequence[Event] = ()
    ) -> Committed:
        """See Journal.record_step."""
        return await self._written(lambda: self._journal.record_step(agent, message_id, step, events))

    async def bury(self, letter: DeadLetter) -> None:
        """See Journal.bury."""
        await self._written(lambda: self._journal.bury(letter))

    async def forget(self, agent: Address) -> None:
        """See Journal.forget."""
        await self._written(lambda: self._journal.forget(agent))

    async def revive(self, mail_id: str) -> Mail | None:
        """See Journal.revive."""
        return await self._written(lambda: self._journal.revive(mail_id))

    async def drop(self, mail_id: str) -> bool:
        """See Journal.drop."""
        return await self._written(lambda: self._journal.drop(mail_id))

    async def recall(self, agent: Address) -> Memory:
        """See Journal.recall."""
        return await self._written(lambda: self._journal.recall(agent))

    async def agents(self) -> list[Address]:
        """See Journal.agents."""
        return await self._written(lambda: self._journal.agents())

    async def pending(self) -> list[Mail]:
        """See Journal.pending."""
        return await self._written(lambda: self._journal.pending())

    async def waits(self, mail_id: str) -> bool:
        """See Journal.waits."""
        return await self._written(lambda: self._journal.waits(mail_id))

    async def steps(self, agent: Address, message_id: str) -> dict[str, StepRecord]:
        """See Journal.steps."""
        return await self._written(lambda: self._journal.steps(agent, message_id))

    async def dead_letters(self) -> list[DeadLetter]:
        """See Journal.dead_letters."""
        return await self._written(lambda: self._journal.dead_letters())

    async def events(self, after: int, limit: int = 10_000) -> list[Event]:
        """See Journal.events."""
        return await self._written(lambda: self._journal.events(after, limit))

    async def last_event(self) -> int:
        """See Journal.last_event."""
        return await self._written(lambda: self._journal.last_event())

    async def prune(self, now: float) -> None:
        """See Journal.prune; a full disk is tried again with the next pruning."""
        try:
            await self._journal.prune(now)
        except JournalFull as error:
            log.warning("session %s could not be pruned: %s", self.session, error)

    async def fence(self, writer: str) -> None:
        """See Journal.fence."""
        await self._written(lambda: self._journal.fence(writer))

    async def close(self) -> None:
        """See Journal.close."""
        await self._journal.close()
