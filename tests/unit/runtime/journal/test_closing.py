"""Closing: who comes too late is told so, and a session that is closed is forgotten."""

from __future__ import annotations

import asyncio
import gc
import random
import shutil
import threading

import pytest

from sylk_ray.errors import SylkError
from sylk_ray.messaging import Address
from sylk_ray.runtime.clock import ManualClock, SystemClock
from sylk_ray.runtime.journal import (
    Committed,
    Journal,
    JournalClosed,
    JournalDamaged,
    JournalFull,
    MemoryJournals,
    PatientJournal,
    SqliteJournals,
    Transaction,
)
from sylk_ray.runtime.journal.patient import AGAIN_S, PAUSE_S
from sylk_ray.runtime.journal.sqlite import SqliteJournal
from sylk_ray.runtime.journal.writer import Alone

ONE = Address("s", "engineer", "one")


async def no_other() -> Journal:
    raise AssertionError("it was not to be opened again")


def patient(journal: Journal, told: list[SylkError | None]) -> PatientJournal:
    return PatientJournal(journal, SystemClock(), lambda _, error: told.append(error), no_other)


def held(journal: SqliteJournal) -> threading.Event:
    """The journal's thread does nothing until the gate opens."""
    gate = threading.Event()
    journal._handle.ask(Alone(lambda: gate.wait(10)))
    return gate


@pytest.mark.parametrize("what", ["a write", "a read", "a pruning"])
async def test_what_is_asked_while_it_is_being_closed_comes_too_late_and_is_not_tried_for_ever(tmp_path, what):
    journals, told = SqliteJournals(lambda _: tmp_path), []
    sqlite = await journals.open("s", "a")
    journal = patient(sqlite, told)
    gate = held(sqlite)
    closing = asyncio.ensure_future(journal.close())
    await asyncio.sleep(0)
    acts = {
        "a write": lambda: journal.commit(Transaction(ONE, "m")),
        "a read": journal.pending,
        "a pruning": lambda: sqlite._handle.checkpoint(),
    }
    asked = asyncio.ensure_future(acts[what]())
    await asyncio.sleep(0)
    gate.set()
    with pytest.raises(JournalClosed):
        await asyncio.wait_for(asked, 5)
    await closing
    assert told == []
    assert not (tmp_path / "journal.db-wal").exists(), "nobody has it open"
    await journals.close()


async def test_others_wait_while_a_damaged_journal_is_repaired(tmp_path):
    journals = MemoryJournals()
    damaged, whole = await journals.open("s", "a"), await journals.open("s", "b")
    repaired = asyncio.Event()

    async def reopen() -> Journal:
        await repaired.wait()
        return whole

    async def closed(*_: object) -> object:
        raise JournalClosed("it is being repaired")

    async def is_damaged(*_: object) -> object:
        damaged.commit = closed
        raise JournalDamaged("damaged")

    damaged.commit = is_damaged
    journal = PatientJournal(damaged, SystemClock(), lambda *_: None, reopen)
    first = asyncio.ensure_future(journal.commit(Transaction(ONE, "1")))
    await asyncio.sleep(0)
    second = asyncio.ensure_future(journal.commit(Transaction(ONE, "2")))
    await asyncio.sleep(0)
    repaired.set()
    await asyncio.gather(first, second)
    assert list((await whole.recall(ONE)).handled) == ["1", "2"]


async def test_a_session_that_is_closed_is_forgotten(tmp_path):
    journals = SqliteJournals(tmp_path.joinpath)
    for number in range(20):
        journal = await journals.open(f"s{number}", "a")
        await journal.commit(Transaction(ONE, "m"))
        await journal.close()
        shutil.rmtree(tmp_path / f"s{number}")
    del journal
    gc.collect()
    assert not len(journals._stores)
    assert not journals._handles
    await journals.close()


async def test_a_session_that_is_opened_while_it_is_being_closed_is_open(tmp_path):
    journals, random_ = SqliteJournals(tmp_path.joinpath), random.Random(7)

    async def life(writer: str) -> None:
        for turn in range(30):
            journal = await journals.open("s", writer)
            assert (await journal.commit(Transaction(ONE, f"{writer}-{turn}"))).last_event == 0
            await asyncio.sleep(random_.choice((0, 0, 0.001)))
            await journal.close()

    await asyncio.gather(*(life(f"w{number}") for number in range(4)))
    journal = await journals.open("s", "last")
    assert len((await journal.recall(ONE)).handled) == 120
    assert list(journals._stores) == ["s"]
    await journals.close()


async def test_who_waits_for_room_says_so_again_for_those_that_did_not_hear_it():
    journal, told, clock = await MemoryJournals().open("s", "a"), list[SylkError | None](), ManualClock()
    commit, full = journal.commit, JournalFull("no space left")

    async def refuse(_: Transaction) -> Committed:
        raise full

    journal.commit = refuse
    waiting = PatientJournal(journal, clock, lambda _, error: told.append(error), no_other)
    writes = [asyncio.ensure_future(waiting.commit(Transaction(ONE, message))) for message in ("m", "n")]
    await asyncio.sleep(0)
    await clock.advance(AGAIN_S - PAUSE_S)
    assert told == [full]
    await clock.advance(AGAIN_S * 2 + PAUSE_S)
    assert told == [full] * 4
    journal.commit = commit
    await clock.advance(PAUSE_S)
    await asyncio.gather(*writes)
    assert told == [full] * 4 + [None]
