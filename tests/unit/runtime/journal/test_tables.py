"""What a write of the journal's tables costs, in rows."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from typing import Any

from sylk_ray.messaging import Address
from sylk_ray.runtime.journal import opening
from sylk_ray.runtime.journal.records import StepRecord
from sylk_ray.runtime.journal.tables import Tables
from sylk_ray.transactions import transaction

from .conftest import fill

AGENT = Address("s", "a", "b")


def test_recording_a_step_reads_none(tmp_path, monkeypatch):
    """A handler that thinks for hours has hundreds, with all that was said in them."""
    read: list[int] = []
    rows = Tables.rows

    def counted(tables: Tables, *arguments: Any) -> list[tuple[Any, ...]]:
        found = rows(tables, *arguments)
        read.append(len(found))
        return found

    file = opening.open_file(tmp_path / "journal.db", "process")
    try:
        tables = Tables(file.connection)
        for number in range(50):
            tables.record_step(AGENT, "m", StepRecord(f"step {number}", f"before {number}"), ())
        monkeypatch.setattr(Tables, "rows", counted)
        tables.record_step(AGENT, "m", StepRecord("step 7", finished=True), ())
        assert read == []
        assert [name for name, step in tables.steps(AGENT, "m").items() if step.finished] == ["step 7"]
    finally:
        file.close()


async def test_what_only_reads_does_not_wait_for_who_writes(journals, tmp_path):
    journal = await journals.open("s", "a")
    await fill(journal, 5)
    with closing(sqlite3.connect(tmp_path / "journal.db", isolation_level=None)) as other, transaction(other):
        # Longer than that a reader takes, and shorter than it would wait for the lock.
        assert len(await asyncio.wait_for(journal.agents(), 2)) == 6
