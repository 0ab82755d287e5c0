"""A driven clock and workers around a FairShare: what the tests and properties run it with."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

from sylk_ray.fairness import Capacity, Decision, FairShare, Granted, Group, Lane, Refused, Request


def want(key: str, lane: Lane = Lane.NORMAL, at: float = 0.0, tokens: dict[str, float] | None = None, **demand: float):
    """A request of the session that the key begins with: "a/1" is of "a"."""
    return Request(key, key.partition("/")[0], demand, lane, at, tokens or {})


def said(decisions: list[Decision]) -> list[str]:
    """Keys granted as they are, others with what happened to them."""
    return [each.key if isinstance(each, Granted) else f"{type(each).__name__} {each.key}" for each in decisions]


def fair(now: float = 0.0, settle_s: float = 0.0, patience_s: float = 20.0, **resources: float) -> FairShare:
    return FairShare(Capacity(resources), now=now, settle_s=settle_s, patience_s=patience_s)


class World:
    """Runs what is granted for as long as it takes, ticks each second, and hears from every holder."""

    def __init__(self, share: FairShare, duration: Callable[[str], float], *, holder: str = "cell") -> None:
        self.share, self.duration, self.holder = share, duration, holder
        self.now = 0.0
        self.refused: list[str] = []
        self.held: dict[str, Request] = {}
        self.waiting: dict[str, Request] = {}
        self.since: dict[str, float] = {}
        self.service: dict[str, float] = {}
        self.on_end: Callable[[str], None] = lambda _: None
        self._events: list[tuple[float, int, str, Any]] = []
        self._count = 0

    def at(self, when: float, what: str, value: Any) -> None:
        self._count += 1
        heapq.heappush(self._events, (when, self._count, what, value))

    def ask(self, request: Request) -> None:
        self.waiting[request.key] = request
        self.take(self.share.request(request, self.holder, self.now))

    def take(self, decisions: list[Decision]) -> None:
        for each in decisions:
            if isinstance(each, Granted) and each.key in self.waiting:
                self.held[each.key] = self.waiting.pop(each.key)
                self.since[each.key] = self.now
                self.at(self.now + self.duration(each.key), "end", each.key)
            elif isinstance(each, Refused):
                self.waiting.pop(each.key, None)
                self.refused.append(each.key)

    def step(self) -> None:
        """The next event."""
        self.now, _, what, value = heapq.heappop(self._events)
        if what == "ask":
            self.ask(value)
        elif what == "call":
            value()
        elif what == "end":
            session = self.held.pop(value).session
            self.service[session] = self.service.get(session, 0.0) + self.now - self.since.pop(value)
            self.take(self.share.release(value, self.now))
            self.on_end(value)
        else:
            self.take(self.share.heartbeat(self.holder, self.held.values(), self.waiting.values(), self.now))
            self.take(self.share.tick(self.now))
            self.at(self.now + 1, "tick", None)

    def run(self, until: float, *, while_: Callable[[], bool] = lambda: True) -> None:
        if not any(event[2] == "tick" for event in self._events):
            self.at(self.now + 1, "tick", None)
        while self._events and self._events[0][0] <= until and while_():
            self.step()

    def had(self, session: str) -> float:
        """Seconds of slots: what ended, and what runs so far."""
        running = (self.now - self.since[key] for key, request in self.held.items() if request.session == session)
        return self.service.get(session, 0.0) + sum(running)


def groups(share: FairShare, now: float = 0.0, **weights: float) -> FairShare:
    for session, weight in weights.items():
        share.set_group(session, Group(weight=weight), now)
    return share
