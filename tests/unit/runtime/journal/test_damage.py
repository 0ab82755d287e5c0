"""A damaged file is found on opening, kept aside, and what can be read of it is in the new one."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import sqlite3
import struct
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from sylk_ray.errors import SylkError
from sylk_ray.messaging import Address, Event
from sylk_ray.runtime.journal import (
    DeadLetter,
    Fenced,
    Journal,
    JournalDamaged,
    JournalFull,
    JournalTooNew,
    JournalUnavailable,
    Mail,
    SavedState,
    SqliteJournals,
    Transaction,
    opening,
    read_events,
)
from sylk_ray.runtime.journal.records import StepRecord
from sylk_ray.runtime.journal.schema import (
    APPLICATION_ID,
    MIGRATIONS,
    checksum,
    connect,
    create,
    migrate,
    version_of,
)
from sylk_ray.runtime.journal.tables import Tables
from tests.disks import take_all_room
from tests.unit.runtime.journal.conftest import AGENTS, fill, transaction

COUNT = 3000
PAGE = 4096


@pytest.fixture(scope="module")
def sound(tmp_path_factory) -> Path:
    """A directory with a journal of 3000 messages, closed in order."""
    home = tmp_path_factory.mktemp("sound")

    async def make() -> None:
        journals = SqliteJournals(lambda _: home)
        await journals.open("s", "fenced one")
        journal = await journals.open("s", "a", fence=["fenced one"])
        await fill(journal, COUNT)
        await journal.record_step(AGENTS[0], "m", StepRecord("build", "c1"))
        await journal.bury(DeadLetter(Mail("dead", AGENTS[0], AGENTS[1], b"p"), "error", "reason", 1.5))
        await journals.close()

    asyncio.run(make())
    return home


@pytest.fixture
def home(sound, tmp_path) -> Path:
    shutil.copytree(sound, tmp_path / "home")
    return tmp_path / "home"


@pytest.fixture
async def journals(home):
    journals = SqliteJournals(lambda _: home)
    yield journals
    await journals.close()


def overwrite(path: Path, place: int, content: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(place)
        file.write(content)


def noise(size: int, seed: int = 0) -> bytes:
    return random.Random(seed).randbytes(size)


async def check_whole_again(journals: SqliteJournals, home: Path, journal: Journal) -> dict[str, int]:
    """The salvaged file works, the damaged one is beside it, and nobody else hears of damage again."""
    report = journal.report
    assert not report.whole
    assert report.problem
    assert report.damaged_file == str(home / "journal.db.damaged-1")
    assert Path(report.damaged_file).exists()
    events = await journal.events(0, 10**9)
    numbers = [each.sequence for each in events]
    assert numbers == sorted(set(numbers))
    assert all(each.data["number"] == each.sequence - 1 for each in events)
    for agent in AGENTS:
        memory = await journal.recall(agent)
        assert memory.state in (None, SavedState(1, bytes(300)))
        assert all(until == 1e12 for until, _ in memory.handled.values())
    assert all(mail.packet == b"p" * 300 for mail in await journal.pending())
    last = await journal.last_event()
    assert (await journal.commit(Transaction(AGENTS[0], "new", events=[Event("new", "s")]))).last_event == last + 1
    await journals.close()
    again = await journals.open("s", "c")
    assert again.report.whole
    assert again.epoch > journal.epoch
    assert (await again.events(last))[0].kind == "new"
    return report.saved


async def test_a_sound_file_is_left_alone(journals, home):
    journal = await journals.open("s", "b")
    assert journal.report.whole
    assert journal.report.saved == {}
    assert await journal.last_event() == COUNT
    assert {each.name for each in home.iterdir()} <= {
        "journal.db",
        "journal.db.lock",
        "journal.db-wal",
        "journal.db-shm",
    }


@pytest.mark.parametrize("seed", range(8))
async def test_noise_anywhere_is_found_and_the_rest_is_saved(journals, home, seed):
    path = home / "journal.db"
    place = random.Random(seed).randrange(PAGE, path.stat().st_size - 3 * PAGE)
    overwrite(path, place, noise(6000, seed))
    journal = await journals.open("s", "b")
    saved = await check_whole_again(journals, home, journal)
    assert saved["events"] >= COUNT - 200
    assert saved["handled"] >= COUNT - 200


async def test_many_damaged_pages_cost_their_rows_and_no_others(journals, home):
    path = home / "journal.db"
    pages = path.stat().st_size // PAGE
    for page in range(40, pages, 40):
        overwrite(path, page * PAGE, noise(PAGE, page))
    saved = await check_whole_again(journals, home, await journals.open("s", "b"))
    assert saved["events"] > COUNT * 0.85
    assert saved["handled"] > COUNT * 0.85
    assert saved["states"] > 50


async def test_a_few_bytes_inside_a_row_are_found_though_the_tables_hold_together(journals, home):
    path = home / "journal.db"
    place = path.read_bytes().index(b"task.told")
    overwrite(path, place, b"task.lied")
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"

    journal = await journals.open("s", "b")

    assert "events" in journal.report.problem
    saved = await check_whole_again(journals, home, journal)
    assert saved["events"] == COUNT - 1
    assert saved["handled"] == COUNT


@pytest.mark.parametrize("size", [PAGE, 100, 20], ids=["page", "header", "name"])
async def test_without_its_first_page_everything_is_saved(journals, home, size):
    overwrite(home / "journal.db", 0, noise(size))
    saved = await check_whole_again(journals, home, await journals.open("s", "b"))
    assert (saved["events"], saved["handled"], saved["states"]) == (COUNT, COUNT, 100)
    assert (saved["letters"], saved["steps"], saved["mail"]) == (1, 1, 1)


@pytest.mark.parametrize("part", [0.9, 0.5, 0.1])
async def test_of_a_truncated_file_the_beginning_is_saved(journals, home, part):
    path = home / "journal.db"
    os.truncate(path, int(path.stat().st_size * part))
    saved = await check_whole_again(journals, home, await journals.open("s", "b"))
    assert part < 0.5 or saved["events"] > COUNT * part * 0.3  # of a tenth the tables' upper pages are missing


@pytest.mark.parametrize(
    "content", [b"", b"SQLite format 3\0", b"this is a letter to my aunt\n" * 300, noise(50_000), bytes(20_000)]
)
async def test_a_file_of_which_nothing_can_be_saved_is_put_aside_and_a_fresh_one_opened(journals, home, content):
    (home / "journal.db").write_bytes(content)
    journal = await journals.open("s", "b")
    assert not any(journal.report.saved.values())
    assert Path(journal.report.damaged_file).read_bytes() == content
    await check_whole_again(journals, home, journal)


async def test_another_programs_database_is_put_aside_as_it_was(journals, home):
    path = home / "journal.db"
    path.unlink()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE recipes(name)")
        connection.execute("INSERT INTO recipes VALUES ('soup')")
        connection.commit()
    journal = await journals.open("s", "b")
    assert "not a journal" in journal.report.problem
    with closing(sqlite3.connect(journal.report.damaged_file)) as connection:
        assert connection.execute("SELECT name FROM recipes").fetchone() == ("soup",)
    await check_whole_again(journals, home, journal)


async def test_a_missing_file_is_noticed_when_there_was_one(journals, home):
    (home / "journal.db").unlink()
    journal = await journals.open("s", "b")
    assert journal.report.problem == "it is missing"
    assert journal.report.damaged_file == ""
    assert await journal.last_event() == 0


@pytest.mark.parametrize("lost", [["-wal"], ["-wal", "-shm"]])
async def test_a_missing_log_is_noticed_and_the_rest_is_saved(burst, tmp_path, lost):
    process = await burst("w0", home=tmp_path / "killed")
    await process.read_for(0.2)
    process.process.kill()
    await process.rest()
    for ending in lost:
        (tmp_path / "killed" / f"journal.db{ending}").unlink()

    journals = SqliteJournals(lambda _: tmp_path / "killed")
    journal = await journals.open("s", "b")
    assert "-wal" in journal.report.problem
    assert len(await journal.events(0, 10**9)) == journal.report.saved["events"]
    await journals.close()


async def test_what_is_only_in_the_log_is_saved_too(burst, tmp_path):
    home = tmp_path / "killed"
    process = await burst("w0", count=10, together=1, home=home)
    await process.until("9")
    process.process.kill()
    await process.rest()
    overwrite(home / "journal.db", 0, noise(PAGE))

    journals = SqliteJournals(lambda _: home)
    journal = await journals.open("s", "b")
    assert len((await journal.recall(transaction(0).agent)).handled) == 0
    assert [each.data["number"] for each in await journal.events(0)] == list(range(10))
    await journals.close()


async def test_a_fence_outlives_the_damage_and_epochs_go_on(journals, home):
    path = home / "journal.db"
    overwrite(path, path.stat().st_size - 2 * PAGE, noise(2 * PAGE))
    assert not (await journals.open("s", "b")).report.whole
    with pytest.raises(Fenced):
        await journals.open("s", "fenced one")


async def test_epochs_grow_although_all_writers_were_lost(journals, home):
    (home / "journal.db").write_bytes(b"")
    assert (await journals.open("s", "b")).epoch > 2


async def test_event_numbers_are_not_given_again_when_the_last_events_were_lost(journals, home):
    path = home / "journal.db"
    content = path.read_bytes()
    for number in range(COUNT - 40, COUNT):
        place = content.find(b"\xa6number" + b"\xcd" + struct.pack(">H", number))
        assert place > 0
        overwrite(path, place + 1, b"NUMBER")
    journal = await journals.open("s", "b")
    assert journal.report.saved["events"] == COUNT - 40
    assert await journal.last_event() == COUNT


async def test_the_next_damaged_file_has_the_next_number(journals, home):
    for number in (1, 2):
        (home / "journal.db").write_bytes(b"noise")
        journal = await journals.open("s", "b")
        assert journal.report.damaged_file == str(home / f"journal.db.damaged-{number}")
        await journals.close()


OPEN = """
import asyncio, sys
from pathlib import Path
from sylk_ray.runtime.journal import SqliteJournals
async def main():
    journals = SqliteJournals(lambda _: Path(sys.argv[1]))
    journal = await journals.open("s", sys.argv[2])
    print(journal.report.whole, journal.report.saved.get("events"), await journal.last_event(), flush=True)
    await journals.close()
