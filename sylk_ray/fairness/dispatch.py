"""The order of grants: who is next, of all that waits."""

from __future__ import annotations

from sylk_ray.fairness.books import Books
from sylk_ray.fairness.reservations import Reservation, Reservations
from sylk_ray.fairness.session import Session
from sylk_ray.fairness.session_queue import Waiting
from sylk_ray.fairness.standings import Standing, Standings

LAG_S = 5.0
"""A session which holds something, and begins to wait again, can be behind by this many seconds of what it holds."""


class Dispatch:
    """Picks requests from the books, one after the other, while anything fits.

    Sessions are looked at in the order of their counters. Each grants its first request that fits; a front that has
    waited for long reserves before anything can pass it. What did not fit once does not fit later in the same round,
    as a round only takes; so a round is one walk through the sessions.
    """

    def __init__(self, books: Books, patience_s: float) -> None:
        self._books = books
        self._patience_s = patience_s
        self._contending = Standings(self._standing)
        self.reservations = Reservations()

    def refresh(self, session: Session, now: float) -> None:
        """After anything that changed for a session: who is its front, and does it contend for the system."""
        heads = session.queue.heads(now)
        self._note_front(session, heads[0] if heads else None, now)
        contending = any(session.admits(head.kind, now) for head in heads)
        if contending and not session.contending:
            self._lift(session, now)
        if contending:
            self._contending.put(session)
        elif session.contending:
            self._contending.take_out(session)
        session.contending = contending
        if session.active:
            session.idle_since = None
        elif session.idle_since is None:
            session.idle_since = now

    def forget(self, session: Session) -> None:
        """The session is gone."""
        self._note_front(session, None, session.front_since)
        self._contending.take_out(session)

    def round(self, now: float) -> list[Waiting]:
        """Everything that is granted now, in order; the books have it already."""
        granted: list[Waiting] = []
        for reservation in self._valid_reservations(now):
            if self._books.system.fits(reservation.entry.kind.demand):
                self._grant(reservation.entry, now)
                granted.append(reservation.entry)
        claimed: set[str] = set()
        passed: list[Session] = []
        while self._anything_fits(now) and (session := self._contending.first(now)) is not None:
            entry = self._next_of(session, claimed, now)
            if entry is None:
                self._contending.take_out(session)
                passed.append(session)
            else:
                self._grant(entry, now)
                granted.append(entry)
        for session in passed:
            self._contending.put(session)
        return granted

    def before(self, session: Session, now: float) -> int:
        """How many contending sessions come before this one."""
        standing = self._standing(session, now)
        return sum(self._standing(other, now) < standing for other in self._contending)

    def _standing(self, session: Session, now: float) -> Standing:
        counter = session.service.counter(self._books.system.limits, now)
        since = session.front.since if session.front else now
        return (round(counter, 9), since, session.name)

    def _anything_fits(self, now: float) -> bool:
        system, kept = self._books.system, self.reservations.kept
        return any(system.fits(kind.demand, kept) and self._books.have_tokens(kind, now) for kind in self._books.kinds)

    def _next_of(self, session: Session, claimed: set[str], now: float) -> Waiting | None:
        """The session's first request that can start, once its front has had its chance to reserve."""
        system = self._books.system
        heads = session.queue.heads(now)
        front = heads[0]
        self._note_front(session, front, now)
        patient = now - session.front_since >= self._patience_s and self._have_tokens(session, front, now)
        for entry in heads:
            for_front = dict(front.kind.demand) if patient and entry is not front else {}
            if not self._have_tokens(session, entry, now) or not session.pool.fits(entry.kind.demand, for_front):
                continue
            if system.fits(entry.kind.demand, self.reservations.kept):
                return entry
            if patient and entry is front:
                self.reservations.reserve(entry, session, system, claimed)
        return None

    def _note_front(self, session: Session, front: Waiting | None, now: float) -> None:
        if front is not session.front:
            if session.front is not None:
                self.reservations.drop(session.front)
            session.front, session.front_since = front, now

    def _have_tokens(self, session: Session, entry: Waiting, now: float) -> bool:
        return session.has_tokens(entry.kind, now) and self._books.have_tokens(entry.kind, now)

    def _grant(self, entry: Waiting, now: float) -> None:
        session = self._books.session_of(entry.request)
        self.reservations.drop(entry)
        self._books.dequeue(entry)
        self._books.begin(entry.request, entry.kind, entry.holder, now)
        self._books.granted(entry, now)
        self.refresh(session, now)

    def _valid_reservations(self, now: float) -> list[Reservation]:
        """Those whose request is still in front, and held up by the system alone."""
        for reservation in self.reservations.all():
            entry, session = reservation.entry, reservation.session
            self.refresh(session, now)
            if not (session.pool.fits(entry.kind.demand) and self._have_tokens(session, entry, now)):
                self.reservations.drop(entry)
                session.front_since = now
        self.reservations.keep(self._books.system)
        return self.reservations.all()

    def _lift(self, session: Session, now: float) -> None:
        """A session begins to contend: it starts level with those who do so already, for nobody saves up while idle
        or while held up by its own limits.

        Level is the smallest counter among its rivals, the sessions that contend for what it wants. Without any,
        nothing was scarce, so nobody owes anybody anything for what was used: level with the largest counter among
        those who hold some of it, or else with the smallest of the active. A session that holds something was not
        idle, and keeps what it is behind up to LAG_S (lag is bounded as in Stoica, Abdel-Wahab, "Earliest Eligible
        Virtual Deadline First", 1995).
        """
        limits = self._books.system.limits
        wanted = {name for kind in session.queue.kinds() for name, _ in kind.demand if name in limits}
        others = [other for other in self._books.sessions.values() if other is not session and other.active]
        rivals = [other for other in others if other.contending and other.queue.wants(wanted)]
        holders = [other for other in others if not wanted.isdisjoint(other.pool.held)]
        if rivals or not holders:
            level = min((other.service.settled(limits, now) for other in rivals or others), default=0.0)
        else:
            level = max(other.service.settled(limits, now) for other in holders)
        lag = LAG_S * session.service.share(limits) / session.group.weight
        session.service.advance(limits, now)
        session.service.lift(level - lag)
