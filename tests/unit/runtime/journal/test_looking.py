"""Programs that only look: they see what is committed, and change nothing."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing

import pytest

from sylk_ray.errors import SylkError
from sylk_ray.runtime.journal import (
    DeadLetter,
    JournalDamaged,
    Mail,
    read_dead_letters,
    read_events,
    read_last_event,
)
from tests.unit.runtime.journal.conftest import AGENTS, fill

LETTER = DeadLetter(Mail("dead", AGENTS[0], AGENTS[1], b"p"), "error", "reason", 1.5)


async def test_there_is_nothing_to_see_where_there_is_no_file(tmp_path):
    assert read_events(tmp_path / "journal.db") == []
    assert read_dead_letters(tmp_path / "none" / "journal.db") == []
    assert list(tmp_path.iterdir()) == []


async def test_events_and_dead_letters_are_seen_while_it_is_open_and_after_it_was_closed(journals, tmp_path):
    path = tmp_path / "journal.db"
    journal = await journals.open("s", "a")
    await fill(journal, 20)
    await journal.bury(LETTER)
    for _ in range(2):
        assert read_events(path) == await journal_events(path)
        assert [each.sequence for each in read_events(path, 5, 3)] == [6, 7, 8]
        assert read_dead_letters(path) == [LETTER]
        await journals.close()


async def journal_events(path) -> list:
    """What another connection sees."""
    events = read_events(path, 0)
    assert [each.sequence for each in events] == list(range(1, 21))
    return events


async def test_the_last_events_number_is_seen_while_it_is_open_and_after_it_was_closed(journals, tmp_path):
    path = tmp_path / "journal.db"
    assert read_last_event(path) == 0
    journal = await journals.open("s", "a")
    assert read_last_event(path) == 0
    await fill(journal, 20)
    assert read_last_event(path) == 20
    await journals.close()
    assert read_last_event(path) == 20


async def test_looking_leaves_no_trace(journals, tmp_path):
    path = tmp_path / "journal.db"
    await fill(await journals.open("s", "a"), 20)
    await journals.close()
    before = {each.name: (each.stat().st_mtime_ns, each.read_bytes()) for each in tmp_path.iterdir()}
    assert len(read_events(path)) == 20
    read_dead_letters(path)
    assert {each.name: (each.stat().st_mtime_ns, each.read_bytes()) for each in tmp_path.iterdir()} == before


async def test_what_only_the_log_of_a_killed_writer_holds_is_seen(burst, tmp_path):
    process = await burst("w0", count=10, together=1, home=tmp_path / "killed")
    await process.until("9")
    process.process.kill()
    await process.rest()
    shutil.copytree(tmp_path / "killed", tmp_path / "copy")
    assert [each.data["number"] for each in read_events(tmp_path / "copy" / "journal.db")] == list(range(10))
    (tmp_path / "copy" / "journal.db-shm").unlink()
    assert len(read_events(tmp_path / "copy" / "journal.db")) == 10


async def test_a_damaged_file_is_said_and_left_as_it_is(journals, tmp_path):
    path = tmp_path / "journal.db"
    for content in (b"", b"this is a letter to my aunt\n" * 300):
        path.write_bytes(content)
        with pytest.raises(JournalDamaged):
            read_events(path)
        assert path.read_bytes() == content
        assert [each.name for each in tmp_path.iterdir()] == ["journal.db"]


async def test_another_programs_database_is_said(tmp_path):
    path = tmp_path / "journal.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE events(number, body, crc)")
    with pytest.raises(SylkError, match="not a journal"):
        read_events(path)
