"""What becomes of requests: a handler's answer, or its failure, goes back to where the request came from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sylk_ray.errors import SylkError
from sylk_ray.messaging.wire import Envelope, Failure, encode_envelope
from sylk_ray.runtime.asks import Asks
from sylk_ray.runtime.clock import Clock
from sylk_ray.runtime.links import Outgoing
from sylk_ray.runtime.peers import Peers


class Answers:
    """Answers to ``asks`` of this cell stay in it; those to others' leave by ``peers``."""

    def __init__(self, asks: Asks, peers: Peers, clock: Clock, next_id: Callable[[], str]) -> None:
        self._asks = asks
        self._peers = peers
        self._clock = clock
        self._next_id = next_id

    def reply(self, request: Envelope, result: Any) -> None:
        """Answer with what the handler returned."""
        self._answer(request, Envelope(self._next_id(), request.target, request.source, result, answers=request.id))

    def fail(self, request: Envelope, error: SylkError) -> None:
        """Answer with an error; of a message that wants no reply nothing is said."""
        if request.wants_reply:
            answer = Envelope(self._next_id(), request.target, request.source, None, answers=request.id)
            answer.failure = Failure.of(error)
            self._answer(request, answer)

    def _answer(self, request: Envelope, answer: Envelope) -> None:
        if not request.origin:
            self._asks.settle(answer)
            return
        try:
            data = encode_envelope(answer)
        except SylkError as error:
            answer.message, answer.failure = None, Failure.of(error)
            data = encode_envelope(answer)
        deadline = request.deadline or self._clock.now() + 30
        self._peers.answer(request.origin, Outgoing(data, answer.source, answer.target, deadline, None))
