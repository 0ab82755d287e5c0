"""A full disk, the files' sizes, descriptors, and the pieces of pruning."""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
from pathlib import Path

import pytest

from sylk_ray.messaging import Address
from sylk_ray.runtime.journal import Journal, JournalFull, SavedState, SqliteJournals, Transaction, failure_of, sqlite
from sylk_ray.runtime.journal.records import StepRecord
from sylk_ray.runtime.journal.tables import Tables
from tests.disks import take_all_room
from tests.unit.runtime.journal.conftest import AGENTS, files, fill, transaction

MB = 1 << 20


async def everything(journal: Journal) -> tuple[object, ...]:
    return [await journal.recall(agent) for agent in AGENTS[:3]], await journal.pending(), await journal.events(0)


def big(number: int) -> Transaction:
    return Transaction(AGENTS[0], f"big-{number}", SavedState(1, os.urandom(2 * MB)))


async def check_full(journal: Journal, path: Path, make_room) -> None:
    """Nothing is written while there is no room; the same write succeeds after it."""
    before = await everything(journal)
    outcomes = await asyncio.gather(
        *(journal.commit(transaction(1000 + n, size=60_000)) for n in range(20)),
        big_one(journal),
        return_exceptions=True,
    )
    full = [each for each in outcomes if isinstance(each, JournalFull)]
    assert full
    assert full == [each for each in outcomes if isinstance(each, Exception)]
    assert str(path) in full[0].message
    assert "make room" in full[0].hint
    written = sum(not isinstance(each, Exception) for each in outcomes)
    assert await journal.last_event() == len(before[2]) + written

    make_room()

    for number, outcome in enumerate(outcomes[:20]):
        if isinstance(outcome, JournalFull):
            await journal.commit(transaction(1000 + number))
    await big_one(journal)
    assert await journal.last_event() == len(before[2]) + 20


async def big_one(journal: Journal) -> None:
    await journal.commit(big(1))


@pytest.mark.parametrize("durability", ["process", "power"])
async def test_a_full_disk_is_said_and_the_same_write_succeeds_when_there_is_room(small_disk, durability):
    journals = SqliteJournals(lambda _: small_disk / "s", durability=durability)
    journal = await journals.open("s", "a")
    await fill(journal, 100)
    filler = take_all_room(small_disk)

    def make_room() -> None:
        filler.unlink()
        subprocess.run(["mount", "-o", "remount,size=30m", str(small_disk)], check=True)

    await check_full(journal, small_disk / "s" / "journal.db", make_room)
    await journals.close()
    journal = await SqliteJournals(lambda _: small_disk / "s").open("s", "a")
    assert journal.report.whole
    assert await journal.last_event() == 120


async def test_a_journal_cannot_be_opened_on_a_full_disk_and_can_when_there_is_room(small_disk):
    filler = take_all_room(small_disk)
    (small_disk / "s").mkdir()
    journals = SqliteJournals(lambda _: small_disk / "s")
    with pytest.raises(JournalFull):
        await journals.open("s", "a")
    filler.unlink()
    journal = await journals.open("s", "a")
    assert journal.report.whole
    await fill(journal, 10)
    await journals.close()


async def test_closing_on_a_full_disk_loses_nothing(small_disk):
    journals = SqliteJournals(lambda _: small_disk / "s")
    journal = await journals.open("s", "a")
    await fill(journal, 100)
    filler = take_all_room(small_disk)
    await journals.close()
    filler.unlink()
    journal = await journals.open("s", "a")
    assert journal.report.whole
    assert await journal.last_event() == 100
    await journals.close()


async def test_a_file_that_may_not_grow_is_full_too(tmp_path):
    journals = SqliteJournals(lambda _: tmp_path)
    journal = await journals.open("s", "a")
    await fill(journal, 100)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, limits[1]))
    try:
        await check_full(journal, tmp_path / "journal.db", lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limits))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        await journals.close()


async def test_one_write_that_has_no_room_does_not_take_the_others_along(tmp_path):
    journals = SqliteJournals(lambda _: tmp_path)
    journal = await journals.open("s", "a")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (MB, limits[1]))
    try:
        outcomes = await asyncio.gather(
            journal.commit(transaction(0)), big_one(journal), journal.commit(transaction(1)), return_exceptions=True
        )
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [type(each).__name__ for each in outcomes] == ["Committed", "JournalFull", "Committed"]
    await journals.close()


# Sizes


async def handled_messages(journal: Journal, count: int, first: int = 0) -> None:
    """Mail from agent to agent, each handled by the next; ``remember_until`` is over at 5."""
    for start in range(first, first + count, 500):
        await asyncio.gather(
            *(
                journal.commit(
                    Transaction(
                        AGENTS[n % 100],
                        f"0192f3a8-7d44-7c1e-9d60-{n:012}",
                        SavedState(1, os.urandom(300)),
                        remember_until=5.0,
                    )
                )
                for n in range(start, min(start + 500, first + count))
            )
        )