asyncio.run(main())
"""


async def test_of_processes_that_open_a_damaged_file_at_once_one_salvages_and_all_see_it(home):
    path = home / "journal.db"
    overwrite(path, path.stat().st_size // 2, noise(6000))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", OPEN, str(home)]
    processes = [
        await asyncio.create_subprocess_exec(*command, f"w{n}", stdout=subprocess.PIPE, env=environment)
        for n in range(4)
    ]
    said = [(await process.communicate())[0].decode().split() for process in processes]
    assert [process.returncode for process in processes] == [0] * 4
    assert len({last for _, _, last in said}) == 1
    assert sum(whole == "False" for whole, _, _ in said) >= 1
    assert {each.name.removesuffix("-wal") for each in home.glob("*.damaged-*")} == {"journal.db.damaged-1"}


async def test_a_writer_that_has_the_file_open_goes_on_in_the_salvaged_one(journals, home):
    path = home / "journal.db"
    writer = await journals.open("s", "b")
    await writer.commit(transaction(COUNT))
    overwrite(path, path.stat().st_size // 2, noise(6000))
    others = SqliteJournals(lambda _: home)

    other = await others.open("s", "c")
    assert not other.report.whole
    await writer.commit(transaction(COUNT + 1))
    await writer.commit(transaction(COUNT + 2))

    assert [each.data["number"] for each in await other.events(COUNT)] == [COUNT, COUNT + 1, COUNT + 2]
    await journals.close()
    await other.commit(transaction(COUNT + 3))
    await others.close()
    assert [each.sequence for each in read_events(path, COUNT)] == [COUNT + n for n in range(1, 5)]


async def test_damage_that_is_met_later_is_said_and_repaired_by_opening_again(journals, home, monkeypatch):
    monkeypatch.setattr(opening, "THOROUGH_BYTES", 0)
    path = home / "journal.db"
    overwrite(path, path.read_bytes().index(b"task.told"), b"task.lied")
    journal = await journals.open("s", "b")
    assert journal.report.whole

    with pytest.raises(JournalDamaged) as met:
        await journal.events(0, 10**9)
    assert str(path) in met.value.message
    assert "open it again" in met.value.hint
    await journals.close()

    assert (await journals.open("s", "b")).report.saved["events"] == COUNT - 1


async def test_a_salvage_that_was_broken_off_is_ended_by_the_next_opening(journals, home):
    path = home / "journal.db"
    shutil.copy(path, home / "journal.db.salvaged-1")
    path.rename(home / "journal.db.damaged-1")
    (home / "journal.db-wal").write_bytes(b"the damaged file's")
    (home / "journal.db.salvage").mkdir()

    journal = await journals.open("s", "b")

    assert await journal.last_event() == COUNT
    assert (home / "journal.db.damaged-1-wal").read_bytes() == b"the damaged file's"
    assert not list(home.glob("*.salvaged-*"))


# Versions


async def test_a_file_of_a_later_version_is_refused_and_left_as_it_is(journals, home):
    path = home / "journal.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    before = path.read_bytes()
    with pytest.raises(JournalTooNew, match="version 99"):
        await journals.open("s", "b")
    with pytest.raises(JournalTooNew):
        read_events(path)
    assert path.read_bytes() == before
    assert not list(home.glob("*.damaged-*"))


def test_migrations_are_done_in_order_and_once(tmp_path):
    path = tmp_path / "journal.db"
    create(path).close()
    longer = (*MIGRATIONS, ("CREATE TABLE second(a)",), ("ALTER TABLE second ADD COLUMN b",))
    with closing(connect(path, "process")) as connection:
        assert version_of(connection) == len(MIGRATIONS)
        for _ in range(2):
            migrate(connection, path, longer)
            assert version_of(connection) == len(longer)
        connection.execute("INSERT INTO second(a, b) VALUES (1, 2)")
        with pytest.raises(JournalTooNew):
            migrate(connection, path)


STEP = ("s/a/b", "m", "build", "c1", 1, "c2", b"r")


def make_of_version(path: Path, version: int) -> None:
    """A journal as an earlier sylk_ray has left it, with the step of a handler that had not committed."""
    with closing(connect(path, "process", mode="rwc")) as connection:
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        migrate(connection, path, MIGRATIONS[:version])
        connection.execute(
            "INSERT INTO steps(agent, message, name, before, finished, after, result, crc) VALUES (?,?,?,?,?,?,?,?)",
            (*STEP, checksum(STEP)),
        )


@pytest.mark.parametrize("version", range(1, len(MIGRATIONS)))
def test_an_earlier_version_is_whole_and_keeps_its_steps(tmp_path, version):
    path = tmp_path / "journal.db"
    make_of_version(path, version)
    file = opening.open_file(path, "process")
    try:
        assert file.report.whole
        assert not list(tmp_path.glob("*.damaged-*"))
        assert version_of(file.connection) == len(MIGRATIONS)
        tables, agent = Tables(file.connection), Address("s", "a", "b")
        kept = StepRecord("build", "c1", finished=True, result=b"r")
        assert tables.steps(agent, "m") == {"build": kept}
        tables.record_step(agent, "m", StepRecord("again", "c3", trace="a trace"), ())
        assert tables.steps(agent, "m")["again"].trace == "a trace"
    finally:
        file.close()


def test_of_an_earlier_version_that_is_damaged_the_steps_are_saved_too(tmp_path):
    path = tmp_path / "journal.db"
    make_of_version(path, 2)
    with closing(connect(path, "process")) as connection:
        connection.execute("INSERT INTO states(agent, version, data, crc) VALUES ('s/a/b', 1, x'00', 1)")
    file = opening.open_file(path, "process")
    try:
        assert (file.report.whole, file.report.saved["states"], file.report.saved["steps"]) == (False, 0, 1)
    finally:
        file.close()


def test_a_migration_that_fails_leaves_the_file_as_it_was(tmp_path):
    path = tmp_path / "journal.db"
    create(path).close()
    with closing(connect(path, "process")) as connection:
        with pytest.raises(sqlite3.OperationalError):
            migrate(connection, path, (*MIGRATIONS, ("CREATE TABLE second(a)", "nonsense")))
        assert version_of(connection) == len(MIGRATIONS)
        assert not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'second'").fetchall()


# What cannot be used at all


async def test_a_directory_that_cannot_be_made_is_said(tmp_path):
    (tmp_path / "file").write_text("not a directory")
    journals = SqliteJournals(lambda _: tmp_path / "file" / "s")
    with pytest.raises(JournalUnavailable) as refused:
        await journals.open("s", "a")
    assert str(tmp_path / "file") in refused.value.message
    assert "permissions" in refused.value.hint
    await journals.close()


async def test_a_file_that_may_not_be_written_is_said_and_left_as_it_is(sound, small_disk):
    shutil.copytree(sound, small_disk / "s")
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    journals = SqliteJournals(lambda _: small_disk / "s")
    with pytest.raises(JournalUnavailable) as refused:
        await journals.open("s", "b")
    assert str(small_disk / "s" / "journal.db") in refused.value.message
    assert "permissions" in refused.value.hint
    assert len(read_events(small_disk / "s" / "journal.db")) == COUNT
    await journals.close()


@pytest.mark.parametrize("room_kb", [0, 300, 900, 1300, 1600])
async def test_a_damaged_file_is_left_as_it_is_while_there_is_no_room_to_salvage_it(sound, small_disk, room_kb):
    shutil.copytree(sound, small_disk / "s")
    path = small_disk / "s" / "journal.db"
    overwrite(path, path.stat().st_size // 2, noise(6000))
    before = path.read_bytes()
    take_all_room(small_disk)
    os.truncate(small_disk / "filler", (small_disk / "filler").stat().st_size - room_kb * 1024)
    journals = SqliteJournals(lambda _: small_disk / "s")
    try:
        journal = await journals.open("s", "b")
    except JournalFull:
        assert path.read_bytes() == before
        assert not list(path.parent.glob("*.salvage*"))
        (small_disk / "filler").unlink()
        subprocess.run(["mount", "-o", "remount,size=30m", str(small_disk)], check=True)
        journal = await journals.open("s", "b")
    assert journal.report.saved["events"] > COUNT - 200
    await journals.close()


async def test_a_closed_journal_says_so(journals):
    journal = await journals.open("s", "b")
    await journals.close()
    with pytest.raises(SylkError, match="closed"):
        await journal.commit(transaction(COUNT))
    with pytest.raises(SylkError, match="closed"):
        await journal.recall(AGENTS[0])


async def test_a_directory_that_is_removed_under_an_open_journal_is_said(journals, home):
    journal = await journals.open("s", "b")
    shutil.rmtree(home)
    with pytest.raises(JournalUnavailable):
        await journal.commit(transaction(COUNT))
    await journals.close()
    assert not home.exists()
