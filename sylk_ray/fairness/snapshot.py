"""What `sylk top` shows: frozen, and complete in itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from sylk_ray.fairness.model import Lane
from sylk_ray.fairness.records import HISTOGRAM_BOUNDS_S, Totals, WaitStatistics

if TYPE_CHECKING:
    from sylk_ray.fairness.books import Books
    from sylk_ray.fairness.reservations import Reservations
    from sylk_ray.fairness.session import Session

__all__ = ["HISTOGRAM_BOUNDS_S", "LeaseView", "SessionView", "Snapshot", "Totals", "WaitStatistics", "snapshot_of"]


class LeaseView(msgspec.Struct, frozen=True):
    """One lease. ``age`` is seconds since its grant (or since it was restored)."""

    key: str
    session: str
    holder: str
    age: float
    demand: dict[str, float]
    tokens: float


class SessionView(msgspec.Struct, frozen=True, kw_only=True):
    """One session."""

    session: str
    weight: float
    counter: float
    """The smallest is next: seconds of the whole system, by weight, with what is charged ahead."""
    share: float
    """Its part of all service of the last 60 s, 0 to 1."""
    entitled: float
    """Its weight's part among the sessions that hold or wait; 0 when it does neither."""
    held: dict[str, float]
    limits: dict[str, float]
    leases: int
    waiting: dict[str, int]
    """By the name of the lane, lanes with none left out."""
    longest_wait: float
    """Seconds."""
    waits_for_tokens: float | None
    """Seconds until what waits has tokens, if it is for want of them that its front waits."""
    waits: dict[str, WaitStatistics]
    """By the name of the lane."""
    processing: list[int]
    """How many leases ended within each of HISTOGRAM_BOUNDS_S, and after the last."""
    tokens_used: float
    token_budget: float | None
    totals: Totals


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """Everything at one time; sessions and leases are sorted by name."""

    at: float
    capacity: dict[str, float]
    held: dict[str, float]
    token_levels: dict[str, float]
    """By provider; below 0 is a debt."""
    queue_depth: dict[str, int]
    """Over all sessions, by the name of the lane."""
    waits: dict[str, WaitStatistics]
    processing: list[int]
    totals: Totals
    reserved: dict[str, dict[str, float]]
    """What is kept free, by the key it is kept for."""
    sessions: list[SessionView]
    leases: list[LeaseView]


def snapshot_of(books: Books, reservations: Reservations, now: float) -> Snapshot:
    """Looks at every session and lease, and at no waiting request."""
    sessions = [session for _, session in sorted(books.sessions.items())]
    for session in sessions:
        session.service.advance(books.system.limits, now)
    service = sum(session.service.recent.total(now) for session in sessions)
    weights = sum(session.group.weight for session in sessions if session.active)
    views = [_session_view(session, books, service, weights, now) for session in sessions]
    return Snapshot(
        at=now,
        capacity=dict(books.system.limits),
        held=dict(sorted(books.system.held.items())),
        token_levels={name: bucket.level(now) for name, bucket in sorted(books.buckets.items())},
        queue_depth={lane.name.lower(): sum(session.queue.lanes[lane] for session in sessions) for lane in Lane},
        waits=books.record.waits(),
        processing=list(books.record.histogram),
        totals=books.record.totals(),
        reserved={each.entry.request.key: dict(each.kept) for each in reservations.all()},
        sessions=views,
        leases=[
            LeaseView(
                key,
                lease.request.session,
                lease.holder,
                now - lease.since,
                dict(lease.kind.demand),
                _used(lease.tokens),
            )
            for key, lease in sorted(books.leases.items())
        ],
    )


def _session_view(session: Session, books: Books, service: float, weights: float, now: float) -> SessionView:
    return SessionView(
        session=session.name,
        weight=session.group.weight,
        counter=session.service.counter(books.system.limits, now),
        share=session.service.recent.total(now) / service if service > 0 else 0.0,
        entitled=session.group.weight / weights if session.active else 0.0,
        held=dict(sorted(session.pool.held.items())),
        limits=dict(session.pool.limits),
        leases=len(session.leases),
        waiting={lane.name.lower(): session.queue.lanes[lane] for lane in Lane if session.queue.lanes[lane]},
        longest_wait=session.queue.longest_wait(now),
        waits_for_tokens=_waits_for_tokens(session, books, now),
        waits=session.record.waits(),
        processing=list(session.record.histogram),
        tokens_used=session.tokens_used,
        token_budget=session.group.token_budget,
        totals=session.record.totals(),
    )


def _waits_for_tokens(session: Session, books: Books, now: float) -> float | None:
    heads = session.queue.heads(now)
    if not heads or not heads[0].kind.providers:
        return None
    buckets = [bucket for name in heads[0].kind.providers if (bucket := books.buckets.get(name)) is not None]
    if session.bucket is not None:
        buckets.append(session.bucket)
    pause = max((bucket.positive_at(now) - now for bucket in buckets), default=0.0)
    return pause if pause > 0 else None


def _used(tokens: dict[str, float]) -> float:
    return sum(tokens.values())
