"""The messages between whoever publishes, a session's router, and whoever watches."""

from __future__ import annotations

from sylk_ray.messaging import Address, Event, Message, Request, said_by


class Published(Message, frozen=True):
    """Something happened; ``passing`` events are spread but not kept."""

    flow = said_by("any", to="router")

    event: Event
    passing: bool = False


class HistoryGrew(Message, frozen=True):
    """A cell tells a session's router that it has written to the session's history."""

    flow = said_by("host", to="router")


class Subscribe(Request[int], frozen=True):
    """Send ``Events`` to ``watcher`` from now on; answers the sequence number of the last event so far."""

    flow = said_by("user", to="router")

    watcher: Address


class Unsubscribe(Request[None], frozen=True):
    """Send no more."""

    flow = said_by("user", to="router")

    watcher: Address


class Events(Message, frozen=True):
    """What a watcher gets."""

    flow = said_by("router", to="user")

    session: str
    events: list[Event]


class ReadHistory(Request[list[Event]], frozen=True):
    """The kept events after a sequence number, at most ``limit``."""

    flow = said_by("user", "orchestrator", to="router")

    after: int = 0
    limit: int = 10_000
