"""``python -m benchmarks [--write] [in_process] [on_ray] [submitting]``: measure and print one table."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from benchmarks import (
    fairness,
    in_process,
    indexing,
    journal,
    knowledge,
    models,
    on_ray,
    routing,
    saying,
    sessions,
    skills,
    submitting,
    thinking,
    topics,
    vectors,
)
from benchmarks.table import Row, machine, markdown

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
BEGIN, END = "<!-- table -->\n", "<!-- end of table -->"

PARTS = {
    "in_process": lambda: asyncio.run(in_process.measure()),
    "indexing": indexing.measure,
    "journal": lambda: asyncio.run(journal.measure()),
    "knowledge": knowledge.measure,
    "fairness": lambda: asyncio.run(fairness.measure()),
    "models": lambda: asyncio.run(models.measure()),
    "routing": routing.measure,
    "skills": lambda: asyncio.run(skills.measure()),
    "topics": lambda: asyncio.run(topics.measure()),
    "on_ray": on_ray.measure,
    "saying": saying.measure,
    "sessions": sessions.measure,
    "submitting": submitting.measure,
    "thinking": thinking.measure,
    "vectors": vectors.measure,
}


def main(arguments: list[str]) -> int:
    """Measure the named parts, or all."""
    wanted = [part for part in PARTS if part in arguments] or list(PARTS)
    rows: list[Row] = []
    for part in wanted:
        print(f"measuring {part} ...", file=sys.stderr)
        rows += PARTS[part]()
    command = f"scripts/bench {' '.join(wanted) if len(wanted) < len(PARTS) else ''}".strip()
    table = f"{machine()}, `{command}`:\n\n{markdown(rows)}\n\n"
    print(table)
    if "--write" in arguments:
        before, _, rest = PAGE.read_text().partition(BEGIN)
        _, _, after = rest.partition(END)
        PAGE.write_text(f"{before}{BEGIN}{table}{END}{after}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
