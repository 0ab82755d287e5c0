"""The tables of ``sylk top``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from sylk_ray.cli.humanise import duration
from sylk_ray.fairness import LeaseView, SessionView, Snapshot, WaitStatistics
from sylk_ray.sessions import SessionRecord


def picture(shares: Snapshot, sessions: Sequence[SessionRecord], most_leases: int | None = None) -> RenderableType:
    """Everything at one time; of the leases only the oldest, when there is room for no more."""
    names = {session.id: session.name for session in sessions}
    leases = sorted(shares.leases, key=lambda lease: -lease.age)
    shown = leases if most_leases is None else leases[:most_leases]
    parts: list[RenderableType] = [Text(line) for line in _summary(shares)]
    parts += [Text(""), _sessions(shares, sessions), Text(""), _leases(shown, names)]
    if len(shown) < len(leases):
        parts.append(Text(f"... {len(leases) - len(shown)} more leases"))
    return Group(*parts)


def _summary(shares: Snapshot) -> list[str]:
    waiting = {lane: count for lane, count in shares.queue_depth.items() if count}
    totals = shares.totals
    lines = [
        f"held: {held_told(shares.held, shares.capacity)}",
        f"waiting: {counts_told(waiting)}; waited (p50/p99): {waits_told(shares.waits)}",
        ", ".join(f"{name} {getattr(totals, name)}" for name in totals.__struct_fields__),
    ]
    if shares.token_levels:
        levels = ", ".join(f"{name} {level:.0f}" for name, level in shares.token_levels.items())
        lines.append(f"tokens to spend: {levels}")
    if shares.reserved:
        kept = "; ".join(f"{held_told(kept, {})} for {key}" for key, kept in shares.reserved.items())
        lines.append(f"kept free: {kept}")
    return lines


def _sessions(shares: Snapshot, sessions: Sequence[SessionRecord]) -> Table:
    columns = ("session", "state", "weight", "share", "holds", "leases", "waiting", "longest", "waited p50/p99")
    table = Table(*columns, box=None, pad_edge=False)
    views = {view.session: view for view in shares.sessions}
    known = {session.id: session for session in sessions}
    at_work = [session.id for session in sessions if not session.over or session.id in views]
    for identity in [*at_work, *(name for name in views if name not in known)]:
        session, view = known.get(identity), views.get(identity)
        name = session.name if session is not None else identity
        state = str(session.state) if session is not None else "-"
        if view is None:
            weight = session.group.weight if session is not None else 1.0
            table.add_row(escape(name), state, f"{weight:g}", *["-"] * 6)
            continue
        table.add_row(
            escape(name),
            state,
            f"{view.weight:g}",
            f"{view.share:.0%} of {view.entitled:.0%}" if view.entitled else f"{view.share:.0%}",
            _holds(view),
            str(view.leases),
            _waiting(view),
            duration(view.longest_wait) if view.waiting else "-",
            waits_told(view.waits),
        )
    return table


def _leases(leases: Sequence[LeaseView], names: Mapping[str, str]) -> Table:
    table = Table("lease", "session", "holder", "age", "holds", box=None, pad_edge=False)
    for lease in leases:
        key = lease.key.removeprefix(f"{lease.session}/")
        name = names.get(lease.session, lease.session)
        holds = held_told(lease.demand, {})
        tokens = f", {lease.tokens:.0f} tokens" if lease.tokens else ""
        table.add_row(escape(key), escape(name), escape(lease.holder), duration(lease.age), f"{holds}{tokens}")
    return table


def _holds(view: SessionView) -> str:
    held = held_told(view.held, view.limits)
    if view.token_budget is None and not view.tokens_used:
        return held
    budget = "" if view.token_budget is None else f"/{view.token_budget:.0f}"
    return f"{held}, {view.tokens_used:.0f}{budget} tokens"


def _waiting(view: SessionView) -> str:
    told = counts_told(view.waiting)
    pause = view.waits_for_tokens
    return told if pause is None else f"{told}; waits for tokens, {duration(pause)} more"


def held_told(held: Mapping[str, float], limits: Mapping[str, float]) -> str:
    """``pipelines 2/4, cpu 1``: what there is a limit for, and what is held without one."""
    told = [
        f"{name} {held.get(name, 0):g}" + (f"/{limits[name]:g}" if name in limits else "")
        for name in sorted({*limits, *(name for name, amount in held.items() if amount)})
    ]
    return ", ".join(told) or "-"


def counts_told(counts: Mapping[str, int]) -> str:
    """``high 1, normal 3``"""
    return ", ".join(f"{name} {count}" for name, count in counts.items()) or "-"


def waits_told(waits: Mapping[str, WaitStatistics]) -> str:
    """``normal 0.1 s/2.0 s``, by lane."""
    return ", ".join(f"{lane} {duration(each.p50)}/{duration(each.p99)}" for lane, each in waits.items()) or "-"
