"""What a write of the journal's tables costs, in rows."""

from __future__ import annotations

from typing import Any

from sylk_ray.messaging import Address
from sylk_ray.runtime.journal import opening
from sylk_ray.runtime.journal.tables import Tables

AGENT = Address("s", "a", "b")


def test_ending_a_step_reads_no_other(tmp_path, monkeypatch):
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
            tables.begin_step(AGENT, "m", f"step {number}", f"before {number}", "trace")
        monkeypatch.setattr(Tables, "rows", counted)
        tables.finish_step(AGENT, "m", "step 7", b"r", ())
        assert read == [1]
        kept = tables.steps(AGENT, "m")
        assert (kept["step 7"].before, kept["step 7"].trace) == ("before 7", "trace")
        assert [name for name, step in kept.items() if step.finished] == ["step 7"]
    finally:
        file.close()
