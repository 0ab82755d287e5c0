"""What the runtime asks of a journal. Every implementation passes the same conformance tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sylk_ray.messaging import Address, Event
from sylk_ray.runtime.journal.records import (
    Committed,
    DeadLetter,
    Mail,
    Memory,
    Report,
    StepRecord,
    Transaction,
)


class Journals(Protocol):
    """The journals of all sessions, as one process reaches them."""

    async def open(self, session: str, writer: str, *, fence: Sequence[str] = ()) -> Journal:
        """Begin to write as ``writer``, after fencing others; a journal that is not there is made.

        A writer that was fenced is refused: raises Fenced. Raises JournalFull, JournalDamaged, JournalTooNew.
        Opened again by the same writer it gives a new epoch, and the older handle is fenced.
        """
        ...

    async def close(self) -> None:
        """Close every journal that is open."""
        ...


class Journal(Protocol):
    """One session's journal in the hands of one writer.

    Every write raises Fenced when the writer was replaced, and JournalFull when there is no room; nothing was
    written then. A write returns when it is as durable as the journal was told to make things.
    """

    session: str
    epoch: int
    report: Report

    async def commit(self, transaction: Transaction) -> Committed:
        """Record a handled message whole or not at all. Its mail no longer waits, its steps are forgotten.

        A message that is remembered as handled already changes nothing, and neither does a burial of mail that no
        longer waits: ``repeated`` says so.
        """
        ...

    async def add_events(self, events: Sequence[Event]) -> Committed:
        """Record events that belong to no handler."""
        ...

    async def recall(self, agent: Address) -> Memory:
        """All that is kept of an agent."""
        ...

    async def forget(self, agent: Address) -> None:
        """Drop what is kept of an agent: state, remembered messages, waiting mail and steps."""
        ...

    async def agents(self) -> list[Address]:
        """The agents with a state or with waiting mail."""
        ...

    async def pending(self) -> list[Mail]:
        """All waiting mail, in the order in which it was committed."""
        ...

    async def waits(self, mail_id: str) -> bool:
        """Whether mail of that id still waits."""
        ...

    async def record_step(
        self, agent: Address, message_id: str, step: StepRecord, events: Sequence[Event] = ()
    ) -> Committed:
        """Record a step in place of what was recorded of it before, and the events that go with it, whole or not at
        all."""
        ...

    async def steps(self, agent: Address, message_id: str) -> dict[str, StepRecord]:
        """The steps of a handler that has not committed."""
        ...

    async def bury(self, letter: DeadLetter) -> None:
        """Move mail to the dead letters: it no longer waits. Its handler's steps are forgotten."""
        ...

    async def dead_letters(self) -> list[DeadLetter]:
        """The dead letters, the oldest first."""
        ...

    async def revive(self, mail_id: str) -> Mail | None:
        """Make a dead letter waiting mail again, as if nobody had handled it, nor its failure; None when there is no
        such letter."""
        ...

    async def drop(self, mail_id: str) -> bool:
        """Forget a dead letter; whether there was one."""
        ...

    async def events(self, after: int, limit: int = 10_000) -> list[Event]:
        """The kept events after a sequence number, in order."""
        ...

    async def last_event(self) -> int:
        """The last event's sequence number, 0 when there is none."""
        ...

    async def prune(self, now: float) -> None:
        """Let go of messages that nobody can send again, with the steps of those that failed, and give room back, a
        little at a time."""
        ...

    async def fence(self, writer: str) -> None:
        """Replace a writer: from now on it can write nothing, nor open this journal again."""
        ...

    async def close(self) -> None:
        """Let go of the journal. What is under way is written first."""
        ...
