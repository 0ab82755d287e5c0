"""One session as the scheduler sees it: its group, what it holds, what waits, and what it has had."""

from __future__ import annotations

from sylk_ray.fairness.durations import Durations
from sylk_ray.fairness.model import Group, Request
from sylk_ray.fairness.pool import Pool
from sylk_ray.fairness.records import Record
from sylk_ray.fairness.service import Charge, Service
from sylk_ray.fairness.session_queue import Kind, SessionQueue, Waiting
from sylk_ray.fairness.token_bucket import TokenBucket


class Lease:
    """A granted request, until it is given back."""

    __slots__ = ("charge", "holder", "kind", "reported", "request", "since", "tokens")

    def __init__(self, request: Request, kind: Kind, holder: str, charge: Charge, now: float) -> None:
        self.request, self.kind, self.holder, self.charge, self.since = request, kind, holder, charge, now
        self.tokens: dict[str, float] = {}
        """What is charged for it so far, by provider."""
        self.reported: dict[str, float] = {}
        """What its holder said that it has used so far, by provider."""

    @property
    def tokens_ahead(self) -> float:
        """What of its tokens is an estimate still."""
        return sum(tokens - self.reported.get(provider, 0.0) for provider, tokens in self.tokens.items())


class Session:
    """The state of one session. ``opened`` says that it has a group of its own, not the default."""

    def __init__(self, name: str, group: Group, now: float, *, opened: bool) -> None:
        self.name = name
        self.group = group
        self.opened = opened
        self.pool = Pool(group.limits())
        self.service = Service(group.weight, now)
        self.queue = SessionQueue()
        self.durations = Durations()
        self.record = Record()
        self.leases: dict[str, Lease] = {}
        self.tokens_used = 0.0
        self.bucket = TokenBucket(group.tokens_per_minute, now) if group.tokens_per_minute else None
        self.contending = False
        """Something waits that the session's own limits admit: what holds it up is the system."""
        self.front: Waiting | None = None
        self.front_since = now
        self.idle_since: float | None = now

    def change(self, group: Group, now: float) -> None:
        """Live under another group; what is held stays held."""
        self.group, self.opened = group, True
        self.pool.limits = group.limits()
        self.service.weight = group.weight
        if group.tokens_per_minute is None:
            self.bucket = None
        elif self.bucket is None:
            self.bucket = TokenBucket(group.tokens_per_minute, now)
        else:
            self.bucket.change(group.tokens_per_minute, now)

    @property
    def active(self) -> bool:
        """It holds something or waits for something."""
        return bool(self.leases) or len(self.queue) > 0

    @property
    def over_budget(self) -> bool:
        return self.group.token_budget is not None and self.tokens_used >= self.group.token_budget

    def has_tokens(self, kind: Kind, now: float) -> bool:
        """Whether its tokens a minute let this kind start."""
        return not kind.providers or self.bucket is None or self.bucket.positive(now)

    def admits(self, kind: Kind, now: float) -> bool:
        """Whether the session's own limits let this kind start."""
        return self.pool.fits(kind.demand) and self.has_tokens(kind, now)

    @property
    def tokens_ahead(self) -> float:
        """What is charged beyond what holders have said was used: the rest of the estimates."""
        return sum(lease.tokens_ahead for lease in self.leases.values())

    def use(self, tokens: float, now: float) -> None:
        """Tokens of any provider; below 0 corrects an estimate."""
        self.tokens_used += tokens
        if self.bucket is not None:
            self.bucket.take(tokens, now)
