"""A host's counts as Ray metrics, on the Prometheus endpoint of every node.

Labels are role and session, never the agent: Ray keeps a series for as long as its process lives.
"""

from __future__ import annotations

from collections.abc import Mapping

from ray.util.metrics import Counter, Gauge

from sylk_ray.runtime.meter import LATENCY_BOUNDS_S, RoleCount, RoleLevel

_TAGS = ("role", "session")


class RayMetrics:
    """``sylk_handler_latency`` is a histogram in Prometheus' sense, kept as a counter with the label ``le``: Ray's own
    Histogram takes one value a call, and this takes what a host has counted since the last report."""

    def __init__(self) -> None:
        self._messages = Counter("sylk_messages", "Messages handled", _TAGS)
        self._failures = Counter("sylk_message_failures", "Messages whose handler raised", _TAGS)
        self._seconds = Counter("sylk_handler_seconds", "Seconds spent in handlers", _TAGS)
        self._buckets = Counter(
            "sylk_handler_latency", "Messages whose handler took at most le seconds", (*_TAGS, "le")
        )
        self._depth = Gauge("sylk_mailbox_depth", "Messages waiting in mailboxes", _TAGS)
        self._active = Gauge("sylk_active_agents", "Agents alive", _TAGS)
        self._blocked = Counter("sylk_loop_blocked_seconds", "Seconds that handlers held an event loop", ("role",))
        self._measured: dict[str, Gauge] = {}
        self._shown: set[tuple[str, str]] = set()

    def counts(self, session: str, role: str, count: RoleCount) -> None:
        """Add what happened since the last report."""
        tags = {"role": role, "session": session}
        self._messages.inc(count.handled, tags)
        if count.failed:
            self._failures.inc(count.failed, tags)
        self._seconds.inc(count.seconds, tags)
        total = 0
        for bound, number in zip((*LATENCY_BOUNDS_S, "+Inf"), count.buckets, strict=True):
            total += number
            if total:
                self._buckets.inc(total, {**tags, "le": str(bound)})

    def levels(self, levels: dict[tuple[str, str], RoleLevel]) -> None:
        """Set how things are; a pair that is gone goes to zero once."""
        for key in self._shown - levels.keys():
            self._set(key, RoleLevel())
        for key, level in levels.items():
            self._set(key, level)
        self._shown = set(levels)

    def _set(self, key: tuple[str, str], level: RoleLevel) -> None:
        tags = {"role": key[1], "session": key[0]}
        self._depth.set(level.depth, tags)
        self._active.set(level.active, tags)

    def blocked(self, role: str, seconds: float) -> None:
        """The loop was blocked for that long."""
        self._blocked.inc(seconds, {"role": role})

    def measured(self, name: str, value: float, labels: Mapping[str, str]) -> None:
        """Set what an agent has measured."""
        gauge = self._measured.get(name)
        if gauge is None:
            gauge = self._measured[name] = Gauge(name, "Measured by an agent", tuple(labels))
        gauge.set(value, dict(labels))
