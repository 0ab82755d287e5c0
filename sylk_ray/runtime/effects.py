"""What a durable handler wants done, held back until it commits."""

from __future__ import annotations

import hashlib
from collections import Counter
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
