"""A writer, its readers and a bad network, in which a wrong "no" can be looked for."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from sylk_ray.knowledge.gate import Confirm, Grant, LeaseTerms, Publisher, Push, Reader, Rebuilding, Renew

TERMS = LeaseTerms(duration_s=2.0, drift=0.1)
KEYS_A_WRITE = 4
"""So many that a filter which lacks them all but never says so by mistake: one time in 4,000,000,000."""


class WrongNo(AssertionError):
    """A reader refused what had been acknowledged."""


@dataclass
class DriftingClock:
    """Its origin is its own, and each second of the world is a bit more or less than one of its own."""

    now: float
    rate: float

    def __call__(self) -> float:
        return self.now


@dataclass
class Letter:
    """On its way; ``to`` is a reader's name, or empty for the writer, whichever lives when it comes."""

    to: str
    message: Renew | Confirm | Grant | Push
    snapshot: bytes | None = None


@dataclass
class Seat:
    reader: Reader
    clock: DriftingClock


@dataclass
class World:
    """What may happen is a method; ``check`` is the claim. Another writer or reader may be put in, to see it fail."""

    make_publisher: Callable[..., Publisher] = Publisher
    make_reader: Callable[..., Reader] = Reader
    seats: dict[str, Seat] = field(default_factory=dict)
    network: list[Letter] = field(default_factory=list)
    stored: list[int] = field(default_factory=list)
    """Keys of every write, as the database has them: a writer that is killed has stored what it published."""
    waiting: list[tuple[int, list[int]]] = field(default_factory=list)
    """Published by the writer that lives, and not acknowledged yet."""
    acknowledged: set[int] = field(default_factory=set)
    rebuilding: Rebuilding | None = None
    writes: int = 0
    lives: int = 0

    def __post_init__(self) -> None:
        self.clock = DriftingClock(1000.0, 1.0)
        self.start_writer(1.0)

    # The writer

    def start_writer(self, rate: float) -> None:
        """After the one before it was killed: it knows what is stored, and nothing of what was going on."""
        self.lives += 1
        self.clock = DriftingClock(1000.0 * self.lives, rate)
        keys = np.array(self.stored, dtype=np.uint64)
        self.writer = self.make_publisher(
            keys, terms=TERMS, clock=self.clock, epoch=self.lives.to_bytes(16, "big"), owners_gone=self.lives == 1
        )
        self.waiting, self.rebuilding = [], None

    def write(self) -> None:
        self.writes += 1
        chance = random.Random(self.writes)
        keys = [chance.getrandbits(64) for _ in range(KEYS_A_WRITE)]
        self.stored += keys
        push = self.writer.publish(keys)
        self.waiting.append((push.deltas[-1].version, keys))
        self.network += [Letter(name, push) for name in self.seats]

    def acknowledge(self) -> None:
        for version, keys in list(self.waiting):
            if self.writer.acknowledged(version):
                self.waiting.remove((version, keys))
                self.acknowledged.update(keys)

    def begin_rebuild(self) -> None:
        self.rebuilding = self.writer.begin_rebuild()

    def finish_rebuild(self) -> None:
        if self.rebuilding is not None:
            self.writer.finish_rebuild(self.rebuilding.build())
            self.rebuilding = None

    # Readers

    def start_reader(self, rate: float) -> None:
        clock = DriftingClock(50.0 * len(self.seats), rate)
        reader = self.make_reader(terms=TERMS, clock=clock)
        self.seats[reader.name] = Seat(reader, clock)

    def kill_reader(self, which: int) -> None:
        if self.seats:
            del self.seats[list(self.seats)[which % len(self.seats)]]

    def renew(self, which: int) -> None:
        if self.seats:
            reader = list(self.seats.values())[which % len(self.seats)].reader
            self.network.append(Letter("", reader.renew()))

    # The network

    def deliver(self, which: int, *, again: bool = False) -> None:
        """Any letter, in any order; it may stay, to come again."""
        if not self.network:
            return
        at = which % len(self.network)
        letter = self.network[at] if again else self.network.pop(at)
        match letter.message:
            case Renew() as asked:
                grant = self.writer.granted(asked)
                self.network.append(Letter(asked.reader, grant, self.writer.snapshot))
            case Confirm() as said:
                self.writer.confirmed(said)
            case Grant() | Push() as told if letter.to in self.seats:
                reader = self.seats[letter.to].reader
                said = reader.follow(told) if isinstance(told, Push) else reader.accept(told, letter.snapshot)
                if said is not None:
                    self.network.append(Letter("", said))
            case _:
                pass

    def lose(self, which: int) -> None:
        if self.network:
            del self.network[which % len(self.network)]

    def pass_time(self, seconds: float) -> None:
        for clock in (self.clock, *(each.clock for each in self.seats.values())):
            clock.now += seconds * clock.rate

    # The claim

    def check(self) -> None:
        for seat in self.seats.values():
            view = seat.reader.view
            if view is None:
                continue
            missing = [key for key in self.acknowledged if key not in view]
            if missing and seat.reader.may_say_no():
                raise WrongNo(f"{len(missing)} acknowledged key(s) are refused")


def random_rate(chance: random.Random) -> float:
    return chance.choice([1 - TERMS.drift, 1.0, 1 + TERMS.drift])


def wander(world: World, seed: int, steps: int = 120) -> None:
    """One random course of events, with what often goes wrong likely. Raises WrongNo."""
    chance = random.Random(seed)
    for _ in range(2):
        world.start_reader(random_rate(chance))

    def which() -> int:
        return chance.randrange(1000)

    acts: list[tuple[int, Callable[[], None]]] = [
        (14, lambda: world.deliver(which())),
        (8, lambda: world.deliver(-1)),
        (2, lambda: world.deliver(which(), again=True)),
        (2, lambda: world.lose(which())),
        (7, lambda: world.renew(which())),
        (6, world.write),
        (6, lambda: world.pass_time(chance.choice([0.1, 0.5, 1.0, 1.9, 2.0, 2.1, 2.3]))),
        (2, world.begin_rebuild),
        (2, world.finish_rebuild),
        (1, lambda: world.start_writer(random_rate(chance))),
        (1, lambda: world.start_reader(random_rate(chance))),
        (1, lambda: world.kill_reader(which())),
    ]
    weights = [weight for weight, _ in acts]
    for _ in range(steps):
        chance.choices(acts, weights)[0][1]()
        world.acknowledge()
        world.check()
