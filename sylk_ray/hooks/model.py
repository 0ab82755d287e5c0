"""What a hook is: a function at a point, and how it is treated."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from math import isfinite
from typing import Any, Generic, Literal, TypeVar

import msgspec

from sylk_ray.hooks.errors import InvalidHook
from sylk_ray.hooks.payloads import POINTS, Payload

PayloadT = TypeVar("PayloadT", bound=Payload)
FailureMode = Literal["open", "closed"]
"""What a failed hook means: that it is passed over, or that what its point stands before does not happen."""


class HookContext(msgspec.Struct, frozen=True):
    """What a hook is told beside its payload."""

    hook: str
    point: str
    deadline_s: float


class Hook(msgspec.Struct, Generic[PayloadT], frozen=True, kw_only=True, eq=False):
    """Made by ``@hook``. Raises InvalidHook."""

    name: str
    point: type[PayloadT]
    function: Callable[[PayloadT, HookContext], PayloadT | Awaitable[PayloadT | None] | None]
    priority: int = 100
    """The lowest runs first."""
    deadline_s: float = 1.0
    on_failure: FailureMode = "open"
    enabled: bool = True
    """Whether it runs when the settings do not say."""

    def __post_init__(self) -> None:
        if POINTS.get(getattr(self.point, "point", "")) is not self.point:
            raise InvalidHook(f"the hook {self.name!r} is at no point", hint=f"one of {', '.join(sorted(POINTS))}")
        if not (isfinite(self.deadline_s) and self.deadline_s > 0):
            raise InvalidHook(
                f"the deadline of the hook {self.name!r} is {self.deadline_s}", hint="give seconds above 0"
            )
        if self.on_failure not in ("open", "closed"):
            raise InvalidHook(f"the hook {self.name!r} fails {self.on_failure!r}", hint='"open" or "closed"')


def hook(
    point: type[PayloadT],
    *,
    name: str = "",
    priority: int = 100,
    deadline_s: float = 1.0,
    on_failure: FailureMode = "open",
    enabled: bool = True,
) -> Callable[[Callable[[PayloadT, HookContext], Any]], Hook[PayloadT]]:
    """Make a function a hook, named after it (with ``-`` for ``_``) unless ``name`` says otherwise."""

    def make(function: Callable[[PayloadT, HookContext], Any]) -> Hook[PayloadT]:
        return Hook(
            name=name or function.__name__.replace("_", "-"),
            point=point,
            function=function,
            priority=priority,
            deadline_s=deadline_s,
            on_failure=on_failure,
            enabled=enabled,
        )

    return make
