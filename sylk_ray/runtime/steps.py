"""Steps: what a handler does once, however often it runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar, cast, get_type_hints

import msgspec

from sylk_ray.errors import SylkError
from sylk_ray.messaging import Address, current_trace
from sylk_ray.messaging.wire import Failure, encode_body
from sylk_ray.runtime.clock import Clock
from sylk_ray.runtime.effects import Effects
from sylk_ray.runtime.journal import Fenced, Journal, StepRecord

ResultT = TypeVar("ResultT")


class Retry(msgspec.Struct, frozen=True):
    """How often a step is tried, and the pauses between, in seconds; they double."""

    attempts: int = 3
    first_s: float = 0.2
    longest_s: float = 10.0


class Outcome(msgspec.Struct, frozen=True, array_like=True):
    """How a step ended, as it is kept: its result, or the error that it raised."""

    value: msgspec.Raw = msgspec.Raw(b"\xc0")
    failure: Failure | None = None


class Steps:
    """The steps of one handler's run, by its agent's journal."""

    def __init__(
        self, journal: Journal, agent: Address, effects: Effects, clock: Clock, happened: Callable[[str], None]
    ) -> None:
        self._happened = happened
        self._journal = journal
        self._agent = agent
        self._effects = effects
        self._clock = clock

    async def run(
        self,
        name: str,
        function: Callable[..., Awaitable[ResultT]],
        arguments: tuple[Any, ...],
        *,
        retry: Retry | None,
        mark: Callable[[], Awaitable[str]] | None,
        undo: Callable[[str], Awaitable[None]] | None,
        within: Callable[[], AbstractAsyncContextManager[None]],
        result_type: Any,
    ) -> ResultT:
        """See Context.step."""
        effects, message_id = self._effects, self._effects.message_id
        if effects.steps is None:
            effects.steps = await self._journal.steps(self._agent, message_id)
        name = effects.step_name(name)
        record = effects.steps.get(name)
        if record is not None and record.finished:
            # What was published before it is in the history already: it was written together with the step.
            effects.events.clear()
            return _outcome_of(record, result_type or _returned_by(function))
        async with within():
            return await self._done(name, record, function, arguments, retry, mark, undo)

    async def _done(
        self,
        name: str,
        record: StepRecord | None,
        function: Callable[..., Awaitable[ResultT]],
        arguments: tuple[Any, ...],
        retry: Retry | None,
        mark: Callable[[], Awaitable[str]] | None,
        undo: Callable[[str], Awaitable[None]] | None,
    ) -> ResultT:
        effects, message_id = self._effects, self._effects.message_id
        if record is not None and undo is not None:
            await undo(record.before)
        before = record.before if record is not None and record.before else await mark() if mark is not None else ""
        step = StepRecord(name, before, trace=current_trace())
        await self._journal.record_step(self._agent, message_id, step)
        error: SylkError | None = None
        with effects.within_step() as published:
            try:
                result = await self._tried(function, arguments, retry)
                outcome = Outcome(msgspec.Raw(encode_body(result)))
            except Fenced:
                raise
            except SylkError as raised:
                error, result = raised, None
                outcome = Outcome(failure=Failure.of(raised))
        # What was there before it is for undoing it, which is over.
        step = msgspec.structs.replace(step, before="", finished=True, result=msgspec.msgpack.encode(outcome))
        # Taken before they are written: another step of the handler may be finished meanwhile.
        before_it = effects.take_events()
        events = (*before_it, *published)
        try:
            await self._journal.record_step(self._agent, message_id, step, events)
        except BaseException:
            effects.events[:0] = before_it
            raise
        if events:
            self._happened(self._agent.session)
        assert effects.steps is not None
        effects.steps[name] = step
        if error is not None:
            raise error
        return cast("ResultT", result)

    async def _tried(
        self, function: Callable[..., Awaitable[ResultT]], arguments: tuple[Any, ...], retry: Retry | None
    ) -> ResultT:
        tries = retry or Retry(attempts=1)
        pause = tries.first_s
        for left in range(tries.attempts - 1, -1, -1):
            try:
                return await function(*arguments)
            except SylkError:
                if not left:
                    raise
            await self._clock.sleep(pause)
            pause = min(pause * 2, tries.longest_s)
        raise AssertionError("unreachable")


def _outcome_of(record: StepRecord, result_type: Any) -> Any:
    outcome = msgspec.msgpack.decode(record.result, type=Outcome)
    if outcome.failure is not None:
        raise outcome.failure.error()
    return msgspec.msgpack.decode(outcome.value, type=result_type)


def _returned_by(function: Callable[..., Any]) -> Any:
    """The type that the function's annotation says it returns."""
    return get_type_hints(function).get("return", Any)
