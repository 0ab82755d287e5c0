"""What a durable handler wants done, held back until it commits."""

from __future__ import annotations

import contextlib
import hashlib
from collections import Counter
from collections.abc import Generator
from contextvars import ContextVar
from typing import NamedTuple

from sylk_ray.messaging import Address, Event, Message
from sylk_ray.messaging.wire import Envelope, encode_body
from sylk_ray.runtime.journal import StepRecord


class Told(NamedTuple):
    """A message that leaves when its sender has committed; the envelope is made then, for mail that is kept."""

    target: Address
    message: Message
    timeout: float
    envelope: Envelope | None = None


_step: ContextVar[tuple[Effects, list[Event]] | None] = ContextVar("the step at work, and its events", default=None)


class Effects:
    """One run of one handler. ``sealed`` once it has committed: whoever still holds its context speaks for itself."""

    __slots__ = ("_asked", "_names", "events", "message_id", "sealed", "steps", "told")

    def __init__(self, message_id: str) -> None:
        self.message_id = message_id
        self.told: list[Told] = []
        self.events: list[Event] = []
        self.steps: dict[str, StepRecord] | None = None
        """The steps of earlier runs; None before the first step of this one."""
        self.sealed = False
        self._names: Counter[str] = Counter()
        self._asked: Counter[str] = Counter()

    def publish(self, event: Event) -> None:
        """For the history, with what it is a part of: the step that is at work here, or the handler's commit."""
        step = _step.get()
        events = step[1] if step is not None and step[0] is self else self.events
        events.append(event)

    @contextlib.contextmanager
    def within_step(self) -> Generator[list[Event]]:
        """What is published meanwhile, here and in what is begun here, is of one step; others may be at work."""
        events: list[Event] = []
        token = _step.set((self, events))
        try:
            yield events
        finally:
            _step.reset(token)

    def take_events(self) -> list[Event]:
        """Those of no step so far."""
        events, self.events = self.events, []
        return events

    def step_name(self, name: str) -> str:
        """A name that no other step of this handler has: the second ``x`` is ``x #2``, in each run the same."""
        self._names[name] += 1
        count = self._names[name]
        return name if count == 1 else f"{name} #{count}"

    def request_id(self, target: Address, message: Message) -> str:
        """The same for the same question in each run of the handler, so that who answers it knows it again."""
        asked = f"{target}\0{type(message).__name__}\0".encode() + encode_body(message)
        what = hashlib.blake2b(asked, digest_size=8).hexdigest()
        self._asked[what] += 1
        return f"{self.message_id}?{what}.{self._asked[what]}"
