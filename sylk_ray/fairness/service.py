"""How much of the system a session has had: its counter, the virtual time of weighted fair queueing.

The unit is seconds of the whole system. Holding things adds, each second, the session's *dominant share*: the largest
part that it holds of any resource that has a capacity (Ghodsi et al., "Dominant Resource Fairness", NSDI 2011). A
token adds the time in which its provider could have made it, 60 / tokens a minute (the virtual token counter of Sheng
et al., "Fairness in Serving Large Language Models", arXiv:2401.00588). The sum divided by the session's weight is its
counter, and whoever has the smallest is next (Demers, Keshav, Shenker, "Analysis and Simulation of a Fair Queueing
Algorithm", SIGCOMM 1989; lifting who becomes active as in Goyal, Vin, Cheng, "Start-time Fair Queuing", SIGCOMM 1996).

How long work takes is known only afterwards. So that many grants of one instant do not all go to one session, a lease
is charged ahead with an estimate; the charge is used up as the time passes, goes on after it, and the rest of it is
given back when the lease ends early.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from heapq import heapify, heappop, heappush

from sylk_ray.fairness.pool import Demand

LEAST_S = 0.05
"""What a lease costs at least: work that takes no time still takes its turn."""
WINDOW_S = 60
"""How far back the share that people see goes."""


class Charge:
    """One lease's charge ahead: ``demand`` until the time ``until``."""

    __slots__ = ("demand", "open", "since", "until")

    def __init__(self, demand: Demand, since: float, until: float) -> None:
        self.demand, self.since, self.until, self.open = demand, since, until, True


class Service:
    """The counter of one session. Times never go back; ``capacity`` is the system's, at present."""

    def __init__(self, weight: float, now: float) -> None:
        self.weight = weight
        self.recent = RecentService()
        self._at = now
        self._virtual = 0.0
        self._held: dict[str, float] = {}
        self._ahead: dict[str, float] = {}
        self._draining: dict[str, float] = {}
        self._ends: list[tuple[float, int, Charge]] = []
        self._charges = 0
        self._ended = 0

    def settled(self, capacity: Mapping[str, float], now: float) -> float:
        """The counter without what is charged ahead."""
        self.advance(capacity, now)
        return self._virtual

    def counter(self, capacity: Mapping[str, float], now: float) -> float:
        """What sessions are compared by."""
        self.advance(capacity, now)
        return self._virtual + _dominant(self._ahead, capacity) / self.weight if self._ahead else self._virtual

    def share(self, capacity: Mapping[str, float]) -> float:
        """The dominant share of what is held, 0 to 1 (more, when the capacity shrank under it)."""
        return _dominant(self._held, capacity)

    def lift(self, level: float) -> None:
        """Nobody saves up while idle."""
        self._virtual = max(self._virtual, level)

    def add(self, seconds: float, now: float) -> None:
        """Service that is not the holding of something: tokens. Below 0 corrects an estimate."""
        self._virtual += seconds / self.weight
        self.recent.add(seconds, now, now)

    def hold(self, demand: Demand, estimate_s: float, capacity: Mapping[str, float], now: float) -> Charge:
        """Begin to hold; the charge is what ``let_go`` wants back."""
        self.advance(capacity, now)
        charge = Charge(demand, now, now + max(estimate_s, LEAST_S))
        for resource, amount in demand:
            self._held[resource] = self._held.get(resource, 0.0) + amount
            self._draining[resource] = self._draining.get(resource, 0.0) + amount
            self._ahead[resource] = self._ahead.get(resource, 0.0) + amount * (charge.until - now)
        self._charges += 1
        heappush(self._ends, (charge.until, self._charges, charge))
        return charge

    def let_go(self, charge: Charge, capacity: Mapping[str, float], now: float) -> None:
        """The lease ended: what is charged ahead of it comes back, all but the least."""
        self.advance(capacity, now)
        _reduce(self._held, charge.demand)
        if charge.open:
            for resource, amount in charge.demand:
                self._ahead[resource] = max(0.0, self._ahead.get(resource, 0.0) - amount * (charge.until - now))
            self._drained(charge)
            self._forget_ended()
        early = charge.since + LEAST_S - now
        if early > 0:
            self.add(early * _dominant(dict(charge.demand), capacity), now)

    def advance(self, capacity: Mapping[str, float], now: float) -> None:
        """Count what was held until now."""
        while self._ends and (self._ends[0][0] <= now or not self._ends[0][2].open):
            charge = heappop(self._ends)[2]
            if charge.open:
                self._run_to(charge.until, capacity)
                self._drained(charge)
        self._run_to(now, capacity)

    def _run_to(self, now: float, capacity: Mapping[str, float]) -> None:
        passed = now - self._at
        if passed <= 0:
            return
        if self._held:
            service = passed * _dominant(self._held, capacity)
            self._virtual += service / self.weight
            self.recent.add(service, self._at, now)
            for resource, amount in self._draining.items():
                self._ahead[resource] = max(0.0, self._ahead[resource] - amount * passed)
        self._at = now

    def _forget_ended(self) -> None:
        """Charges that ended early stay in the heap until they surface; here, before they are most of it."""
        self._ended += 1
        if self._ended > 64 + len(self._ends) // 2:
            self._ends = [entry for entry in self._ends if entry[2].open]
            heapify(self._ends)
            self._ended = 0

    def _drained(self, charge: Charge) -> None:
        charge.open = False
        _reduce(self._draining, charge.demand)
        for resource, _ in charge.demand:
            if resource not in self._draining:
                self._ahead.pop(resource, None)


class RecentService:
    """Service in the last minute, to the second: at most ``WINDOW_S + 1`` numbers."""

    def __init__(self) -> None:
        self._slots: deque[list[float]] = deque(maxlen=WINDOW_S + 1)

    def add(self, seconds: float, since: float, until: float) -> None:
        """Service that was had evenly between two times."""
        if until - since <= 1:
            self._put(int(until), seconds)
            return
        rate = seconds / (until - since)
        begin = max(since, until - WINDOW_S)
        while begin < until:
            end = min(float(int(begin) + 1), until)
            self._put(int(begin), rate * (end - begin))
            begin = end

    def total(self, now: float) -> float:
        return max(0.0, sum(amount for second, amount in self._slots if second > now - WINDOW_S))

    def _put(self, second: int, amount: float) -> None:
        if self._slots and self._slots[-1][0] >= second:
            self._slots[-1][1] += amount
        else:
            self._slots.append([second, amount])


def _dominant(amounts: Mapping[str, float], capacity: Mapping[str, float]) -> float:
    share = 0.0
    for resource, amount in amounts.items():
        there_is = capacity.get(resource)
        if there_is is not None:
            share = max(share, amount / there_is if there_is > 0 else 1.0)
    return share


def _reduce(amounts: dict[str, float], demand: Demand) -> None:
    for resource, amount in demand:
        left = amounts.get(resource, 0.0) - amount
        if left > 1e-9:
            amounts[resource] = left
        else:
            amounts.pop(resource, None)
