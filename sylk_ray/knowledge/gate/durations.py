"""How long a lease lasts for its reader, and how long a writer counts on that."""

from __future__ import annotations

import time

import msgspec

from sylk_ray.errors import InputError


class LeaseTerms(msgspec.Struct, frozen=True, kw_only=True):
    """The same for a writer and its readers, which compare no clocks: each measures durations by its own.

    A reader counts from before it asked, a writer from after it granted; so the reader's time began first. It also
    ends first if a second is as long for both, and the writer adds what it can differ by: with rates between ``1 - d``
    and ``1 + d``, ``duration * (1 + d) / (1 - d)`` by any of these clocks is no less than ``duration`` by any other.
    """

    duration_s: float = 2.0
    drift: float = 0.01
    """How much a clock's rate is off at most. A machine's clock is corrected by less than 0.0005."""

    def __post_init__(self) -> None:
        if not (self.duration_s > 0 and 0 <= self.drift < 1):
            raise InputError(f"a lease of {self.duration_s} s with clocks off by {self.drift} cannot be kept")

    @property
    def writer_s(self) -> float:
        """By the writer's clock, after which no reader counts on the lease."""
        return self.duration_s * (1 + self.drift) / (1 - self.drift)

    @property
    def renew_every_s(self) -> float:
        """So often, one request or answer in a row may be lost."""
        return self.duration_s / 3


def lease_clock() -> float:
    """Seconds since the machine started, those that it slept included: a reader that slept has lost its lease."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
