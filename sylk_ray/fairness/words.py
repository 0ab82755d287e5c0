"""Why a request waits or cannot be met, as words for a person."""

from __future__ import annotations

from sylk_ray.fairness.books import Books
from sylk_ray.fairness.dispatch import Dispatch
from sylk_ray.fairness.session import Session
from sylk_ray.fairness.session_queue import Kind, Waiting


def over_budget(session: Session) -> str:
    budget = session.group.token_budget or 0.0
    return f'the session "{session.name}" has used {session.tokens_used:,.0f} of its {budget:,.0f} tokens'


def never(session: Session, kind: Kind, books: Books) -> str:
    """What there can never be enough of, as limits are now; empty if the request can be met some time."""
    amounts, system, own = dict(kind.demand), books.system, session.pool
    said = [
        f"it wants {amounts[name]:g} {name}; {system.free(name):g} are free now and the system has {limit:g} at best"
        for name in system.impossible(kind.demand)
        for limit in (system.limits[name],)
    ]
    said += [
        f"it wants {amounts[name]:g} {name}; its session may take {own.free(name):g} more now "
        f"and {own.limits[name]:g} at best"
        for name in own.impossible(kind.demand)
    ]
    said += [
        f'it wants tokens of "{name}", which has none now and 0 a minute at best'
        for name in kind.providers
        if name in books.buckets and books.buckets[name].per_minute <= 0
    ]
    return "; ".join(said)


def place(key: str, books: Books, dispatch: Dispatch, now: float, *, settled_at: float) -> str:
    """Where a key is, and why it waits."""
    lease = books.leases.get(key)
    if lease is not None:
        return f"held by {lease.holder} for {now - lease.since:.0f} s"
    entry = books.waiting.get(key)
    if entry is None:
        return "neither held nor waiting"
    ahead = books.session_of(entry.request).queue.ahead_of(entry, now)
    if now < settled_at:
        why = f"nothing is granted for {settled_at - now:.3g} s more, until the holders have reported"
    else:
        why = why_waiting(entry, books, dispatch, now)
    return f"{ordinal(ahead + 1)} in line in its session; {why}"


def why_waiting(entry: Waiting, books: Books, dispatch: Dispatch, now: float) -> str:
    """What holds a request up at present: the first cause that there is."""
    session, kind, system = books.session_of(entry.request), entry.kind, books.system
    own = session.pool.short(kind.demand)
    if own:
        held = (f"{session.pool.held.get(name, 0.0):g} of {session.pool.limits[name]:g} {name}" for name in own)
        return f"its session holds {' and '.join(held)}"
    if session.bucket is not None and not session.has_tokens(kind, now):
        return f"its session has used its tokens a minute, for {session.bucket.positive_at(now) - now:.3g} s more"
    for name in kind.providers:
        bucket = books.buckets.get(name)
        if bucket is not None and not bucket.positive(now):
            return f'the provider "{name}" is out of tokens, for {bucket.positive_at(now) - now:.3g} s more'
    amounts = dict(kind.demand)
    short = system.short(kind.demand)
    if short:
        words = [
            f"it wants {amounts[name]:g} {name}, {system.free(name):g} of {system.limits[name]:g} are free"
            for name in short
        ]
        before = dispatch.before(session, now)
        if before:
            sessions, come = ("session", "comes") if before == 1 else ("sessions", "come")
            words.append(f"{before} {sessions} that had less than its own {come} before")
        return "; ".join(words)
    for other in dispatch.reservations.in_the_way_of(amounts):
        if other.entry is not entry:
            kept = " and ".join(f"{amount:g} {name}" for name, amount in sorted(other.kept.items()))
            return f"{kept} are kept for {other.entry.request.key}, which has waited longer"
    return "what is in front of it keeps what it wants"


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 4th, ..."""
    ending = "th" if 10 < number % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
