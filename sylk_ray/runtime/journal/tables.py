"""What a journal does to its tables: all the SQL of a journal in use, without threads and transactions.

Every method runs inside a transaction that its caller began, and is undone with it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

import msgspec

from sylk_ray.messaging import Address, Event
from sylk_ray.runtime.journal.errors import Fenced
from sylk_ray.runtime.journal.records import (
    Committed,
    DeadLetter,
    Mail,
    Memory,
    SavedState,
    StepRecord,
    Transaction,
    failed_message,
    failure_of,
)
from sylk_ray.runtime.journal.schema import (
    EVENTS,
    HANDLED,
    LETTERS,
    MAIL,
    PARTS,
    STATES,
    STEPS,
    WRITERS,
    Table,
    Value,
    checksum,
)

_encode = msgspec.msgpack.Encoder().encode
_event = msgspec.msgpack.Decoder(Event).decode
_PUT = {table: table.put for table in (WRITERS, STATES, PARTS, HANDLED, MAIL, STEPS, LETTERS)}
_PUT_EVENT = "INSERT INTO events(number, body, crc) VALUES (?, ?, ?)"
_SELECT = {table: table.select for table in (WRITERS, STATES, PARTS, HANDLED, MAIL, STEPS, LETTERS, EVENTS)}


class Tables:
    """One session's tables, behind one connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._execute = connection.execute

    def _put(self, table: Table, *values: Value) -> None:
        self._execute(_PUT[table], (*values, checksum(values)))

    def rows(self, table: Table, condition: str, *values: Value) -> list[tuple[Any, ...]]:
        """Rows without their checksums, which are right. Raises DatabaseError (as damage) for one that is not."""
        rows = self._execute(f"{_SELECT[table]} {condition}", values).fetchall()
        for row in rows:
            if not table.is_whole(row[:-1], row[-1]):
                error = sqlite3.DatabaseError(f"a row of {table.name} does not have its checksum")
                error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
                raise error
        return [row[:-1] for row in rows]

    def register(self, session: str, writer: str, fence: Sequence[str], process: int) -> int:
        """A new epoch for a writer, after fencing others; raises Fenced when it is fenced itself."""
        for other in fence:
            self._put_fence(other)
        known = self.rows(WRITERS, "WHERE writer = ?", writer)
        if known and known[0][2]:
            raise Fenced(f"{writer} was replaced as a writer of session {session}")
        epoch = int(self._execute("SELECT coalesce(max(epoch), 0) + 1 FROM writers").fetchone()[0])
        self._put(WRITERS, writer, epoch, 0, process)
        return epoch

    def check(self, session: str, writer: str, epoch: int) -> None:
        """Raise Fenced unless this is still the writer's epoch."""
        if not self._execute(
            "SELECT 1 FROM writers WHERE writer = ? AND epoch = ? AND fenced = 0", (writer, epoch)
        ).fetchone():
            raise Fenced(
                f"{writer} was replaced as a writer of session {session}",
                hint="this cell no longer serves the session; what it had not committed is done again elsewhere",
            )

    def _put_fence(self, writer: str) -> None:
        known = self.rows(WRITERS, "WHERE writer = ?", writer)
        _, epoch, _, process = known[0] if known else (writer, 0, 0, 0)
        self._put(WRITERS, writer, epoch, 1, process)

    def fence(self, writer: str) -> None:
        """See Journal.fence."""
        self._put_fence(writer)

    def processes(self, writers: Sequence[str]) -> set[int]:
        """The processes in which these writers were when they opened the journal."""
        return {row[3] for writer in writers for row in self.rows(WRITERS, "WHERE writer = ?", writer)} - {0}

    def commit(self, transaction: Transaction) -> Committed:
        """See Journal.commit."""
        agent, message, buried = str(transaction.agent), transaction.message_id, transaction.buried
        if self._execute("SELECT 1 FROM handled WHERE agent = ? AND message = ?", (agent, message)).fetchone():
            return Committed(self.last_event(), repeated=True)
        if buried is not None and buried.mail.id != message and not self.waits(buried.mail.id):
            return Committed(self.last_event(), repeated=True)
        self._put(HANDLED, agent, message, float(transaction.remember_until), transaction.reply)
        self._execute("DELETE FROM mail WHERE id = ?", (message,))
        self._execute("DELETE FROM steps WHERE agent = ? AND message = ?", (agent, message))
        if transaction.state is not None:
            self._put_state(agent, transaction.state)
        if buried is not None:
            self.bury(buried)
        for mail in transaction.outgoing:
            self._put_mail(mail)
        if transaction.events:
            self.add_events(transaction.events)
        if transaction.forget:
            self.forget(transaction.agent)
        return Committed(self.last_event())

    def _put_state(self, agent: str, state: SavedState) -> None:
        self._put(STATES, agent, state.version, state.data)
        for name, data in state.parts.items():
            if data:
                self._put(PARTS, agent, name, data)
            else:
                self._execute("DELETE FROM parts WHERE agent = ? AND name = ?", (agent, name))

    def _put_mail(self, mail: Mail) -> None:
        self._put(MAIL, mail.id, str(mail.source), str(mail.target), mail.packet)

    def add_events(self, events: Sequence[Event]) -> Committed:
        """See Journal.add_events."""
        last = self.last_event()
        for number, event in enumerate(events, last + 1):
            body = _encode(msgspec.structs.replace(event, sequence=number))
            self._execute(_PUT_EVENT, (number, body, checksum((body,))))
        return Committed(last + len(events))

    def recall(self, agent: Address) -> Memory:
        """See Journal.recall."""
        name = str(agent)
        states = self.rows(STATES, "WHERE agent = ?", name)
        parts = {part: data for _, part, data in self.rows(PARTS, "WHERE agent = ?", name)} if states else {}
        handled = self.rows(HANDLED, "WHERE agent = ? ORDER BY number", name)
        mail = self.rows(MAIL, "WHERE target = ? ORDER BY number", name)
        sent = self.rows(MAIL, "WHERE source = ? ORDER BY number", name)
        return Memory(
            SavedState(states[0][1], states[0][2], parts) if states else None,
            {message: (until, reply) for _, message, until, reply in handled},
            [_mail(*row) for row in mail],
            [_mail(*row) for row in sent],
        )

    def forget(self, agent: Address) -> None:
        """See Journal.forget."""
        name = str(agent)
        for table in (STATES, PARTS, HANDLED, STEPS):
            self._execute(f"DELETE FROM {table.name} WHERE agent = ?", (name,))
        self._execute("DELETE FROM mail WHERE target = ?", (name,))

    def agents(self) -> list[Address]:
        """See Journal.agents."""
        found = self._execute("SELECT agent FROM states UNION SELECT target FROM mail").fetchall()
        return [_address(name) for (name,) in found]

    def pending(self) -> list[Mail]:
        """See Journal.pending."""
        return [_mail(*row) for row in self.rows(MAIL, "ORDER BY number")]

    def waits(self, mail_id: str) -> bool:
        """See Journal.waits."""
        return self._execute("SELECT 1 FROM mail WHERE id = ?", (mail_id,)).fetchone() is not None

    def record_step(self, agent: Address, message_id: str, step: StepRecord, events: Sequence[Event]) -> Committed:
        """See Journal.record_step."""
        finished = int(step.finished)
        self._put(STEPS, str(agent), message_id, step.name, step.before, finished, "", step.result, step.trace)
        return self.add_events(events)

    def steps(self, agent: Address, message_id: str) -> dict[str, StepRecord]:
        """See Journal.steps."""
        return {
            name: StepRecord(name, before, bool(finished), result, trace)
            for _, _, name, before, finished, _, result, trace in self.rows(
                STEPS, "WHERE agent = ? AND message = ? ORDER BY number", str(agent), message_id
            )
        }

    def bury(self, letter: DeadLetter) -> None:
        """See Journal.bury."""
        mail = letter.mail
        target = str(mail.target)
        self._execute("DELETE FROM mail WHERE id = ?", (mail.id,))
        self._execute("DELETE FROM steps WHERE agent = ? AND message = ?", (target, mail.id))
        at = float(letter.at)
        self._put(LETTERS, mail.id, str(mail.source), target, mail.packet, letter.error, letter.reason, at)

    def dead_letters(self) -> list[DeadLetter]:
        """See Journal.dead_letters."""
        return [_letter(*row) for row in self.rows(LETTERS, "ORDER BY number")]

    def revive(self, mail_id: str) -> Mail | None:
        """See Journal.revive."""
        letters = self.rows(LETTERS, "WHERE id = ?", mail_id)
        if not letters:
            return None
        mail = _letter(*letters[0]).mail
        self.drop(mail_id)
        self._put_mail(mail)
        for agent, message in ((mail.target, mail_id), (mail.source, failure_of(mail_id))):
            self._execute("DELETE FROM handled WHERE agent = ? AND message = ?", (str(agent), message))
        return mail

    def drop(self, mail_id: str) -> bool:
        """See Journal.drop."""
        return self._execute("DELETE FROM letters WHERE id = ?", (mail_id,)).rowcount > 0

    def events(self, after: int, limit: int) -> list[Event]:
        """See Journal.events."""
        rows = self.rows(EVENTS, "WHERE number > ? ORDER BY number LIMIT ?", after, max(0, limit))
        return [_event(body) for (body,) in rows]

    def last_event(self) -> int:
        """See Journal.last_event. Asks SQLite's own count, which outlives events that could not be salvaged."""
        row = self._execute("SELECT seq FROM sqlite_sequence WHERE name = 'events'").fetchone()
        return int(row[0]) if row else 0

    def prune(self, now: float, most: int) -> int:
        """Let go of some of what nobody can send again; how many there were, at most ``most``. The steps of a request
        that failed, which might have been asked again, go with it."""
        gone = self._execute(
            "DELETE FROM handled WHERE number IN (SELECT number FROM handled WHERE remember_until < ? LIMIT ?) "
            "RETURNING agent, message",
            (now, most),
        ).fetchall()
        for agent, message in gone:
            if (failed := failed_message(message)) is not None:
                self._execute("DELETE FROM steps WHERE agent = ? AND message = ?", (agent, failed))
        return len(gone)

    def shrink(self, pages: int) -> int:
        """Give some pages back to the disk; how many are left to give."""
        if pages:
            self._execute(f"PRAGMA incremental_vacuum({pages})").fetchall()
        return int(self._execute("PRAGMA freelist_count").fetchone()[0])

    def checkpoint(self) -> None:
        """Copy the write-ahead log into the file and empty it, unless others are using it. Not in a transaction."""
        self._execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _address(text: str) -> Address:
    return Address(*text.split("/", 2))


def _mail(mail_id: str, source: str, target: str, packet: bytes) -> Mail:
    return Mail(mail_id, _address(source), _address(target), packet)


def _letter(*row: Any) -> DeadLetter:
    *mail, error, reason, at = row
    return DeadLetter(_mail(*mail), error, reason, at)
