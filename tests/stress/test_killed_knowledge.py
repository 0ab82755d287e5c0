"""A process that stores knowledge is killed: what it was told is stored is found by id, by vector and by graph."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from sylk_ray.knowledge import Domain, KnowledgeBase
from sylk_ray.knowledge.gate import MAYBE, No

from . import storing
from .storing import BATCHES, SIZE, content, names


@dataclass(frozen=True)
class Budget:
    """How often, how late at most, and how long opening again may take."""

    kills: int = int(os.environ.get("STRESS_KNOWLEDGE_KILLS", "5"))
    latest_s: float = 4.0
    opening_s: float = 5.0


BUDGET = Budget()
SEED = int(os.environ.get("STRESS_SEED", str(random.randrange(1_000_000))))


class Told:
    """What the process has said before it was killed."""

    def __init__(self, lines: list[str]) -> None:
        self.stored: set[int] = set()
        self.joined: dict[int, int] = {}
        self.deleted: set[int] = set()
        self.open: set[int] = set()
        """Batches that were being written or deleted: they are there whole, or not at all."""
        for line in lines:
            match line.split():
                case ["stored", batch, *before]:
                    self.stored.add(int(batch))
                    if before:
                        self.joined[int(batch)] = int(before[0])
                case ["deleting", batch]:
                    self.open.add(int(batch))
                case ["deleted", batch]:
                    self.deleted.add(int(batch))
                case _:
                    pass
        self.open.add(len(self.stored))

    @property
    def sure(self) -> set[int]:
        return self.stored - self.deleted - self.open


def _killed(directory: Path, seed: int, after_s: float) -> list[str]:
    command = [sys.executable, "-m", storing.__name__, str(directory), str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        time.sleep(after_s)
        process.send_signal(signal.SIGKILL)
        return [first, *process.stdout.read().splitlines()]


def _check(base: KnowledgeBase, told: Told) -> None:
    there = base.select(domain=Domain.CODE)
    batches = {int(node.id.removeprefix("n")) // SIZE for node in there}
    assert told.sure <= batches <= told.sure | told.open
    assert len(there) == SIZE * len(batches), "a batch is there in part"
    by_name = {node.id: node for node in there}
    for batch in batches:
        for name in (names(batch)[0], names(batch)[-1]):
            [found] = base.search.by_meaning(content(name), 1, scope="/repo")
            assert found.node.id == name
            assert found.score == pytest.approx(1.0, abs=1e-3)
            [word] = base.search.by_words(content(name), 1, scope="/repo")
            assert word.node.id == name
    for batch, before in told.joined.items():
        if {batch, before} <= told.sure:
            for one, other in zip(names(batch), names(before), strict=True):
                assert by_name[other].key in base.graph.neighbours(by_name[one].key, direction="out")
    everything = base.search.by_meaning("number0", BATCHES * SIZE, scope="/repo")
    assert {found.node.id for found in everything} == by_name.keys(), "the vectors know other nodes than the store"
    # Who was killed within its first batch has joined nothing yet, and nothing has asked for the graph.
    base.graph.load_all()
    assert base.graph.size[0] == len(there)


def _check_gate(base: KnowledgeBase) -> None:
    """It denies nothing that is stored, as the process left it and when it has been built of the store again; and it
    denies almost every word that is not, for one in 256 keys is taken for another."""
    there = base.select(domain=Domain.CODE)
    for _ in range(2):
        for node in there:
            assert base.allows(Domain.CODE, node.content) is MAYBE, node.id
        base.guards.rebuild()
    absent = [f"kubernetes{one}{other}" for one in "bcdfghjklm" for other in "npqrstvwxz"]
    denied = [word for word in absent if isinstance(base.allows(Domain.CODE, word), No)]
    assert len(denied) > 80


def test_what_was_acknowledged_is_found_and_nothing_else(tmp_path: Path) -> None:
    print(f"STRESS_SEED={SEED}")
    chance = random.Random(SEED)
    for number in range(BUDGET.kills):
        directory = tmp_path / str(number)
        told = Told(_killed(directory, SEED + number, chance.uniform(0, BUDGET.latest_s)))
        began = time.monotonic()
        with storing.open_base(directory) as base:
            assert time.monotonic() - began < BUDGET.opening_s
            _check_gate(base)
            _check(base, told)
