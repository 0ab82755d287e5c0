"""Round after round of chaos on one runtime, for as long as it is told to: see ``scripts/soak``."""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest

from tests.unit.sessions.conftest import new_repository

from .chaos import PACKED, Round, run_round


@pytest.mark.timeout(0)
async def test_soak(start, tmp_path: Path) -> None:
    until = time.monotonic() + 60 * float(os.environ["SOAK_MINUTES"])
    chance = random.Random(int(os.environ["SOAK_SEED"]))
    runtime = await start(
        density="packed", gateway=True, cells=2, group_slack=1, cell_silence_s=2.0, session_restarts=1000
    )
    rounds: list[Round] = []
    before: dict[psutil.Process, tuple[int, int]] = {}
    while not rounds or time.monotonic() < until:
        seed = chance.randrange(10**6)
        print(f"round {len(rounds) + 1}, STRESS_SEED={seed}", flush=True)
        folder = tmp_path / f"round{len(rounds)}"
        repo = new_repository(folder / "repo", {"one.txt": "1\n"})
        rounds.append(await run_round(runtime, repo, folder / "granted", PACKED, seed))
        print(f"  {rounds[-1].told()}", flush=True)
        # What the first round has set up is no growth.
        before = before or sizes(runtime.head.pid)
    print(summary(rounds, before, sizes(runtime.head.pid)), flush=True)


def sizes(head: int) -> dict[psutil.Process, tuple[int, int]]:
    """Memory in bytes and open files of each of Ray's processes."""
    found: dict[psutil.Process, tuple[int, int]] = {}
    for process in [psutil.Process(head), *psutil.Process(head).children(recursive=True)]:
        try:
            found[process] = (process.memory_info().rss, process.num_fds())
        except psutil.Error:
            continue
    return found


def summary(
    rounds: list[Round],
    before: dict[psutil.Process, tuple[int, int]],
    after: dict[psutil.Process, tuple[int, int]],
) -> str:
    kills = Counter(kind for each in rounds for kind, _ in each.kills)
    lines = [
        f"{len(rounds)} round(s), {sum(kills.values())} kills: "
        + ", ".join(f"{count} {kind}" for kind, count in sorted(kills.items())),
        f"{sum(each.reruns for each in rounds)} tool run(s) were cut off, or not recorded yet, and done again",
        f"the slowest recovery took {max(each.slowest_s for each in rounds):.1f} s",
        f"the slowest end came {max(each.end_s for each in rounds):.1f} s after the last kill",
        "growth since the first round of the processes that live since then:",
    ]
    for process, (memory, files) in before.items():
        if process in after:
            name = _name_of(process)
            grown, opened = after[process][0] - memory, after[process][1] - files
            lines.append(f"  {name} ({process.pid}): {grown / 2**20:+.1f} MB, {opened:+d} open files")
    return "\n".join(lines)


def _name_of(process: psutil.Process) -> str:
    words = process.cmdline() or [process.name()]
    scripts = [word for word in words if word.endswith(".py")]
    return Path((scripts or words)[0]).name
