"""Rounds of chaos: jobs run, whatever is killed, and all of them end as they would have."""

from __future__ import annotations

import asyncio
import random
import signal
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from sylk_ray.messaging import Event
from sylk_ray.runtime.journal import read_events
from sylk_ray.sessions import JobRecord, JobState, session_directory
from tests.cluster import Runtime
from tests.unit.sessions.conftest import git

from .traces import NOTHING, Left, until_nothing_is_left


@dataclass(frozen=True)
class Budget:
    """How much is killed, and what it may cost."""

    kinds: tuple[str, ...]
    cells: int = 2
    jobs: int = 3
    tasks: int = 5
    kills: int = 6
    earliest_s: float = 0.1
    latest_s: float = 1.2
    end_s: float = 60.0
    """From the last kill to the end of all jobs."""
    stopped_s: float = 4.0
    left: Left = NOTHING


PACKED = Budget(("cell", "cell", "cell", "system", "both", "stopped", "gateway"))
CROWDED = Budget(("two", "two", "cell", "both"), cells=3, jobs=2, kills=4, latest_s=1.5)
DEDICATED = Budget(("cell", "cell", "cell", "system", "gateway"), jobs=1, tasks=2, kills=3, latest_s=3.0)


@dataclass
class Round:
    """What was done in one, and what came of it."""

    seed: int
    kills: list[tuple[str, float]] = field(default_factory=list)
    reruns: int = 0
    slowest_s: float = 0.0
    """The longest time from a kill until a tool was started again, while there was still one to start."""
    end_s: float = 0.0

    def told(self) -> str:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(Counter(kind for kind, _ in self.kills).items()))
        return (
            f"seed {self.seed}: killed {kinds}; {self.reruns} tool run(s) were cut off, or not recorded yet, and done "
            f"again; a tool was started at most {self.slowest_s:.1f} s after a kill; all over {self.end_s:.1f} s after "
            "the last"
        )


def job_text(name: str, log: Path, tasks: int) -> str:
    """Each tool run notes when it starts and ends; each task has three, and one that is sent back by its tester two
    more."""

    def noted(label: str, work: str) -> str:
        def line(what: str) -> str:
            return f"echo {label} {what} $(date +%s.%N) >> {log}"

        return f"{line('start')}; {work}; code=$?; {line('end')}; exit $code"

    lines = [f"name: {name}", f"sandbox: {{write: [{log.parent}]}}", "policy: {max_concurrency: 3}", "tasks:"]
    for number in range(tasks):
        depends = f"    depends_on: [t{number - 3}]\n" if number >= 3 else ""
        first = noted(f"t{number}.1", f"sleep 0.2; echo {number} > made{number}")
        second = noted(f"t{number}.2", f"sleep 0.1; echo more >> made{number}")
        mended = f" && test -e mended{number}" if _is_sent_back(number) else ""
        test = noted(f"t{number}.test", f"test $(wc -l < made{number}) = 2{mended}")
        lines.append(f"  t{number}:\n{depends}    engineer:\n      - run: '{first}'\n      - run: '{second}'")
        if _is_sent_back(number):
            third = noted(f"t{number}.3", f"sleep 0.1; echo well > mended{number}")
            lines.append(f"    on_feedback:\n      - run: '{third}'")
        lines.append(f"    inspector: {{forbid: [zzz]}}\n    tester: '{test}'")
    return "\n".join(lines) + "\n"


def _is_sent_back(number: int) -> bool:
    return number % 3 == 2


