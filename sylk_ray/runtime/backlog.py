"""What one subscription has not been sent yet: within its bound, and whatever it does."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from sylk_ray.messaging import Event
from sylk_ray.messaging.subscriptions import Subscription
from sylk_ray.runtime.history import Events


class Backlog:
    """Events in the order in which they are sent. Each has a place in the session's history: its number, and for a
    passing one that of the kept event before it.

    A subscription that must lose nothing falls ``behind`` when it has no room for a kept event: from there on it reads
    the history by itself, as quickly as it is able to, until it has come to its end.
    """

    def __init__(self, session: str, subscription: Subscription, position: int, *, behind: bool = False) -> None:
        self.subscription = subscription
        self._session = session
        self.position = position
        """Kept events up to this one have been taken in, as far as they are wanted."""
        self.behind = behind
        self.sent = position
        """What was handed out goes up to here."""
        self._dropped = 0
        self._waiting: deque[tuple[int, Event]] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, event: Event) -> None:
        """Take in the next kept event that is wanted."""
        if event.sequence <= self.position or self.behind:
            return
        if self._has_room():
            self._waiting.append((event.sequence, event))
            self.position = event.sequence
        else:
            self.behind, self.position = True, event.sequence - 1

    def add_passing(self, event: Event, place: int) -> None:
        """Take in a passing event that came after the kept one of that number. Where nothing may be lost it goes over
        the bound, and whoever brings it is to wait while it is: so it stands where it belongs."""
        self._has_room()
        self._waiting.append((place, event))

    def lost(self, count: int) -> None:
        """So many did not come as far as here."""
        self._dropped += count

    @property
    def over_bound(self) -> bool:
        """Whether more waits than should."""
        return len(self._waiting) > self.subscription.bound

    def refill(self, wanted: Sequence[Event], position: int) -> None:
        """What was read of the history, up to a number, while it was behind."""
        found = [(event.sequence, event) for event in wanted]
        # The sort is stable: a passing event stays behind the kept one of its place.
        self._waiting = deque(sorted([*found, *self._waiting], key=lambda each: each[0]))
        self.position = position

    def reached(self, position: int) -> None:
        """The history up to that number has been taken in, as far as it is wanted."""
        if not self.behind:
            self.position = max(self.position, position)

    def take(self, most: int, *, even_if_empty: bool = False) -> Events | None:
        """The next batch; None when nothing waits."""
        after = through = self.sent
        taken: list[Event] = []
        while self._waiting and len(taken) < most and (not self.behind or self._waiting[0][0] <= self.position):
            place, event = self._waiting.popleft()
            taken.append(event)
            through = max(through, place)
        if not (taken or self._dropped or even_if_empty):
            return None
        if not self._waiting:
            through = max(through, self.position)
        dropped, self._dropped, self.sent = self._dropped, 0, through
        return Events(self._session, taken, self.subscription.id, after, through, dropped)

    def _has_room(self) -> bool:
        if len(self._waiting) < self.subscription.bound:
            return True
        if self.subscription.overflow == "block":
            return False
        self._waiting.popleft()
        self._dropped += 1
        return True
