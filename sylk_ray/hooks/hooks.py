"""The hooks that there are, and running those of a point."""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

from sylk_ray.dag import did_you_mean
from sylk_ray.hooks.deadline import DeadlinePassed, WasCancelled, within
from sylk_ray.hooks.errors import Abort, Aborted, HookFailed, InvalidHook, UnknownHook
from sylk_ray.hooks.model import Hook, HookContext
from sylk_ray.hooks.payloads import Payload
from sylk_ray.hooks.record import HookStatistics
from sylk_ray.runtime.clock import Clock, SystemClock

PayloadT = TypeVar("PayloadT", bound=Payload)

MAX_STUCK = 8
"""How many runs of a hook may be stuck before it is no longer called, until one of them ends."""

log = logging.getLogger("sylk.hooks")


class _Added:
    """A hook with its books."""

    def __init__(self, hook: Hook[Any]) -> None:
        self.hook = hook
        self.context = HookContext(hook.name, hook.point.point, hook.deadline_s)
        self.record = HookStatistics(hook.name, hook.point.point)
        self.stuck: set[asyncio.Future[Any]] = set()


class Hooks:
    """``switches`` says by name which hooks are on; it is looked at in every run, so that changing it acts at once.

    ``clock`` is for the deadlines, ``timer`` for measuring.
    """

    def __init__(
        self,
        switches: Mapping[str, bool] | None = None,
        *,
        clock: Clock | None = None,
        timer: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._switches: Mapping[str, bool] = {} if switches is None else switches
        self._clock = SystemClock() if clock is None else clock
        self._timer = timer
        self._added: dict[str, _Added] = {}
        self._chains: dict[type[Payload], tuple[_Added, ...]] = {}

    def add(self, hook: Hook[Any]) -> None:
        """Raises InvalidHook when there is one of that name."""
        if hook.name in self._added:
            raise InvalidHook(f"there are two hooks called {hook.name!r}", hint="rename one of them: @hook(name=...)")
        added = self._added[hook.name] = _Added(hook)
        chain = [*self._chains.get(hook.point, ()), added]
        self._chains[hook.point] = tuple(sorted(chain, key=lambda each: each.hook.priority))

    def remove(self, name: str) -> None:
        """A run that is under way goes on with it. Raises UnknownHook."""
        if name not in self._added:
            raise self._unknown(name)
        point = self._added.pop(name).hook.point
        self._chains[point] = tuple(each for each in self._chains[point] if each.hook.name != name)

    def check_switches(self) -> None:
        """Raises UnknownHook for a switch of a hook that is not there; for when all have been added."""
        for name in self._switches:
            if name not in self._added:
                raise self._unknown(name)

    def all(self) -> list[tuple[Hook[Any], bool]]:
        """Every hook, in the order in which they run at their points, and whether it is on."""
        return [(each.hook, self._is_on(each)) for chain in self._chains.values() for each in chain]

    def statistics(self) -> list[HookStatistics]:
        """Of every hook, in the order in which they were added."""
        return [
            msgspec.structs.replace(each.record, enabled=self._is_on(each), stuck=len(each.stuck))
            for each in self._added.values()
        ]

    async def run(self, payload: PayloadT) -> PayloadT:
        """What the hooks of its point make of a payload. Raises Aborted or HookFailed; the rest do not run then."""
        for added in self._chains.get(type(payload), ()):
            if self._is_on(added):
                payload = await self._run(added, payload)
        return payload

    async def _run(self, added: _Added, payload: PayloadT) -> PayloadT:
        hook, record = added.hook, added.record
        started = self._timer()
        try:
            changed = await self._call(added, payload)
        except Abort as abort:
            record.aborts += 1
            raise Aborted(abort.reason, hint=f"the hook {hook.name!r} at {hook.point.point} said no") from None
        except Exception as problem:
            record.failed(told := _told(problem, hook))
            log.warning("the hook %s at %s failed: %s", hook.name, hook.point.point, told)
            if hook.on_failure == "open":
                return payload
            raise HookFailed(
                f"the hook {hook.name!r} at {hook.point.point} failed: {told}",
                hint=f"correct it, or switch off {hook.name!r} in the settings",
            ) from problem
        finally:
            record.ran(self._timer() - started)
        if changed is None:
            return payload
        record.changed += 1
        return changed

    async def _call(self, added: _Added, payload: PayloadT) -> PayloadT | None:
        if len(added.stuck) >= MAX_STUCK:
            raise _Stuck(f"it is not called while {len(added.stuck)} earlier runs have not ended")
        try:
            answer = added.hook.function(payload, added.context)
        except asyncio.CancelledError as cancelled:  # its own: nothing is awaited here
            raise WasCancelled from cancelled
        if inspect.isawaitable(answer):
            answer = await within(added.hook.deadline_s, answer, self._clock, added.stuck)
        if answer is not None and type(answer) is not type(payload):
            raise _WrongType(f"it returned a {type(answer).__name__} instead of a {type(payload).__name__}")
        return answer

    def _is_on(self, added: _Added) -> bool:
        return self._switches.get(added.hook.name, added.hook.enabled)

    def _unknown(self, name: str) -> UnknownHook:
        return UnknownHook(f"there is no hook {name!r}", hint=did_you_mean(name, self._added))


class _WrongType(Exception):
    """A hook returned something else than its payload."""


class _Stuck(Exception):
    """Too many runs of a hook have not ended."""


def _told(problem: Exception, hook: Hook[Any]) -> str:
    if isinstance(problem, DeadlinePassed):
        return f"it did not end within {hook.deadline_s:g} s"
    if isinstance(problem, WasCancelled):
        return "it was cancelled"
    if isinstance(problem, _WrongType | _Stuck):
        return str(problem)
    return f"{type(problem).__name__}: {problem}"
