"""The gate's writer and readers are killed and stopped at random: none ever refuses what was acknowledged."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PROCESS = Path(__file__).with_name("gate_process.py")


@dataclass(frozen=True)
class Budget:
    """How much is done to them, and what they must have done meanwhile. A machine that is busy with something else may
    take longer."""

    seconds: float = 10.0
    most_seconds: float = 90.0
    readers: int = 3
    least_acknowledged: int = 100
    least_refused: int = 100
    least_kills: int = 5


BUDGET = Budget()


class Processes:
    """A writer and readers, that end with the test."""

    def __init__(self, directory: Path, chance: random.Random) -> None:
        self._directory = directory
        self._chance = chance
        self._all: list[subprocess.Popen[bytes]] = []
        self.readers = [self.start("reader") for _ in range(BUDGET.readers)]
        self.writer = self.start("writer")
        self.kills = 0

    def start(self, role: str) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        command = [sys.executable, str(PROCESS), role, str(self._directory), str(self._chance.randrange(10**6))]
        self._all.append(subprocess.Popen(command, env=environment))
        return self._all[-1]

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        assert process.poll() is None, "it ended by itself"
        process.kill()
        process.wait()
        self.kills += 1

    def kill_writer(self) -> None:
        self.kill(self.writer)
        self.writer = self.start("writer")

    def kill_reader(self) -> None:
        at = self._chance.randrange(len(self.readers))
        self.kill(self.readers[at])
        self.readers[at] = self.start("reader")

    def stop_one(self) -> None:
        """For shorter or longer than a lease lasts."""
        process = self._chance.choice([self.writer, *self.readers])
        process.send_signal(signal.SIGSTOP)
        time.sleep(self._chance.choice([0.05, 0.3, 0.8]))
        process.send_signal(signal.SIGCONT)

    def end(self) -> None:
        for each in self._all:
            if each.poll() is None:
                each.kill()
            each.wait()


@pytest.fixture
def directory() -> Iterator[Path]:
    """A short name: those of sockets have at most 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="gate-") as made:
        for name in ("stored", "acknowledged", "refused", "wrong"):
            (Path(made) / name).touch()
        yield Path(made)


def _told(directory: Path) -> dict[str, list[str]]:
    return {name: (directory / name).read_text().split() for name in ("stored", "acknowledged", "refused", "wrong")}


def _enough(directory: Path, processes: Processes) -> bool:
    told = _told(directory)
    return (
        len(told["acknowledged"]) >= BUDGET.least_acknowledged
        and len(told["refused"]) >= BUDGET.least_refused
        and processes.kills >= BUDGET.least_kills
    )


@pytest.mark.timeout(180)
def test_no_reader_refuses_what_was_acknowledged(directory):
    seed = int(os.environ.get("STRESS_SEED", random.randrange(10**6)))
    print(f"STRESS_SEED={seed}")
    chance = random.Random(seed)
    processes = Processes(directory, chance)
    try:
        began = time.monotonic()
        while time.monotonic() - began < (BUDGET.seconds if _enough(directory, processes) else BUDGET.most_seconds):
            time.sleep(chance.uniform(0.2, 1.2))
            chance.choices([processes.kill_reader, processes.kill_writer, processes.stop_one], [3, 2, 3])[0]()
    finally:
        processes.end()

    told = _told(directory)
    print({name: len(lines) for name, lines in told.items()}, f"{processes.kills} kills")
    assert told["wrong"] == []
    assert len(told["acknowledged"]) >= BUDGET.least_acknowledged
    assert len(told["refused"]) >= BUDGET.least_refused
    assert processes.kills >= BUDGET.least_kills
