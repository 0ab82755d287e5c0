"""The books: every lease and every waiting request, and what each of them takes from the system and its session.

Nothing is decided here. Each step changes all the books that it concerns, so that they agree after it.
"""

from __future__ import annotations

from sylk_ray.fairness.holders import Holders
from sylk_ray.fairness.model import Capacity, Group, Request
from sylk_ray.fairness.pool import Pool
from sylk_ray.fairness.records import Record
from sylk_ray.fairness.session import Lease, Session
from sylk_ray.fairness.session_queue import Kind, Waiting, kind_of
from sylk_ray.fairness.token_bucket import TokenBucket


class Books:
    """Sessions, leases and requests by name, and the system's own amounts."""

    def __init__(self, capacity: Capacity, now: float) -> None:
        self.system = Pool(capacity.amounts())
        self.buckets = {name: TokenBucket(rate, now) for name, rate in capacity.tokens_per_minute().items()}
        self.sessions: dict[str, Session] = {}
        self.leases: dict[str, Lease] = {}
        self.waiting: dict[str, Waiting] = {}
        self.kinds: dict[Kind, int] = {}
        """How many requests of each kind wait, over all sessions."""
        self.holders = Holders()
        self.record = Record()

    def change_capacity(self, capacity: Capacity, now: float) -> None:
        """What was held until now is counted in parts of what there was until now."""
        for session in self.sessions.values():
            session.service.advance(self.system.limits, now)
        self.system.limits = capacity.amounts()
        rates = capacity.tokens_per_minute()
        self.buckets = {name: bucket for name, bucket in self.buckets.items() if name in rates}
        for name, rate in rates.items():
            if name in self.buckets:
                self.buckets[name].change(rate, now)
            else:
                self.buckets[name] = TokenBucket(rate, now)

    def session(self, name: str, now: float) -> Session:
        """A session that nobody has given a group yet has the default one."""
        session = self.sessions.get(name)
        if session is None:
            session = self.sessions[name] = Session(name, Group(), now, opened=False)
        return session

    def session_of(self, request: Request) -> Session:
        return self.sessions[request.session]

    def have_tokens(self, kind: Kind, now: float) -> bool:
        """Whether every provider that this kind uses has tokens."""
        return all(bucket.positive(now) for name in kind.providers if (bucket := self.buckets.get(name)) is not None)

    def next_tokens(self, now: float) -> float | None:
        """When the first of the empty buckets that hold something up has tokens again."""
        used = {name for kind in self.kinds for name in kind.providers}
        buckets = [bucket for name, bucket in self.buckets.items() if name in used]
        if used:
            buckets += [session.bucket for session in self.sessions.values() if session.bucket and session.queue]
        times = (bucket.positive_at(now) for bucket in buckets if not bucket.positive(now))
        return min((at for at in times if at != float("inf")), default=None)

    def enqueue(self, request: Request, holder: str, now: float) -> Waiting:
        entry = Waiting(request, kind_of(request), holder, now)
        self.session(request.session, now).queue.add(entry)
        self.waiting[request.key] = entry
        self.kinds[entry.kind] = self.kinds.get(entry.kind, 0) + 1
        self.holders.give(holder, request.key)
        return entry

    def dequeue(self, entry: Waiting) -> None:
        self.session_of(entry.request).queue.remove(entry)
        del self.waiting[entry.request.key]
        self.kinds[entry.kind] -= 1
        if not self.kinds[entry.kind]:
            del self.kinds[entry.kind]
        self.holders.take(entry.holder, entry.request.key)

    def begin(self, request: Request, kind: Kind, holder: str, now: float, used: float = 0.0) -> Lease:
        """A lease starts, charged ahead: its estimated duration, and the tokens of its input.

        One that is taken up, not granted, may have ``used`` tokens already. They are of the past: its session's
        holders count them (``FairShare.used_in_all``).
        """
        session = self.session(request.session, now)
        self.system.take(kind.demand)
        session.pool.take(kind.demand)
        estimate = session.durations.estimate_s(kind.demand)
        charge = session.service.hold(kind.demand, estimate, self.system.limits, now)
        lease = Lease(request, kind, holder, charge, now)
        session.leases[request.key] = self.leases[request.key] = lease
        self.holders.give(holder, request.key)
        if used and len(kind.providers) == 1:
            lease.tokens[kind.providers[0]] = lease.reported[kind.providers[0]] = used
        for provider in kind.providers:
            self.charge(lease, provider, max(0.0, request.tokens[provider] - lease.tokens.get(provider, 0.0)), now)
        return lease

    def end(self, lease: Lease, now: float, *, learn: bool = True) -> None:
        """A lease is over; with ``learn`` its duration is one to estimate the next ones from."""
        request, session = lease.request, self.session_of(lease.request)
        self.system.give_back(lease.kind.demand)
        session.pool.give_back(lease.kind.demand)
        session.service.let_go(lease.charge, self.system.limits, now)
        for provider, used in lease.reported.items():
            self.charge(lease, provider, used - lease.tokens.get(provider, 0.0), now)
        del session.leases[request.key], self.leases[request.key]
        self.holders.take(lease.holder, request.key)
        if learn:
            session.durations.learn(lease.kind.demand, now - lease.since)
            for record in (session.record, self.record):
                record.processed(now - lease.since)

    def move(self, work: Lease | Waiting, holder: str) -> None:
        """The same piece of work in other hands."""
        self.holders.take(work.holder, work.request.key)
        work.holder = holder
        self.holders.give(holder, work.request.key)

    def charge(self, lease: Lease, provider: str, tokens: float, now: float) -> None:
        """Tokens of one lease, at the provider, its session's rate and budget, and the session's counter."""
        if not tokens:
            return
        session = self.session_of(lease.request)
        lease.tokens[provider] = lease.tokens.get(provider, 0.0) + tokens
        session.use(tokens, now)
        bucket = self.buckets.get(provider)
        if bucket is not None:
            bucket.take(tokens, now)
            if bucket.per_minute > 0:
                session.service.add(tokens * 60 / bucket.per_minute, now)

    def count(self, what: str, session: Session) -> None:
        session.record.count(what)
        self.record.count(what)

    def granted(self, entry: Waiting, now: float) -> None:
        """For the record."""
        session, waited = self.session_of(entry.request), max(0.0, now - entry.request.at)
        self.count("granted", session)
        for record in (session.record, self.record):
            record.waited(entry.request.lane, waited)
