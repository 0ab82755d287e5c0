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
        self._answer(request, self._envelope(request, result))

    def fail(self, request: Envelope, error: SylkError) -> None:
        """Answer with an error; of a message that wants no reply nothing is said."""
        if request.wants_reply:
            answer = self._envelope(request, None)
            answer.failure = Failure.of(error)
            self._answer(request, answer)

    def _envelope(self, request: Envelope, result: Any) -> Envelope:
        """The answer's envelope: of the request's trace, and as urgent."""
        id_, trace, priority = self._next_id(), request.trace, request.priority
        return Envelope(
            id_, request.target, request.source, result, False, 0.0, request.id, "", None, trace, request.id, priority
        )

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
