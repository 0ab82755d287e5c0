"""What the runtime costs an Engineer that thinks: a task of 20 calls of a model that answers at once.

The model is a process of its own, and notes when it is asked. From one question to the next is all that is not the
model: its answer's way back, understanding it, the tool, the steps in the journal, admission, and the way there.
"""

from __future__ import annotations

import itertools
import multiprocessing
import statistics
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

import msgspec

from benchmarks.cluster import new_repository, on_a_cluster, run_job, runtime
from benchmarks.table import Row
from sylk_ray.llm import Piece, Request, count_tokens
from sylk_ray.sessions import JobState
from tests.models import ModelServer, call

BAR_MS = 20.0
RUNS = 6
"""Tasks one after the other; the first is not counted."""
FUNCTION = "\n\ndef total_{n}(values):\n    return sum(value * {n} for value in values)\n"
LOOKS = [
    ("read_file", {"path": "x"}),
    ("search_files", {"pattern": "x"}),
    ("list_files", {}),
    ("list_files", {"pattern": "*.py"}),
]
CALLS = [
    *LOOKS,
    ("write_file", {"path": "a.py", "content": FUNCTION.format(n=1)}),
    *LOOKS,
    ("edit_file", {"path": "a.py", "old": "* 1 ", "new": "* 2 "}),
    *LOOKS,
    ("edit_file", {"path": "a.py", "old": "* 2 ", "new": "* 3 "}),
    ("run_command", {"command": "true"}),
    *LOOKS[:3],
    ("finish", {"summary": "it is done"}),
]
"""Fifteen looks, three changes, a command and the end of it: agents look more than they change."""
JOB = """
name: twenty_calls
tasks:
  one: {prompt: Write the functions., review: false, write_tests: false}
"""


class Asked(NamedTuple):
    """When the model was asked, and of how many tokens in all and in the parts that are always the same."""

    at: float
    tokens: int
    fixed: int


def measure() -> list[Row]:
    """All rows, on a cluster that is started and ended here."""
    assert len(CALLS) == 20
    here, there = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=_serve, args=(there,), daemon=True)
    server.start()
    try:
        url: str = here.recv()
        return on_a_cluster(lambda home: _measured(home, url, here))
    finally:
        server.kill()
        server.join()


async def _measured(home: Path, url: str, server: Connection) -> list[Row]:
    repo = new_repository(home / "repo")
    models = {"instant": {"base_url": url, "model": "instant", "context_window": 100_000}}
    runs: list[Sequence[Asked]] = []
    async with runtime(home / "home", cells=1, warm_cells=0, models=models) as system:
        for _ in range(RUNS):
            record = await run_job(system, JOB, repo)
            assert record.status is JobState.SUCCEEDED, record
            server.send("what were you asked?")
            runs.append(server.recv())
    return _rows(runs[1:])


def _rows(runs: Sequence[Sequence[Asked]]) -> list[Row]:
    after: dict[str, list[float]] = {}
    each: list[float] = []
    for asked in runs:
        assert len(asked) == len(CALLS), f"{len(asked)} calls"
        gaps = [(later.at - earlier.at) * 1e3 for earlier, later in itertools.pairwise(asked)]
        each.append(statistics.mean(gaps))
        for (tool, _), gap in zip(CALLS, gaps, strict=False):
            after.setdefault(_KINDS.get(tool, "a tool that looks"), []).append(gap)
    fixed = sum(one.fixed for one in runs[0]) / sum(one.tokens for one in runs[0])
    return [
        Row("a task of 20 calls: besides the model, a call", statistics.median(each), "ms", BAR_MS),
        *(Row(f"... {kind}, median", statistics.median(gaps), "ms", None) for kind, gaps in after.items()),
        Row("tokens that the model reads in such a task", sum(one.tokens for one in runs[0]), "", None),
        Row("... of which prompt and tools, the same in each call", fixed * 100, "%", None),
    ]


_KINDS = {"write_file": "one that changes a file", "edit_file": "one that changes a file", "run_command": "a command"}


def _serve(told: Connection) -> None:
    asked: list[tuple[float, Request]] = []

    def answer(request: Request) -> Sequence[Piece]:
        name, arguments = CALLS[len(asked) % len(CALLS)]
        asked.append((time.perf_counter(), request))
        return call(name, **arguments)

    with ModelServer(answer=answer) as server:
        told.send(server.url)
        while told.recv():
            told.send([_counted(at, request) for at, request in asked])
            asked.clear()


def _counted(at: float, request: Request) -> Asked:
    fixed = count_tokens(msgspec.json.encode([request.system, request.tools]).decode())
    return Asked(at, fixed + count_tokens(msgspec.json.encode(request.messages).decode()), fixed)
