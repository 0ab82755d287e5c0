"""Journals that last as long as their process: for tests, and for hosts that share one process."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import msgspec

from sylk_ray.messaging import Address, Event
from sylk_ray.runtime.journal.errors import Fenced
from sylk_ray.runtime.journal.records import (
    Committed,
    DeadLetter,
    Mail,
    Memory,
    Report,
    SavedState,
    StepRecord,
    Transaction,
    failed_message,
    failure_of,
)


class _Book:
    """What is kept of one session."""

    def __init__(self) -> None:
        self.epochs = itertools.count(1)
        self.writers: dict[str, int] = {}
        self.fenced: set[str] = set()
        self.states: dict[Address, SavedState] = {}
        self.handled: dict[Address, dict[str, tuple[float, bytes | None]]] = {}
        self.mail: dict[str, Mail] = {}
        self.steps: dict[tuple[Address, str], dict[str, StepRecord]] = {}
        self.letters: dict[str, DeadLetter] = {}
        self.events: list[Event] = []


class MemoryJournals:
    """Give the same one to every host of a process, and they share their sessions' journals."""

    def __init__(self) -> None:
        self._books: dict[str, _Book] = {}

    async def open(self, session: str, writer: str, *, fence: Sequence[str] = ()) -> MemoryJournal:
        """See Journals.open."""
        book = self._books.setdefault(session, _Book())
        if writer in book.fenced or writer in fence:
            raise Fenced(f"{writer} was replaced as a writer of session {session}")
        for other in fence:
            book.fenced.add(other)
            book.writers.pop(other, None)
        epoch = book.writers[writer] = next(book.epochs)
        return MemoryJournal(session, writer, epoch, book)

    def history(self, session: str) -> tuple[Event, ...]:
        """What has happened in a session up to now, also while hosts write to it."""
        book = self._books.get(session)
        return tuple(book.events) if book is not None else ()

    async def close(self) -> None:
        """Nothing is held open."""


class MemoryJournal:
    """See Journal."""

    def __init__(self, session: str, writer: str, epoch: int, book: _Book) -> None:
        self.session = session
        self.epoch = epoch
        self.report = Report()
        self._writer = writer
        self._book = book

    def _check(self) -> None:
        if self._book.writers.get(self._writer) != self.epoch:
            raise Fenced(f"{self._writer} was replaced as a writer of session {self.session}")

    async def commit(self, transaction: Transaction) -> Committed:
        """See Journal.commit."""
        self._check()
        book, agent, buried = self._book, transaction.agent, transaction.buried
        handled = book.handled.setdefault(agent, {})
        moot = buried is not None and buried.mail.id != transaction.message_id and buried.mail.id not in book.mail
        if transaction.message_id in handled or moot:
            return Committed(len(book.events), repeated=True)
        handled[transaction.message_id] = (transaction.remember_until, transaction.reply)
        book.mail.pop(transaction.message_id, None)
        book.steps.pop((agent, transaction.message_id), None)
        if transaction.state is not None:
            known = book.states.get(agent)
            parts = {**(known.parts if known is not None else {}), **transaction.state.parts}
            whole = {name: data for name, data in parts.items() if data}
            book.states[agent] = msgspec.structs.replace(transaction.state, parts=whole)
        if buried is not None:
            await self.bury(buried)
        book.mail.update((mail.id, mail) for mail in transaction.outgoing)
        self._number(transaction.events)
        if transaction.forget:
            await self.forget(agent)
        return Committed(len(book.events))

    async def add_events(self, events: Sequence[Event]) -> Committed:
        """See Journal.add_events."""
        self._check()
        self._number(events)
        return Committed(len(self._book.events))

    def _number(self, events: Sequence[Event]) -> None:
        kept = self._book.events
        for event in events:
            kept.append(msgspec.structs.replace(event, sequence=len(kept) + 1))

    async def recall(self, agent: Address) -> Memory:
        """See Journal.recall."""
        book = self._book
        mail = [each for each in book.mail.values() if each.target == agent]
        sent = [each for each in book.mail.values() if each.source == agent]
        return Memory(book.states.get(agent), dict(book.handled.get(agent, {})), mail, sent)

    async def forget(self, agent: Address) -> None:
        """See Journal.forget."""
        self._check()
        book = self._book
        book.states.pop(agent, None)
        book.handled.pop(agent, None)
        for mail in [each for each in book.mail.values() if each.target == agent]:
            del book.mail[mail.id]
        for key in [key for key in book.steps if key[0] == agent]:
            del book.steps[key]

    async def agents(self) -> list[Address]:
        """See Journal.agents."""
        return list(dict.fromkeys([*self._book.states, *(mail.target for mail in self._book.mail.values())]))

    async def pending(self) -> list[Mail]:
        """See Journal.pending."""
        return list(self._book.mail.values())

    async def waits(self, mail_id: str) -> bool:
        """See Journal.waits."""
        return mail_id in self._book.mail

    async def record_step(
        self, agent: Address, message_id: str, step: StepRecord, events: Sequence[Event] = ()
    ) -> Committed:
        """See Journal.record_step."""
        self._check()
        self._book.steps.setdefault((agent, message_id), {})[step.name] = step
        self._number(events)
        return Committed(len(self._book.events))

    async def steps(self, agent: Address, message_id: str) -> dict[str, StepRecord]:
        """See Journal.steps."""
        return dict(self._book.steps.get((agent, message_id), {}))

    async def bury(self, letter: DeadLetter) -> None:
        """See Journal.bury."""
        self._check()
        self._book.mail.pop(letter.mail.id, None)
        self._book.steps.pop((letter.mail.target, letter.mail.id), None)
        self._book.letters[letter.mail.id] = letter

    async def dead_letters(self) -> list[DeadLetter]:
        """See Journal.dead_letters."""
        return list(self._book.letters.values())

    async def revive(self, mail_id: str) -> Mail | None:
        """See Journal.revive."""
        self._check()
        letter = self._book.letters.pop(mail_id, None)
        if letter is None:
            return None
        self._book.mail[mail_id] = letter.mail
        self._book.handled.get(letter.mail.target, {}).pop(mail_id, None)
        self._book.handled.get(letter.mail.source, {}).pop(failure_of(mail_id), None)
        return letter.mail

    async def drop(self, mail_id: str) -> bool:
        """See Journal.drop."""
        self._check()
        return self._book.letters.pop(mail_id, None) is not None

    async def events(self, after: int, limit: int = 10_000) -> list[Event]:
        """See Journal.events."""
        first = max(0, after)
        return self._book.events[first : first + max(0, limit)]

    async def last_event(self) -> int:
        """See Journal.last_event."""
        return len(self._book.events)

    async def prune(self, now: float) -> None:
        """See Journal.prune."""
        self._check()
        for agent, handled in self._book.handled.items():
            for message in [message for message, (until, _) in handled.items() if until < now]:
                del handled[message]
                if (failed := failed_message(message)) is not None:
                    self._book.steps.pop((agent, failed), None)

    async def fence(self, writer: str) -> None:
        """See Journal.fence."""
        self._check()
        self._book.fenced.add(writer)
        self._book.writers.pop(writer, None)

    async def close(self) -> None:
        """Nothing is held open."""
