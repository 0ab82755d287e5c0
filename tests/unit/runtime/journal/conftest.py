"""Journals in a directory, and processes that write to them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest

import sylk_ray
from sylk_ray.messaging import Address, Event
from sylk_ray.runtime.journal import Journal, Mail, SavedState, SqliteJournals, Transaction
from tests.disks import small_disk

PROGRAM = Path(__file__).with_name("burst.py")
AGENTS = [Address("s", "engineer", f"agent-{number}") for number in range(100)]


class Burst:
    """A process that commits, and the lines that it has said."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.said: list[str] = []

    @property
    def acknowledged(self) -> list[int]:
        return [int(word) for word in self.said if word.isdigit()]

    async def until(self, word: str) -> None:
        """Read until it says a word. Fails when it ends without."""
        assert self.process.stdout is not None
        while word not in self.said:
            line = await self.process.stdout.readline()
            assert line, f"it ended, and had said {self.said[-5:]}"
            self.said.append(line.decode().strip())

    async def read_for(self, seconds: float) -> None:
        """Read what it says for a while."""
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self.until("over"), seconds)

    async def rest(self) -> None:
        """Read what it says until it ends."""
        assert self.process.stdout is not None
        self.said += [line.strip().decode() for line in (await self.process.stdout.read()).splitlines() if line]
        await self.process.wait()

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def go_on(self) -> None:
        """SIGCONT, for one that may have been woken by another, and have ended."""
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGCONT)

    async def until_stopped(self) -> None:
        while Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
            await asyncio.sleep(0.001)


Start = Callable[..., Awaitable[Burst]]


@pytest.fixture
async def burst(tmp_path) -> AsyncIterator[Start]:
    """Start a process that commits ``count`` transactions, ``together`` at a time."""
    started: list[Burst] = []

    async def start(writer: str, count: int = 1_000_000, together: int = 20, home: Path = tmp_path) -> Burst:
        environment = {**os.environ, "PYTHONPATH": str(Path(sylk_ray.__file__).parents[1])}
        command = (sys.executable, str(PROGRAM), str(home), writer, str(count), str(together))
        process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, env=environment)
        one = Burst(process)
        started.append(one)
        await one.until("ready")
        return one

    yield start
    for each in started:
        if each.process.returncode is None:
            each.process.kill()
        await each.rest()


@pytest.fixture
async def journals(tmp_path) -> AsyncIterator[SqliteJournals]:
    journals = SqliteJournals(lambda _: tmp_path)
    yield journals
    await journals.close()


@pytest.fixture(name="small_disk")
def _small_disk(tmp_path) -> Iterator[Path]:
    """A disk of 3 MB."""
    with small_disk(tmp_path / "disk", 3) as disk:
        yield disk


def transaction(number: int, *, size: int = 300, until: float = 1e12) -> Transaction:
    """A message for one of a hundred agents, that sends one to the next, which will be handled a round later."""
    agent, following = AGENTS[number % 100], AGENTS[(number + 1) % 100]
    mail = [Mail(f"m-{number + 1}", agent, following, b"p" * 300)]
    event = Event("task.told", "s", "task", {"number": number}, at=1.0)
    return Transaction(agent, f"m-{number}", SavedState(1, bytes(size)), mail, [event], remember_until=until)


async def fill(journal: Journal, count: int, first: int = 0, **kwargs: float) -> None:
    """Commit many."""
    for start in range(first, first + count, 500):
        numbers = range(start, min(first + count, start + 500))
        await asyncio.gather(*(journal.commit(transaction(n, **kwargs)) for n in numbers))


def files(home: Path) -> dict[str, int]:
    """The sizes of what is in a directory."""
    return {each.name: each.stat().st_size for each in home.iterdir()}
