"""The messages between whoever publishes, a session's router, the agent of the topics, and whoever subscribes."""

from __future__ import annotations

from sylk_ray.messaging import SHARED, Address, Event, Message, Request, said_by
from sylk_ray.messaging.subscriptions import Subscription

TOPICS = Address(SHARED, "topics", "main")
"""Knows the subscriptions that reach over sessions, and passes on what is of none."""


class Published(Message, frozen=True):
    """Something happened; ``passing`` events are spread but not kept."""

    flow = said_by("any", to=("router", "topics"))

    event: Event
    passing: bool = False
    lost: int = 0
    """Passing events from the same cell before this one that did not arrive."""


class HistoryGrew(Message, frozen=True):
    """A cell tells a session's router that it has written to the session's history."""

    flow = said_by("host", to="router")


class Subscribe(Request[int], frozen=True):
    """Send ``Events`` of one session, asked of its router, or of any, asked of ``TOPICS``.

    Answers the number of the session's last event so far, 0 from ``TOPICS``. Safe to repeat: one that is there goes on
    where it is, unless it is to begin ``afresh`` after the number that it names now.
    """

    subscription: Subscription
    afresh: bool = False

    flow = said_by("any", to=("router", "topics"))


class Unsubscribe(Request[None], frozen=True):
    """Send no more for the subscription of that id."""

    flow = said_by("any", to=("router", "topics"))

    id: str


class Events(Message, frozen=True):
    """What a subscriber gets: what it wanted of a session's history after one number and up to another.

    The next batch goes on where this one ends: another ``after`` than the last ``through`` tells that something was
    lost on the way. ``dropped`` says how many were left out, because it was too slow for them and had said that it
    does not mind. Passing events, of sequence 0, are where they came in between.
    """

    flow = said_by("router", "topics", to="any")

    session: str
    events: list[Event]
    subscription: str = ""
    after: int = 0
    through: int = 0
    dropped: int = 0


class ReadHistory(Request[list[Event]], frozen=True):
    """The kept events after a sequence number, at most ``limit``; with a limit of 0 the answer comes when whoever
    subscribes has those so far, or is slow."""

    flow = said_by("orchestrator", to="router")

    after: int = 0
    limit: int = 10_000


class Register(Request[list[Subscription]], frozen=True):
    """A session's router to ``TOPICS``: it lives, and wants to know who subscribes to topics of its session, and
    others'. Said again and again, for ``TOPICS`` keeps nothing."""

    flow = said_by("router", to="topics")

    session: str


class AcrossSessions(Message, frozen=True):
    """``TOPICS`` to a session's router: subscriptions that reach over sessions have begun, or ended."""

    flow = said_by("topics", to="router")

    begun: list[Subscription] = []
    ended: list[str] = []
