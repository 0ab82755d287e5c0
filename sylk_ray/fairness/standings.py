"""Who contends, in the order of grants, without working out everybody's counter for each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush

from sylk_ray.fairness.session import Session

Standing = tuple[float, float, str]
"""Counter, since when the front waits, and the session's name: the smallest is next."""

_UNKNOWN = float("-inf")
_ROUNDED = 1e-9


class Standings:
    """The sessions that contend. ``standing`` works one out, at a time.

    A session's counter never falls by the passing of time: what is charged ahead is used up no faster than what is
    held adds to the counter. So a counter that was worked out is the least that it can be until something happens to
    the session (``put``), and only sessions whose least is not above the best one found need be worked out anew.
    """

    def __init__(self, standing: Callable[[Session, float], Standing]) -> None:
        self._standing = standing
        self._least: dict[str, tuple[float, int]] = {}
        self._heap: list[tuple[float, int, Session]] = []
        self._numbers = 0
        self._sessions: dict[str, Session] = {}

    def __iter__(self) -> Iterator[Session]:
        return iter(self._sessions.values())

    def put(self, session: Session) -> None:
        """It contends, and its counter may have changed in either direction."""
        self._sessions[session.name] = session
        known = self._least.get(session.name)
        if known is None or known[0] != _UNKNOWN:
            self._push(session, _UNKNOWN)

    def take_out(self, session: Session) -> None:
        """It contends no more."""
        self._sessions.pop(session.name, None)
        self._least.pop(session.name, None)

    def first(self, now: float) -> Session | None:
        """Who is next."""
        looked: list[tuple[Standing, Session]] = []
        best = float("inf")
        while self._heap:
            least, number, session = self._heap[0]
            if self._least.get(session.name, (0.0, -1))[1] != number:
                heappop(self._heap)
                continue
            if least > best + _ROUNDED:
                break
            heappop(self._heap)
            standing = self._standing(session, now)
            looked.append((standing, session))
            best = min(best, standing[0])
        for standing, session in looked:
            self._push(session, standing[0])
        return min(looked)[1] if looked else None

    def _push(self, session: Session, least: float) -> None:
        self._numbers += 1
        self._least[session.name] = (least, self._numbers)
        heappush(self._heap, (least, self._numbers, session))
        if len(self._heap) > 64 + 4 * len(self._least):
            valid = {number for _, number in self._least.values()}
            self._heap = [entry for entry in self._heap if entry[1] in valid]
            heapify(self._heap)