async def test_ten_thousand_handled_messages_stay_under_4_mb_when_pruned_and_8_mb_before(tmp_path):
    journals = SqliteJournals(lambda _: tmp_path)
    journal = await journals.open("s", "a")
    await handled_messages(journal, 10_000)
    assert sum(files(tmp_path).values()) < 8 * MB
    await journal.prune(6.0)
    assert sum(files(tmp_path).values()) < 4 * MB
    await journals.close()
    assert sum(files(tmp_path).values()) < MB / 2


async def failed_requests(journal: Journal, numbers: range) -> None:
    """Requests that failed after a step that made 500 bytes, as their agents commit them."""

    async def failed(number: int) -> None:
        agent, message = AGENTS[number % 100], f"0192f3a8-7d44-7c1e-aaaa-{number:012}"
        await journal.record_step(agent, message, StepRecord("build"))
        await journal.record_step(agent, message, StepRecord("build", finished=True, result=os.urandom(500)))
        await journal.commit(Transaction(agent, failure_of(message), remember_until=5.0))

    for start in range(numbers.start, numbers.stop, 500):
        await asyncio.gather(*(failed(number) for number in range(start, min(start + 500, numbers.stop))))


async def test_ten_thousand_messages_of_which_each_tenth_fails_stay_under_the_same_size(tmp_path):
    journals = SqliteJournals(lambda _: tmp_path)
    journal = await journals.open("s", "a")
    for tenth in range(10):
        await handled_messages(journal, 900, first=900 * tenth)
        await failed_requests(journal, range(100 * tenth, 100 * (tenth + 1)))
    assert sum(files(tmp_path).values()) < 8 * MB
    await journal.prune(6.0)
    assert sum(files(tmp_path).values()) < 4 * MB
    await journals.close()
    assert sum(files(tmp_path).values()) < MB / 2


async def test_the_log_does_not_grow_with_what_is_written(tmp_path):
    journals = SqliteJournals(lambda _: tmp_path)
    journal = await journals.open("s", "a")
    largest = 0
    for number in range(400):
        await journal.commit(Transaction(AGENTS[0], f"m{number}", SavedState(1, os.urandom(30_000)), remember_until=5))
        largest = max(largest, files(tmp_path)["journal.db-wal"])
    assert largest < 2 * MB
    await journals.close()


async def test_pruning_is_done_in_small_pieces(tmp_path, monkeypatch):
    pieces: list[tuple[str, int]] = []
    prune, shrink = Tables.prune, Tables.shrink

    def counted_prune(self: Tables, now: float, most: int) -> int:
        pieces.append(("messages", done := prune(self, now, most)))
        return done

    def counted_shrink(self: Tables, pages: int) -> int:
        pieces.append(("pages", pages))
        return shrink(self, pages)

    monkeypatch.setattr(Tables, "prune", counted_prune)
    monkeypatch.setattr(Tables, "shrink", counted_shrink)
    journals = SqliteJournals(lambda _: tmp_path)
    journal = await journals.open("s", "a")
    await handled_messages(journal, 3_000)
    await journal.prune(6.0)

    assert max(amount for kind, amount in pieces if kind == "messages") <= sqlite.PRUNED_TOGETHER
    assert max(amount for kind, amount in pieces if kind == "pages") <= sqlite.PAGES_TOGETHER
    assert sum(amount for kind, amount in pieces if kind == "messages") == 3_000
    assert len([kind for kind, _ in pieces if kind == "pages"]) > 3
    await journals.close()


# Descriptors


def descriptors(home: Path) -> list[str]:
    found: list[str] = []
    for each in Path("/proc/self/fd").iterdir():
        try:
            target = str(each.readlink())
        except FileNotFoundError:
            continue
        if target.startswith(str(home)):
            found.append(target)
    return found


async def test_a_hundred_sessions_need_three_descriptors_each_and_none_when_closed(tmp_path):
    journals = SqliteJournals(lambda session: tmp_path / session)
    opened = [await journals.open(f"s{number}", "a") for number in range(100)]
    again = await journals.open("s0", "b")
    await asyncio.gather(*(each.commit(Transaction(Address(each.session, "r", "n"), "m")) for each in opened[1:]))
    assert len(descriptors(tmp_path)) <= 300

    await opened[0].close()
    assert any("/s0/" in each for each in descriptors(tmp_path))
    await again.close()
    assert not any("/s0/" in each for each in descriptors(tmp_path))

    await journals.close()
    assert descriptors(tmp_path) == []


async def test_an_opening_that_nobody_waits_for_any_more_leaves_nothing_open(tmp_path):
    journals = SqliteJournals(lambda session: tmp_path / session)
    for turns in range(8):
        opening = asyncio.ensure_future(journals.open(f"s{turns}", "a"))
        for _ in range(turns):
            await asyncio.sleep(0)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
    await journals.close()
    assert descriptors(tmp_path) == []


async def test_a_refused_opening_leaves_nothing_open(tmp_path):
    journals = SqliteJournals(lambda session: tmp_path / session)
    await (await journals.open("s", "b", fence=["a"])).close()
    with pytest.raises(Exception, match="replaced"):
        await journals.open("s", "a")
    assert descriptors(tmp_path) == []
    await journals.close()
