"""What is shared and who asks for it, as data: groups, the system's capacity, and requests.

Names of resources are free ("pipelines", "cpu", "model:fast", "sessions", ...). One prefix has a meaning: the capacity
"tokens:fast" is a rate, in tokens a minute of the provider "fast". Times are seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from math import isfinite

import msgspec

from sylk_ray.errors import InputError

TOKENS = "tokens:"
"""The prefix of a capacity that is a provider's tokens a minute."""


class InvalidGroup(InputError):
    """A session's limits make no sense; the message names the field."""

    code = "invalid_group"


class InvalidCapacity(InputError):
    """A capacity of the system makes no sense; the message names the resource."""

    code = "invalid_capacity"


class InvalidRequest(InputError):
    """A request makes no sense; the message names its key and the field."""

    code = "invalid_request"


class Lane(IntEnum):
    """How urgent a request is within its session. Lanes say nothing about other sessions: weights do."""

    CRITICAL = 0
    HIGH = 1
    NORMAL = 2
    LOW = 3
    BACKGROUND = 4


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """The weight and the limits of one session; None is no limit. Raises InvalidGroup."""

    weight: float = 1.0
    """Its part of what is contended for, relative to the other sessions' weights."""
    max_pipelines: int | None = None
    max_engineers: int | None = None
    cpu_slots: float | None = None
    tokens_per_minute: float | None = None
    """Over all providers together."""
    token_budget: float | None = None
    """Tokens in all, over the session's life; 0 lets it do nothing."""
    memory_mb: float | None = None

    def __post_init__(self) -> None:
        for field in ("weight", "max_pipelines", "max_engineers", "cpu_slots", "tokens_per_minute", "memory_mb"):
            value: float | None = getattr(self, field)
            if value is not None and not (isfinite(value) and value > 0):
                raise InvalidGroup(f"a group's {field} is {value}", hint="give a number above 0")
        if self.token_budget is not None and not self.token_budget >= 0:
            raise InvalidGroup(f"a group's token_budget is {self.token_budget}", hint="give 0 or more")

    def limits(self) -> dict[str, float]:
        """The most that the session may hold, by the name of the resource."""
        limits = {
            "pipelines": self.max_pipelines,
            "engineers": self.max_engineers,
            "cpu": self.cpu_slots,
            "memory": self.memory_mb,
        }
        return {resource: float(limit) for resource, limit in limits.items() if limit is not None}


class Capacity(msgspec.Struct, frozen=True):
    """What the system has of each resource; a resource without an entry has no end. Raises InvalidCapacity."""

    resources: dict[str, float]

    def __post_init__(self) -> None:
        for resource, amount in self.resources.items():
            if not (isfinite(amount) and amount >= 0):
                raise InvalidCapacity(f'the capacity of "{resource}" is {amount}', hint="give 0 or more")

    def amounts(self) -> dict[str, float]:
        """What can be held."""
        return {name: float(amount) for name, amount in self.resources.items() if not name.startswith(TOKENS)}

    def tokens_per_minute(self) -> dict[str, float]:
        """The rate of each provider that has one."""
        return {
            name.removeprefix(TOKENS): float(rate) for name, rate in self.resources.items() if name.startswith(TOKENS)
        }


class Request(msgspec.Struct, frozen=True):
    """One piece of work that wants resources until it is done. Raises InvalidRequest."""

    key: str
    """Stable: the same piece of work asked for again, by anyone, has the same key."""
    session: str
    demand: dict[str, float]
    lane: Lane = Lane.NORMAL
    at: float = 0.0
    """When it was first asked for; what its age and its place in line are counted from."""
    tokens: dict[str, float] = msgspec.field(default_factory=dict[str, float])
    """Tokens it will use at least, by provider: those of its input, as far as they can be known."""

    def __post_init__(self) -> None:
        if not self.key or not self.session:
            raise InvalidRequest(f'the request "{self.key}" of the session "{self.session}" lacks a name')
        if not isfinite(self.at):
            raise InvalidRequest(f'the request "{self.key}" has at {self.at}', hint="give the time it was asked at")
        self._check("demand", self.demand)
        self._check("tokens", self.tokens)
        for resource in self.demand:
            if resource.startswith(TOKENS):
                raise InvalidRequest(f'the request "{self.key}" demands "{resource}"', hint="tokens go under tokens")

    def _check(self, field: str, amounts: Mapping[str, float]) -> None:
        for name, amount in amounts.items():
            if not (isfinite(amount) and amount >= 0):
                raise InvalidRequest(
                    f'the request "{self.key}" has {amount} of "{name}" in its {field}', hint="give 0 or more"
                )
