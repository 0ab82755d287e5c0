"""Several processes write to one session's file: together, killed, stopped and replaced."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
from pathlib import Path

import pytest

from sylk_ray.messaging import Address
from sylk_ray.runtime.journal import Fenced, Journal, SqliteJournals, read_events
from sylk_ray.runtime.journal.lock_holder import lock_holder
from tests.unit.runtime.journal.burst import transaction

ROUNDS_OF_ONE = 5


async def check(journal: Journal, writer: str, acknowledged: list[int]) -> None:
    """All that was acknowledged is there, and everything that is there is whole."""
    memory = await journal.recall(Address("s", "engineer", writer))
    handled = sorted(int(message.removeprefix("m-")) for message in memory.handled)
    mail = (await journal.recall(Address("s", "tester", writer))).mail
    events = [each for each in await journal.events(0, 10**9) if each.data["writer"] == writer]
    assert set(acknowledged) <= set(handled)
    assert sorted(int(each.id.rpartition("-")[2]) for each in mail) == handled
    assert sorted(each.data["number"] for each in events) == handled
    if handled:
        assert memory.state == transaction(writer, events[-1].data["number"]).state


async def numbered_without_gaps(journal: Journal) -> None:
    events = await journal.events(0, 10**9)
    assert [each.sequence for each in events] == list(range(1, len(events) + 1))
    assert await journal.last_event() == len(events)


async def test_several_processes_write_at_once_and_nothing_is_lost(burst, journals):
    writers = [f"w{number}" for number in range(4)]
    together = await asyncio.gather(*(burst(writer, count=1500, together=7) for writer in writers))
    await asyncio.gather(*(each.until("over") for each in together))

    journal = await journals.open("s", "reader")
    assert journal.epoch == 5
    for writer, process in zip(writers, together, strict=True):
        assert process.acknowledged == list(range(1500))
        await check(journal, writer, process.acknowledged)
    await numbered_without_gaps(journal)
    assert await journal.last_event() == 6000


@pytest.mark.parametrize("seed", range(4))
async def test_what_was_acknowledged_to_a_killed_writer_is_there_and_nothing_is_half(burst, tmp_path, seed):
    chance = random.Random(seed)
    journals = SqliteJournals(lambda _: tmp_path)
    killed = []
    for number in range(ROUNDS_OF_ONE):
        process = await burst(f"w{number}", together=chance.choice([1, 3, 50]))
        await process.read_for(chance.uniform(0, 0.12))
        process.signal(signal.SIGKILL)
        await process.rest()
        killed.append(process)

        journal = await journals.open("s", f"after-{number}")
        assert journal.report.whole
        for before, each in enumerate(killed):
            await check(journal, f"w{before}", each.acknowledged)
        await numbered_without_gaps(journal)
        await journals.close()
    assert sum(len(each.acknowledged) for each in killed) > 100


async def stopped_and_replaced(burst, journals: SqliteJournals, *, with_lock: bool | None, pause: float = 0.0) -> None:
    process = await burst("old", together=20)
    await process.read_for(0.02 + pause)
    while True:
        process.signal(signal.SIGSTOP)
        await process.until_stopped()
        holds = lock_holder(journals_path(journals)) == process.process.pid
        if with_lock is None or holds == with_lock:
            break
        process.signal(signal.SIGCONT)
        await process.read_for(0.003)

    journal = await asyncio.wait_for(journals.open("s", "new", fence=["old"]), 10)
    before = await journal.recall(Address("s", "engineer", "old")), await journal.events(0, 10**9)
    await journal.commit(transaction("new", 0))
    process.go_on()
    await asyncio.wait_for(process.until("over"), 20)

    assert "fenced" in process.said
    await check(journal, "old", process.acknowledged)
    await numbered_without_gaps(journal)
    after = await journal.recall(Address("s", "engineer", "old")), await journal.events(0, 10**9)
    assert after == (before[0], [*before[1], after[1][-1]])
    assert after[1][-1].data["writer"] == "new"


def journals_path(journals: SqliteJournals) -> Path:
    return journals.directory_of("s") / "journal.db"


async def test_a_stopped_writer_that_is_replaced_is_refused_when_it_goes_on(burst, journals):
    await stopped_and_replaced(burst, journals, with_lock=False)


async def test_a_writer_that_was_stopped_in_a_transaction_ends_it_before_it_is_replaced(burst, journals):
    await stopped_and_replaced(burst, journals, with_lock=True)


@pytest.mark.parametrize("pause", [0.0, 0.013, 0.031, 0.057])
async def test_a_writer_that_is_stopped_anywhere_in_a_burst_writes_nothing_after_it_was_replaced(
    burst, journals, pause
):
    await stopped_and_replaced(burst, journals, with_lock=None, pause=pause)


async def test_a_stopped_writer_is_fenced_by_one_that_has_the_journal_open(burst, journals):
    journal = await journals.open("s", "new")
    process = await burst("old")
    await process.read_for(0.05)
    process.signal(signal.SIGSTOP)
    await process.until_stopped()
    await asyncio.wait_for(journal.fence("old"), 10)
    last = await journal.last_event()
    process.go_on()
    await asyncio.wait_for(process.until("over"), 20)
    assert "fenced" in process.said
    assert await journal.last_event() == last


async def test_a_fenced_process_is_refused_at_its_next_commit(burst, journals):
    process = await burst("old", together=1)
    await process.read_for(0.05)
    journal = await journals.open("s", "new", fence=["old"])
    await asyncio.wait_for(process.until("over"), 20)
    await check(journal, "old", process.acknowledged)
    with pytest.raises(Fenced):
        await journals.open("s", "old")


async def test_events_are_read_by_others_while_they_are_written_and_after_a_kill(burst, tmp_path):
    process = await burst("w0")
    await process.read_for(0.05)
    seen = 0
    for _ in range(30):
        events = await asyncio.to_thread(read_events, tmp_path / "journal.db", seen)
        assert [each.sequence for each in events] == list(range(seen + 1, seen + 1 + len(events)))
        seen += len(events)
    process.signal(signal.SIGKILL)
    await process.rest()
    assert seen > 0
    assert len(read_events(tmp_path / "journal.db", 0, 10**9)) >= len(process.acknowledged)


LEFT_OPEN = """
import asyncio, sys
from pathlib import Path
from sylk_ray.messaging import Event
from sylk_ray.runtime.journal import SqliteJournals
journals = SqliteJournals(lambda _: Path(sys.argv[1]))
async def main():
    journal = await journals.open("s", "a")
    await journal.add_events([Event("told", "s")])
asyncio.run(main())
"""


async def test_a_program_that_ends_without_closing_leaves_a_whole_journal(journals, tmp_path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", LEFT_OPEN, str(tmp_path), env=environment)
    assert await process.wait() == 0
    assert not (tmp_path / "journal.db-wal").exists()
    journal = await journals.open("s", "b")
    assert journal.report.whole
    assert await journal.last_event() == 1
