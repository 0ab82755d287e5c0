"""Hooks of installed packages: the entry-point group ``sylk.hooks`` names a module, or one hook in it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Any

from sylk_ray.errors import SylkError
from sylk_ray.hooks.hooks import Hooks
from sylk_ray.hooks.model import Hook
from sylk_ray.runtime.clock import Clock

GROUP = "sylk.hooks"

log = logging.getLogger("sylk.hooks")


def installed_hooks(switches: Mapping[str, bool], *, clock: Clock | None = None) -> Hooks:
    """Every hook that an installed package declares, with books of their own; what is broken keeps no other out.

    A switch for a hook that is not there is only logged: the package that had it may have been uninstalled."""
    hooks = Hooks(switches, clock=clock)
    for each in _declared():
        try:
            hooks.add(each)
        except SylkError as problem:
            log.warning("%s", problem)
    try:
        hooks.check_switches()
    except SylkError as problem:
        log.warning("%s%s", problem, f" ({problem.hint})" if problem.hint else "")
    return hooks


def runtime_hooks(switches: Mapping[str, bool]) -> Hooks:
    """The hooks of this process, made once; ``switches`` are those of the settings."""
    return _made(tuple(sorted(switches.items())))


@cache
def _made(switches: tuple[tuple[str, bool], ...]) -> Hooks:
    return installed_hooks(dict(switches))


@cache
def _declared() -> tuple[Hook[Any], ...]:
    """Read once a process."""
    found: list[Hook[Any]] = []
    for entry in entry_points(group=GROUP):
        try:
            found += _of(entry)
        except Exception as problem:
            log.warning("the hooks of %s cannot be loaded: %s", entry.value, problem)
    return tuple(found)


def _of(entry: EntryPoint) -> list[Hook[Any]]:
    loaded: Any = entry.load()
    members: list[Any] = list(vars(loaded).values()) if isinstance(loaded, ModuleType) else [loaded]
    found: list[Hook[Any]] = [each for each in members if isinstance(each, Hook)]
    if not found:
        raise TypeError("it has no hook")
    return found
