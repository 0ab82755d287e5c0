"""How fair sharing is and what a decision costs: a simulation, without a cluster and without waiting."""

from __future__ import annotations

import heapq
import random
import time
from collections import defaultdict
from collections.abc import Sequence

from benchmarks.table import Row
from sylk_ray.fairness import Capacity, Decision, FairShare, Granted, Group, Request

SLOTS = 8
JOBS = 1_000
MEAN_S = 1.0
SIGMA = 1.0
"""Of the logarithm of a duration: one job in a hundred is 10 times the median."""


class Simulation:
    """Jobs that all take one of the slots, each for a time of its own."""

    def __init__(self, seed: int = 1) -> None:
        self.random = random.Random(seed)
        self.share = FairShare(Capacity({"cpu": SLOTS}), now=0.0)
        self.now = 0.0
        self.waits: dict[str, list[float]] = defaultdict(list)
        self.service: dict[str, float] = defaultdict(float)
        self._asked: dict[str, float] = {}
        self._running: list[tuple[float, str, float]] = []
        self._waiting: dict[str, int] = defaultdict(int)

    def duration(self) -> float:
        return self.random.lognormvariate(-SIGMA * SIGMA / 2, SIGMA) * MEAN_S

    def submit(self, session: str, jobs: int, first: int = 0) -> None:
        """Ask for ``jobs`` slots now."""
        for number in range(first, first + jobs):
            key = f"{session}/{number}"
            self._asked[key] = self.now
            self._waiting[session] += 1
            self._take(self.share.request(Request(key, session, {"cpu": 1.0}, at=self.now), "cell", self.now))

    def step(self) -> str:
        """The next job ends; returns whose it was."""
        self.now, key, took = heapq.heappop(self._running)
        session = key.partition("/")[0]
        self.service[session] += took
        self._take(self.share.release(key, self.now))
        return session

    def backlogged(self, sessions: Sequence[str]) -> bool:
        return all(self._waiting[session] for session in sessions)

    def _take(self, decisions: list[Decision]) -> None:
        for decision in decisions:
            if isinstance(decision, Granted):
                session, took = decision.key.partition("/")[0], self.duration()
                self._waiting[session] -= 1
                self.waits[session].append(self.now - self._asked.pop(decision.key))
                heapq.heappush(self._running, (self.now + took, decision.key, took))


def shares(weights: Sequence[float], *, greedy: bool = False, seed: int = 1) -> list[float]:
    """Service by weight of each session while all are backlogged; the greedy one has 10 times the jobs."""
    simulation = Simulation(seed)
    sessions = [f"s-{number}" for number in range(len(weights))]
    for session, weight in zip(sessions, weights, strict=True):
        simulation.share.set_group(session, Group(weight=weight), 0.0)
    for session in sessions:
        simulation.submit(session, JOBS * (10 if greedy and session == "s-0" else 1))
    while simulation.backlogged(sessions):
        simulation.step()
    return [simulation.service[session] / weight for session, weight in zip(sessions, weights, strict=True)]


def jain(values: Sequence[float]) -> float:
    """Jain's index: 1 when all are equal, 1/n when one has everything (Jain, Chiu, Hawe, DEC-TR-301, 1984)."""
    return sum(values) ** 2 / (len(values) * sum(value * value for value in values))


def deviation(values: Sequence[float]) -> float:
    """How far the worst is from the mean, in percent of it."""
    mean = sum(values) / len(values)
    return max(abs(value - mean) for value in values) / mean * 100


def newcomers(saturated: int = 20, arrivals: int = 300) -> list[float]:
    """Waits of the first request of sessions that arrive, one after the other, at a saturated system."""
    simulation = Simulation(2)
    sessions = [f"s-{number}" for number in range(saturated)]
    for session in sessions:
        simulation.submit(session, JOBS)
    for _ in range(500):
        simulation.step()
    waits: list[float] = []
    for number in range(arrivals):
        name = f"new-{number}"
        simulation.submit(name, 1)
        while not simulation.waits[name]:
            simulation.step()
        waits += simulation.waits[name]
        for _ in range(20):
            simulation.step()
    return sorted(waits)


def decisions_a_second(sessions: int = 100, waiting: int = 1_000, grants: int = 20_000) -> tuple[float, float]:
    """Grants a second (each with the release before it) and requests a second, with all the lines full."""
    simulation = Simulation(3)
    started = time.perf_counter()
    for number in range(sessions):
        simulation.submit(f"s-{number}", waiting)
    asked = sessions * waiting / (time.perf_counter() - started)
    started = time.perf_counter()
    for number in range(grants):
        session = simulation.step()
        simulation.submit(session, 1, waiting + number)
    return grants / (time.perf_counter() - started), asked


async def measure() -> list[Row]:
    """All rows; each of the shares is the worst of three runs."""
    equal, mixed = [1.0] * 10, [1.0, 2.0, 4.0, 1.0, 2.0, 4.0, 1.0, 2.0, 4.0, 1.0]
    seeds = (1, 2, 3)
    waits = newcomers()
    granted, asked = decisions_a_second()
    few, _ = decisions_a_second(waiting=10)
    fairness, greedy = f"10 sessions on {SLOTS} slots", "one of which asks for 10 times as much"
    lines = "100 sessions with 1,000 waiting"
    newcomer = "wait of a newcomer's request among 20 saturated sessions"
    return [
        Row(f"Jain's index, {fairness}", min(jain(shares(equal, seed=seed)) for seed in seeds), "", 0.98, True),
        Row(
            f"Jain's index, {fairness}, {greedy}",
            min(jain(shares(equal, greedy=True, seed=seed)) for seed in seeds),
            "",
            0.98,
            True,
        ),
        Row(
            f"worst deviation from weights 1:2:4, {fairness}",
            max(deviation(shares(mixed, seed=seed)) for seed in seeds),
            "%",
            5,
        ),
        Row(
            f"worst deviation from weights 1:2:4, {fairness}, {greedy}",
            max(deviation(shares(mixed, greedy=True, seed=seed)) for seed in seeds),
            "%",
            5,
        ),
        Row(f"{newcomer}, p50", waits[len(waits) // 2] / MEAN_S, "mean jobs", None),
        Row(f"{newcomer}, p99", waits[len(waits) * 99 // 100] / MEAN_S, "mean jobs", 1),
        Row(f"a slot released, granted and asked for again, {lines}", granted, "/s", 1_000, True),
        Row("the same with 10 waiting", few, "/s", None, True),
        Row(f"requests that get in line, {lines}", asked, "/s", None, True),
    ]