class Killer:
    """Picks its victims, and the moments, by a seed."""

    def __init__(self, runtime: Runtime, budget: Budget, seed: int) -> None:
        self._runtime = runtime
        self._budget = budget
        self._chance = random.Random(seed)
        self.done: list[tuple[str, float]] = []

    async def strike(self) -> None:
        """Kill something, or stop it for so long that it is replaced."""
        kind = self._chance.choice(self._budget.kinds)
        apart = [cell for cell in await self._runtime.cells() if cell.cell != "gateway"]
        cells = sorted(apart, key=lambda cell: cell.cell)
        victims: list[psutil.Process] = []
        if cells and kind in ("cell", "both", "stopped"):
            victims.append(psutil.Process(self._chance.choice(cells).pid))
        if kind == "two":
            victims += [psutil.Process(cell.pid) for cell in self._chance.sample(cells, min(2, len(cells)))]
        if kind in ("system", "both"):
            victims.append(self._process("ray::System"))
        if kind == "gateway":
            victims.append(self._process("ray::Gateway"))
        self.done.append((kind, time.time()))
        if kind == "stopped" and victims:
            victims[0].send_signal(signal.SIGSTOP)
            await asyncio.sleep(self._budget.stopped_s)
        for victim in victims:
            try:
                victim.send_signal(signal.SIGCONT if kind == "stopped" else signal.SIGKILL)
            except psutil.NoSuchProcess:
                continue

    def _process(self, title: str) -> psutil.Process:
        """A process that was killed a moment ago is waited for until it is back."""
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            for process in psutil.Process(self._runtime.head.pid).children(recursive=True):
                try:
                    if " ".join(process.cmdline()).startswith(title):
                        return process
                except psutil.Error:
                    continue
        raise AssertionError(f"{title} did not come back")


async def run_round(runtime: Runtime, repo: Path, folder: Path, budget: Budget, seed: int) -> Round:
    """Raises AssertionError when anything is not as it would have been."""
    chance = random.Random(seed + 1)
    folder.mkdir(parents=True)
    names = [f"r{seed}-job{number}" for number in range(budget.jobs)]
    records = [await runtime.submit(job_text(name, folder / name, budget.tasks), repo, name) for name in names]
    killer = Killer(runtime, budget, seed)
    for _ in range(budget.kills):
        await asyncio.sleep(chance.uniform(budget.earliest_s, budget.latest_s))
        await killer.strike()
    killed = time.monotonic()

    records = [await runtime.until_over(record.job_id) for record in records]

    done = Round(seed, killer.done, end_s=time.monotonic() - killed)
    assert [(record.status, record.error) for record in records] == [(JobState.SUCCEEDED, None)] * len(records)
    assert done.end_s < budget.end_s
    for record in records:
        _check_branch(repo, record, budget.tasks)
        done.reruns += _check_runs(runtime, record, folder / record.session, budget.tasks)
    starts = sorted(at for name in names for at in _starts(folder / name))
    done.slowest_s = max((_next(starts, at) - at for _, at in killer.done), default=0.0)
    await until_nothing_is_left(runtime, repo, records, budget.left)
    return done


def _starts(log: Path) -> list[float]:
    return [float(line.split()[2]) for line in log.read_text().splitlines() if " start " in line]


def _next(starts: Sequence[float], after: float) -> float:
    return next((at for at in starts if at > after), after)


def _check_branch(repo: Path, record: JobRecord, tasks: int) -> None:
    """One commit a task, and the files that the job makes."""
    assert git(repo, "rev-list", "--count", f"main..{record.branch}") == str(tasks)
    for number in range(tasks):
        assert git(repo, "show", f"{record.branch}:made{number}") == f"{number}\nmore"


def _check_runs(runtime: Runtime, record: JobRecord, log: Path, tasks: int) -> int:
    """The history has each event once; no tool run starts again after its completion was recorded. Answers how many
    were done again."""
    events = read_events(session_directory(runtime.settings.home, record.session_id) / "journal.db")
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    completed = _completed(events)
    sent_back = sum(map(_is_sent_back, range(tasks)))
    assert len(completed) == 2 * tasks + sent_back
    starts = [line.split() for line in log.read_text().splitlines() if " start " in line]
    again = len(starts) - 3 * tasks - 2 * sent_back
    for label, _, at in starts:
        if label in completed:
            assert float(at) < completed[label], f"{label} ran again after it was done"
    assert [event.kind for event in events].count("job.finished") == 1
    assert [event.kind for event in events].count("task.merged") == tasks
    return again


def _completed(events: list[Event]) -> dict[str, float]:
    """When each action of each task was recorded as done; raises if any was twice."""
    found: dict[str, float] = {}
    counts: dict[str, int] = {}
    for event in events:
        if event.kind == "action.done":
            counts[event.task] = counts.get(event.task, 0) + 1
            label = f"{event.task}.{counts[event.task]}"
            assert label not in found
            found[label] = event.at
    return found
