"""The scheduler of shared resources: told what is wanted and given back, it says who may go on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sylk_ray.fairness.books import Books
from sylk_ray.fairness.decisions import Decision, Granted, Refused, Returned
from sylk_ray.fairness.dispatch import Dispatch
from sylk_ray.fairness.holders import LEASE_S
from sylk_ray.fairness.model import Capacity, Group, InvalidRequest, Request
from sylk_ray.fairness.session import Lease, Session
from sylk_ray.fairness.session_queue import Waiting, kind_of
from sylk_ray.fairness.snapshot import Snapshot, snapshot_of
from sylk_ray.fairness.words import never, over_budget, place

_FORGET_S = 60.0
"""After this long idle, a session that nobody opened is forgotten."""


class FairShare:
    """Grants requests for resources in fair order. Every method that takes ``now`` and decides returns decisions.

    Work conserving: nothing that fits the system and its session's limits waits, unless what it wants is kept for a
    request that reserved it, or the settling time of a new FairShare is not over.

    How long a request can wait. Let leases last at most L seconds, M be the most resources one request demands, and
    ``tick`` be called each second, and limits not shrink. Take a request that its session's token rate, its
    providers' and its budget do not hold up; k requests of its session are older by their ``at``. Let K count the
    grants to *other* sessions that come before its own in the order of sessions (a smaller counter; at a tie an older
    front, then the name), from when it is Critical. Then it is granted within

        4 AGE_S + 1 + (k + 1) (patience_s + 2 L + 1) + (K + k + 1) (1 + 2 M) L    seconds,

    for (1) after 4 AGE_S it is in the Critical lane and only the k older ones come before it, each of which stays in
    front until it is granted; (2) what a front that has waited patience_s lacks of its session's own limits is
    kept for it, and is back within L; (3) from then on it lacks only what the system is short of. Sessions that come
    later in the order are looked at later, so before one of them gets anything the front has reserved, or another's
    reservation is in its way, which is met within M L: one L for each resource that it is in turn short of. So is
    its own. K is finite, as every grant adds at least LEAST_S times its dominant share to a counter, over its weight:
    sessions that had less catch up, which is what weights mean. A reservation is met however urgent what comes later
    in other sessions is; in its own, a more urgent request takes the front from it.
    """

    def __init__(self, capacity: Capacity, *, now: float, settle_s: float = 0.0, patience_s: float = 20.0) -> None:
        """For the first ``settle_s`` nothing is granted, so that holders can report what they hold already.

        ``patience_s`` is how long a large request is passed by smaller ones before it reserves.
        """
        self._books = Books(capacity, now)
        self._dispatch = Dispatch(self._books, patience_s)
        self._settled_at = now + settle_s

    def set_capacity(self, capacity: Capacity, now: float) -> list[Decision]:
        """The system's resources changed. Nothing is revoked: what is held over the new capacity runs out by itself,
        and what could now never be met is refused."""
        self._books.change_capacity(capacity, now)
        refused: list[Decision] = []
        for session in self._in_order():
            refused += self._refuse_hopeless(session)
            self._dispatch.refresh(session, now)
        return [*refused, *self._fill(now)]

    def set_group(self, session: str, group: Group, now: float, *, tokens_used: float = 0.0) -> list[Decision]:
        """Open a session, or change its weight and limits while it runs.

        ``tokens_used`` is what its journal says it has used of its budget, for a FairShare that was restarted; the
        larger of that and what is known here counts.
        """
        state = self._books.session(session, now)
        state.service.advance(self._books.system.limits, now)
        state.change(group, now)
        state.tokens_used = max(state.tokens_used, tokens_used + state.tokens_ahead)
        refused = self._refuse_hopeless(state)
        self._dispatch.refresh(state, now)
        return [*refused, *self._fill(now)]

    def close_session(self, session: str, now: float) -> list[Decision]:
        """Everything of a session returns, and the session is forgotten. Closing an unknown one changes nothing."""
        state = self._books.sessions.get(session)
        if state is None:
            return []
        gone: list[Decision] = []
        reason = f'the session "{session}" was closed'
        for work in [*state.leases.values(), *state.queue.entries()]:
            gone.append(Returned(work.request.key, work.holder, reason))
            self._take_out(work, now, "released" if isinstance(work, Lease) else "withdrawn", learn=False)
        self._dispatch.forget(state)
        del self._books.sessions[session]
        return [*sorted(gone, key=lambda each: each.key), *self._fill(now)]

    def request(self, request: Request, holder: str, now: float) -> list[Decision]:
        """Ask for resources.

        A key that is leased already is granted again, to this holder and without a new charge: its first holder died
        and whoever took over asks again. A key that waits stays where it is in line, for this holder.
        """
        self._books.holders.heard(holder, now)
        lease = self._books.leases.get(request.key)
        if lease is not None:
            self._books.move(lease, holder)
            return [Granted(request.key, holder)]
        entry = self._books.waiting.get(request.key)
        if entry is not None:
            self._books.move(entry, holder)
            return []
        return [*self._line_up(request, holder, now), *self._fill(now)]

    def withdraw(self, key: str, now: float, *, holder: str | None = None) -> list[Decision]:
        """A request is not wanted any more. If it was granted meanwhile, the lease returns; the time it was held is
        no duration to learn from. See ``release`` for ``holder``."""
        return self._give_up(key, now, holder, learn=False)

    def release(self, key: str, now: float, *, holder: str | None = None) -> list[Decision]:
        """The work is done. An unknown key changes nothing; nor does one that has another holder than the given
        one, so that a holder which was taken over from cannot end its successor's lease."""
        return self._give_up(key, now, holder, learn=True)

    def charge(
        self, key: str, tokens_in: float, tokens_out: float, now: float, *, provider: str | None = None
    ) -> list[Decision]:
        """A lease has used this many tokens *so far*, in all; said as often as is convenient, in any order.

        Beyond the estimate they are charged at once; an estimate that was too high is corrected when the lease ends.
        Without ``provider`` it is the one that the request named. An unknown key changes nothing. Raises
        InvalidRequest if the request named several providers and none is given here.
        """
        lease = self._books.leases.get(key)
        if lease is None:
            return []
        if provider is None:
            if len(lease.kind.providers) > 1:
                raise InvalidRequest(f'the request "{key}" uses several providers', hint="say which one was used")
            provider = lease.kind.providers[0] if lease.kind.providers else ""
        used = max(lease.reported.get(provider, 0.0), tokens_in + tokens_out)
        lease.reported[provider] = used
        self._books.charge(lease, provider, max(0.0, used - lease.tokens.get(provider, 0.0)), now)
        session = self._books.session_of(lease.request)
        refused = self._refuse_hopeless(session)
        self._dispatch.refresh(session, now)
        return [*refused, *self._fill(now)]

    def used_in_all(self, session: str, tokens: float, now: float) -> list[Decision]:
        """A session has used this many tokens, in all and at least, as its holders count them: whatever this
        FairShare has not seen of it. Call it after ``charge`` for what is reported with it, as charges are part of it.
        Of a session that is not known it changes nothing: whoever opens it says what it has used.
        """
        state = self._books.sessions.get(session)
        if state is None:
            return []
        state.tokens_used = max(state.tokens_used, tokens + state.tokens_ahead)
        refused = self._refuse_hopeless(state)
        self._dispatch.refresh(state, now)
        return [*refused, *self._fill(now)]

    def heartbeat(
        self,
        holder: str,
        held: Iterable[Request],
        waiting: Iterable[Request],
        now: float,
        *,
        used: Mapping[str, float] | None = None,
    ) -> list[Decision]:
        """A holder lives, and this is all that it holds and waits for; said in the order of its other calls.

        What is not known here is taken up: held keys as leases, charged, even over every limit, and waiting ones in
        line. What it does not name any more is given back. A key that it waits for and has is granted again, for the
        answer may have been lost. A key that another holder has is not taken from that one: it is Returned to this
        one if this one thinks that it holds it.

        ``used`` is the tokens that held keys have used so far. Of what is taken up they are charged to nobody again:
        they are in what the session has ``used_in_all``.
        """
        self._books.holders.heard(holder, now)
        decisions: list[Decision] = []
        held, waiting = list(held), list(waiting)
        named = {request.key for request in [*held, *waiting]}
        for key in self._books.holders.keys_of(holder):
            if key not in named:
                self._take_out(self._work(key), now, None)
        for request in held:
            decisions += self._confirm(request, holder, now, (used or {}).get(request.key, 0.0))
        for request in waiting:
            lease = self._books.leases.get(request.key)
            if lease is not None and lease.holder == holder:
                decisions.append(Granted(request.key, holder))
            elif lease is None and request.key not in self._books.waiting:
                decisions += self._line_up(request, holder, now)
        return [*decisions, *self._fill(now)]

    def tick(self, now: float) -> list[Decision]:
        """Time passed: call it each second, or at least at ``next_wakeup``. Leases and requests of holders that were
        silent for LEASE_S return."""
        gone: list[Decision] = []
        for holder in self._books.holders.silent(now):
            for key in self._books.holders.keys_of(holder):
                gone.append(Returned(key, holder, f"{holder} was silent for {LEASE_S:g} s"))
                self._take_out(self._work(key), now, "returned", learn=False)
            self._books.holders.forget(holder)
        for session in self._in_order():
            self._dispatch.refresh(session, now)
            if not session.opened and session.idle_since is not None and now - session.idle_since >= _FORGET_S:
                self._dispatch.forget(session)
                del self._books.sessions[session.name]
        return [*gone, *self._fill(now)]

    def next_wakeup(self, now: float) -> float | None:
        """When ``tick`` must be called next, if nothing else happens before; None when no time matters."""
        times = [self._books.holders.next_silence(), self._books.next_tokens(now)]
        if self._books.waiting and now < self._settled_at:
            times.append(self._settled_at)
        return min((at for at in times if at is not None), default=None)

    def snapshot(self, now: float) -> Snapshot:
        """Everything there is to see."""
        return snapshot_of(self._books, self._dispatch.reservations, now)

    def place(self, key: str, now: float) -> str:
        """Where a key is in line and why it waits, in words for a person."""
        return place(key, self._books, self._dispatch, now, settled_at=self._settled_at)

    def _fill(self, now: float) -> list[Decision]:
        if now < self._settled_at or not self._books.waiting:
            return []
        return [Granted(entry.request.key, entry.holder) for entry in self._dispatch.round(now)]

    def _line_up(self, request: Request, holder: str, now: float) -> list[Decision]:
        session = self._books.session(request.session, now)
        kind = kind_of(request)
        reason = over_budget(session) if session.over_budget else never(session, kind, self._books)
        if reason:
            self._books.count("refused", session)
            return [Refused(request.key, holder, reason, session.over_budget)]
        self._books.enqueue(request, holder, now)
        self._dispatch.refresh(session, now)
        return []

    def _confirm(self, request: Request, holder: str, now: float, used: float) -> list[Decision]:
        """A holder says that it holds this."""
        lease = self._books.leases.get(request.key)
        if lease is not None:
            if lease.holder == holder:
                return []
            return [Returned(request.key, holder, f"{lease.holder} has taken it over")]
        entry = self._books.waiting.get(request.key)
        successor = entry.holder if entry is not None else holder
        if entry is not None:
            self._books.dequeue(entry)
        self._books.begin(request, kind_of(request), successor, now, used)
        session = self._books.session_of(request)
        self._books.count("restored", session)
        self._dispatch.refresh(session, now)
        if successor == holder:
            return []
        return [
            Granted(request.key, successor),
            Returned(request.key, holder, f"{successor} has taken it over"),
        ]

    def _give_up(self, key: str, now: float, holder: str | None, *, learn: bool) -> list[Decision]:
        work = self._books.leases.get(key) or self._books.waiting.get(key)
        if work is None or (holder is not None and holder != work.holder):
            return []
        self._take_out(work, now, None, learn=learn)
        return self._fill(now)

    def _take_out(self, work: Lease | Waiting, now: float, counted_as: str | None, *, learn: bool = True) -> None:
        """A lease ends, or a request leaves the line."""
        session = self._books.session_of(work.request)
        if isinstance(work, Lease):
            self._books.end(work, now, learn=learn)
        else:
            self._books.dequeue(work)
        self._books.count(counted_as or ("released" if isinstance(work, Lease) else "withdrawn"), session)
        self._dispatch.refresh(session, now)

    def _refuse_hopeless(self, session: Session) -> list[Decision]:
        """Refuse what waits and can no longer be met: by kind, so that nothing is looked at in vain."""
        spent = over_budget(session) if session.over_budget else ""
        refused: list[Decision] = []
        for kind in sorted(session.queue.kinds()):
            reason = spent or never(session, kind, self._books)
            for entry in session.queue.of_kind(kind) if reason else []:
                self._books.dequeue(entry)
                self._books.count("refused", session)
                refused.append(Refused(entry.request.key, entry.holder, reason, bool(spent)))
        return refused

    def _work(self, key: str) -> Lease | Waiting:
        return self._books.leases.get(key) or self._books.waiting[key]

    def _in_order(self) -> list[Session]:
        return [session for _, session in sorted(self._books.sessions.items())]
