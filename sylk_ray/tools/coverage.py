"""Which of the changed statements the tests ran.

Python is measured by coverage.py (https://coverage.readthedocs.io) where the Python of the tests has it, 7.13 or later:
each of their processes starts it, told by its environment, and leaves a file of its own. So the person's command stays
as it is. Where it measures for itself, that is what is read. Other languages are read from the LCOV report that the
tests write. What is left is read by a confined process (``covered``), for tools wrote it.

What runs in a process that is ended by a signal, or has another environment, is not seen.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from sylk_ray.errors import SylkError
from sylk_ray.tools import covered
from sylk_ray.tools.context import ToolContext, ending_with

ENVIRONMENT = "COVERAGE_PROCESS_START"
ABSENT = (
    "no process of the tests left data of coverage.py: 7.13 or later is needed, and that they are not ended by a signal"
)
PATIENCE_S = 30.0

Lines = Mapping[str, Collection[int]]
"""The numbers of lines, from 1, by the file's path in the worktree."""
Count = Annotated[int, Meta(ge=0)]

_SHOWN = 20
_SPECIAL = re.compile(r"[^\w./+-]")
"""What a pattern or an INI file might read otherwise; in a pattern ``?`` stands for any one character."""
_MEASURES = re.compile(r"\bcov(erage)?\b")


class Coverage(msgspec.Struct, frozen=True):
    """How many statements a change adds or changes, how many of them were run, and the first lines of others (the first
    thousand of them), by file."""

    statements: Count = 0
    run: Count = 0
    missed: dict[str, list[Count]] = {}
    unknown: str = ""
    """Of what it is not known, and why; that is in none of the numbers."""


class Measurement:
    """Of one run of the tests; ``environment`` is what theirs needs besides."""

    def __init__(self, changed: Lines, context: ToolContext, folder: Path, report: str = "") -> None:
        """What is measured is kept in a ``folder`` of its own. With an LCOV ``report``, a path in the worktree, that is
        read and nothing else."""
        self._changed = changed if report else {path: lines for path, lines in changed.items() if path.endswith(".py")}
        self._context = context
        self._folder = folder
        self._report = report
        self._began = time.time_ns()
        self._problem = ""
        self.environment: dict[str, str] = {}
        if self._changed and not report:
            settings = folder / "settings"
            try:
                settings.write_text(_settings(self._changed, context.worktree.resolve(), folder), encoding="utf-8")
            except (OSError, ValueError) as problem:
                self._problem = f"nothing could be measured: {problem}"
            else:
                self.environment[ENVIRONMENT] = str(settings)

    async def end(self, command: str, *, pytest: bool) -> Coverage | None:
        """What was found, when the command has run; None where nothing has changed that could be measured. What cannot
        be read is not known."""
        if not self._changed:
            return None
        if self._problem:
            return Coverage(unknown=self._problem)
        given = {
            "worktree": str(self._context.worktree.resolve()),
            "changed": {path: list(lines) for path, lines in self._changed.items()},
            "report": self._report,
            "folder": str(self._folder),
            "since": self._began,
            "pytest": pytest,
            "themselves": _MEASURES.search(command) is not None,
            "absent": ABSENT,
        }
        try:
            done = await self._context.run_python(covered, msgspec.json.encode(given), limit_s=PATIENCE_S)
            if done.returncode != 0:
                said = done.stderr.decode("utf-8", "replace")
                return Coverage(unknown=f"what the tests left could not be read{ending_with(said)}")
            return msgspec.json.decode(done.stdout, type=Coverage)
        except (SylkError, TimeoutError, OSError, ValueError) as problem:
            return Coverage(unknown=f"what the tests left could not be read: {problem!r}")


def together(one: Coverage | None, other: Coverage | None) -> Coverage | None:
    """Of two runs over the same change: what either ran, as far as it is known."""
    if one is None or other is None or one.statements != other.statements or one.unknown or other.unknown:
        return max(one, other, key=lambda each: each.statements if each is not None else -1)
    if not (_names_all(one) and _names_all(other)):
        return max(one, other, key=lambda each: each.run)
    both = {path: set(lines).intersection(other.missed.get(path, ())) for path, lines in one.missed.items()}
    missed = {path: sorted(lines) for path, lines in both.items() if lines}
    return msgspec.structs.replace(other, run=other.statements - sum(map(len, missed.values())), missed=missed)


def _names_all(coverage: Coverage) -> bool:
    return coverage.statements - coverage.run == sum(map(len, coverage.missed.values()))


def describe_coverage(coverage: Coverage | None) -> str:
    """A phrase for a person, of the tests: how many of the changed statements they were seen to run, and which not;
    empty where there are none, or nothing is known."""
    if coverage is None or not coverage.statements:
        return ""
    told = f"they were seen to run {coverage.run} of {coverage.statements} changed statement(s)"
    if places := places_missed(coverage):
        more = f" and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
        told += f", not {', '.join(places[:_SHOWN])}{more}"
    return f"{told}; not known: {coverage.unknown}" if coverage.unknown else told


def places_missed(coverage: Coverage) -> list[str]:
    """Where statements are that were not run: ``shop.py:31-33``, lines that follow each other together."""
    places: list[str] = []
    for path, lines in coverage.missed.items():
        begin = 0
        for at, line in enumerate(lines):
            begin = begin or line
            if at + 1 == len(lines) or lines[at + 1] != line + 1:
                places.append(f"{path}:{begin}" if begin == line else f"{path}:{begin}-{line}")
                begin = 0
    return places


def _as_pattern(path: str) -> str:
    return _SPECIAL.sub("?", path)


def _settings(changed: Lines, worktree: Path, folder: Path) -> str:
    places = (_as_pattern(str(worktree / path)) for path in changed)
    copies = {f"*/*-packages/{_as_pattern(end)}": None for path in changed for end in covered.ends_of(path)}
    names = [f"*/{covered.PYTEST}", *places, *copies]
    files = "\n".join(f"    {name}" for name in names)
    data = str(folder / "data").replace("$", "$$")
    return (
        f"[run]\ndata_file = {data}\nparallel = true\ninclude =\n{files}\n"
        "patch = _exit\n"  # processes that are forked end so
        "disable_warnings = trace-changed\n"
    )
