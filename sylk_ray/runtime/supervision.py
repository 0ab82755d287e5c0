"""When a failed agent is started again, and when not any more: OTP's one-for-one strategy.

An agent whose handler raises something unforeseen is put back to its last committed state and gets the same message
again, after a pause that doubles. More than ``most`` restarts within ``within_s`` seconds are too many: the message
becomes a dead letter and the agent's ``on_failure`` tells whoever waits for it, which fails the task's attempt, and
so, when the job's own retries are used up, the job (see "Supervision Principles" in the Erlang/OTP documentation).

An agent that cannot even come to life (its journal cannot be read, say) is tried again for as long as its session is
open here, for its mail waits in the journal: what stands in the way is waited for.
"""

from __future__ import annotations

from collections import deque

import msgspec

from sylk_ray.errors import SylkError


class RestartPolicy(msgspec.Struct, frozen=True):
    """How much is borne. ``first_s`` and ``longest_s`` bound the pause before a restart, in seconds."""

    most: int = 2
    within_s: float = 30.0
    first_s: float = 0.1
    longest_s: float = 5.0


class Restarts:
    """The restarts of one agent, or of one session's cells."""

    def __init__(self, policy: RestartPolicy) -> None:
        self._policy = policy
        self._at: deque[float] = deque()

    @property
    def count(self) -> int:
        """How many there were lately."""
        return len(self._at)

    def next_pause(self, now: float) -> float | None:
        """Note a failure; answers how long to wait before the restart, or None when there were too many."""
        policy = self._policy
        while self._at and now - self._at[0] > policy.within_s:
            self._at.popleft()
        if len(self._at) >= policy.most:
            return None
        self._at.append(now)
        return min(policy.first_s * 2 ** (len(self._at) - 1), policy.longest_s)


class Refused(Exception):
    """Raised by a handler of a durable agent that says no before it has touched anything: whoever asked gets ``error``,
    and the agent goes on as it is. Raised as it is, the error would have the agent put back to its committed state."""

    def __init__(self, error: SylkError) -> None:
        super().__init__(error)
        self.error = error


class ActivationFailed(Exception):
    """An agent could not come to life; ``error`` is what its senders get."""

    def __init__(self, error: SylkError) -> None:
        super().__init__(error.message)
        self.error = error
