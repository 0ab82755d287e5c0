"""The component: told how much of the window is used, it does what is due and tells what came of it."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from sylk_ray.context_window.policies import ContextPolicy, InvalidPolicy
from sylk_ray.context_window.records import Checkpoint, Compaction, ContextState, Moment, Reason, Report
from sylk_ray.context_window.roles import Compactor, HandOff, Sink, Summariser
from sylk_ray.context_window.thresholds import checkpoints_due, limit_is_due, noted
from sylk_ray.runtime.clock import Clock

MAX_PENDING = 16
"""Checkpoints that are kept for a sink that does not take them; the oldest is given up, as newer ones know more."""


class ContextMemory:
    """The context of one agent. ``state`` is replaced, never changed: keep it wherever the agent's own state is kept.

    One observation is dealt with at a time; another one waits for it. ``hand_off`` is needed for a policy that hands
    off. Raises InvalidPolicy.
    """

    def __init__(
        self,
        session: str,
        role: str,
        policy: ContextPolicy,
        *,
        window_tokens: int,
        summarise: Summariser,
        sink: Sink,
        compact: Compactor,
        clock: Clock,
        hand_off: HandOff | None = None,
        state: ContextState | None = None,
    ) -> None:
        if window_tokens < 1:
            raise InvalidPolicy(f"the window of {role} is {window_tokens} tokens", hint="give the model's window")
        if policy.at_limit == "handoff" and hand_off is None:
            raise InvalidPolicy(
                f"{role} hands off at its limit, and cannot", hint='give hand_off, or at_limit="compact"'
            )
        self.state = ContextState() if state is None else state
        self._session = session
        self._role = role
        self._policy = policy
        self._window = window_tokens
        self._summarise = summarise
        self._sink = sink
        self._compact = compact
        self._hand_off = hand_off
        self._clock = clock
        self._one_at_a_time = asyncio.Lock()

    @property
    def usage(self) -> float:
        """The part of the window that is used."""
        return self.state.used_tokens / self._window

    async def observe(self, used_tokens: int) -> Report:
        """The context has that many tokens now: make the checkpoint, compact or hand off if that is due."""
        async with self._one_at_a_time:
            self._note(used_tokens)
            outcome = _Outcome()
            self._prove(outcome)
            if limit_is_due(self._policy, self.state, self.usage):
                await self._at_limit(outcome)
            elif checkpoints_due(self._policy, self.state, self.usage):
                await self._checkpoint("checkpoint", outcome)
            return outcome.report(self.usage)

    async def checkpoint(self) -> Report:
        """Make one now, whatever the use is."""
        async with self._one_at_a_time:
            outcome = _Outcome()
            await self._checkpoint("request", outcome)
            return outcome.report(self.usage)

    async def deliver(self) -> Report:
        """Try again to deliver what is pending, without waiting for the next checkpoint."""
        async with self._one_at_a_time:
            outcome = _Outcome()
            await self._deliver(outcome)
            return outcome.report(self.usage)

    async def _checkpoint(self, reason: Reason, outcome: _Outcome) -> Checkpoint | None:
        """Make one and try to deliver it; None when it could not be made, so that the next observation tries again."""
        index = self.state.next_index
        moment = Moment(self._session, self._role, index, self._clock.now(), self.usage, reason)
        try:
            summary = msgspec.to_builtins(await self._summarise(moment), str_keys=True)
        except Exception as problem:
            outcome.problem(f"the summary of {self._name} could not be made", problem)
            return None
        made = Checkpoint(moment, self._policy.category, summary)
        pending = (*self.state.pending, made)
        dropped = max(0, len(pending) - MAX_PENDING)
        if dropped:
            outcome.problems.append(f"checkpoint {pending[0].moment.index} of {self._name} was given up undelivered")
        # Kept and marked in one step: whatever happens from here on, it is neither lost nor made twice.
        self._change(
            fired=(*self.state.fired, *checkpoints_due(self._policy, self.state, self.usage)),
            next_index=index + 1,
            pending=pending[dropped:],
            dropped=self.state.dropped + dropped,
        )
        outcome.checkpoint = made
        await self._deliver(outcome)
        return made

    async def _deliver(self, outcome: _Outcome) -> None:
        """In their order, up to the first that is not taken."""
        for each in self.state.pending:
            try:
                await self._sink.submit(each)
            except Exception as problem:
                waiting = f"{len(self.state.pending)} checkpoints of {self._name} wait to be delivered"
                outcome.problem(waiting, problem)
                return
            self._change(pending=tuple(other for other in self.state.pending if other is not each))
            outcome.delivered.append(each.moment.index)

    async def _at_limit(self, outcome: _Outcome) -> None:
        final = await self._checkpoint("limit", outcome)
        if final is None:
            return
        hand_off = self._hand_off if self._policy.at_limit == "handoff" else None
        if hand_off and await self._handed_off(hand_off, final, outcome):
            self._change(handed_off=True, handoffs=self.state.handoffs + 1)
            outcome.handed_off = True
            return
        await self._shrink(final, outcome)

    async def _handed_off(self, hand_off: HandOff, final: Checkpoint, outcome: _Outcome) -> bool:
        for attempt in range(self._policy.handoff_attempts):
            if attempt:
                await self._clock.sleep(self._policy.handoff_wait_s * 2 ** (attempt - 1))
            try:
                await hand_off(final)
            except Exception as problem:
                outcome.problem(f"attempt {attempt + 1} to hand off the work of {self._name} failed", problem)
            else:
                return True
        return False

    async def _shrink(self, final: Checkpoint, outcome: _Outcome) -> None:
        before, target = self.state.used_tokens, int(self._policy.target * self._window)
        try:
            after = max(0, await self._compact(target, final))
        except Exception as problem:
            outcome.problem(f"the context of {self._name} could not be compacted", problem)
            self._change(short_at=self.usage)
            return
        outcome.compaction = Compaction(before, after, target)
        self._note(after)
        short = outcome.compaction.fell_short
        self._change(short_at=self.usage if short else None, unproven=True, compactions=self.state.compactions + 1)
        if short:
            outcome.problems.append(
                f"compacting the context of {self._name} left {after:,} tokens and should have left {target:,}"
            )

    def _prove(self, outcome: _Outcome) -> None:
        """A compactor that is wrong about what it left must not be called at every observation."""
        if not self.state.unproven:
            return
        still_full = self.usage >= self._policy.limit
        self._change(unproven=False, short_at=self.usage if still_full else self.state.short_at)
        if still_full:
            outcome.problems.append(
                f"the context of {self._name} was compacted and has {self.state.used_tokens:,} tokens all the same"
            )

    def _note(self, used_tokens: int) -> None:
        self.state = noted(self._policy, self.state, used_tokens, used_tokens / self._window)

    def _change(self, **fields: Any) -> None:
        self.state = msgspec.structs.replace(self.state, **fields)

    @property
    def _name(self) -> str:
        return f"{self._session}/{self._role}"


class _Outcome:
    """A report that is being written."""

    def __init__(self) -> None:
        self.checkpoint: Checkpoint | None = None
        self.delivered: list[int] = []
        self.compaction: Compaction | None = None
        self.handed_off = False
        self.problems: list[str] = []

    def problem(self, what: str, problem: Exception) -> None:
        self.problems.append(f"{what}: {type(problem).__name__}: {problem}")

    def report(self, usage: float) -> Report:
        return Report(
            usage, self.checkpoint, tuple(self.delivered), self.compaction, self.handed_off, tuple(self.problems)
        )
