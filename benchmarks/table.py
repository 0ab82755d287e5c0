"""Rows of measurements, and how they are shown."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import version
from typing import NamedTuple

import psutil


class Row(NamedTuple):
    """One measurement. ``bar`` is what it should stay under, or over when ``more_is_better``."""

    what: str
    value: float
    unit: str
    bar: float | None
    more_is_better: bool = False

    @property
    def verdict(self) -> str:
        """Whether the bar was met; empty for a row that is there to compare with."""
        if self.bar is None:
            return ""
        return "met" if (self.value >= self.bar if self.more_is_better else self.value <= self.bar) else "missed"


def markdown(rows: Iterable[Row]) -> str:
    """A table for people."""
    lines = ["| what | measured | bar | |", "|---|---:|---:|---|"]
    for row in rows:
        bar = "" if row.bar is None else f"{'at least' if row.more_is_better else 'at most'} {row.bar:,g} {row.unit}"
        value = f"{row.value:,.0f}" if row.value >= 1000 else f"{row.value:,.3g}"
        lines.append(f"| {row.what} | {value} {row.unit} | {bar} | {row.verdict} |")
    return "\n".join(lines)


def machine() -> str:
    """Where and when, in one line."""
    memory = psutil.virtual_memory().total / 2**30
    return (
        f"{psutil.cpu_count()} CPUs, {memory:.0f} GiB, {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}, Ray {version('ray')}, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    )
