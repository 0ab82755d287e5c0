"""Which roles exist: found through the entry-point group ``sylk.roles``, so a package can add one."""

from __future__ import annotations

import difflib
import logging
from collections.abc import Iterable, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from sylk_ray.messaging import UnknownAddress
from sylk_ray.runtime.agent import Agent

GROUP = "sylk.roles"

log = logging.getLogger("sylk.roles")


class Roles:
    """The agent class of each role. Classes are given as they are or as ``module:Class``."""

    def __init__(self, roles: Mapping[str, type[Agent[Any]] | str]) -> None:
        self._roles: dict[str, type[Agent[Any]]] = {}
        self._broken: dict[str, str] = {}
        for role, given in roles.items():
            try:
                self._roles[role] = _load(given) if isinstance(given, str) else given
            except Exception as problem:
                # One broken package must not keep every cell from starting; whoever addresses the role hears of it.
                log.warning("the role %s (%s) cannot be loaded: %s", role, given, problem)
                self._broken[role] = f"{given} cannot be loaded: {problem}"

    @classmethod
    def installed(cls, extra: Mapping[str, str] | None = None) -> Roles:
        """Every role that an installed package declares, and ``extra`` ones given as ``module:Class``."""
        found = {entry.name: entry.value for entry in entry_points(group=GROUP)}
        return cls({**found, **(extra or {})})

    def __contains__(self, role: str) -> bool:
        return role in self._roles

    def names(self) -> Iterable[str]:
        """The names of all roles."""
        return self._roles.keys()

    def agent_class(self, role: str) -> type[Agent[Any]]:
        """The class of a role; raises UnknownAddress with the nearest known name."""
        try:
            return self._roles[role]
        except KeyError:
            if role in self._broken:
                raise UnknownAddress(f"the role {role!r} is broken: {self._broken[role]}") from None
            near = difflib.get_close_matches(role, self._roles, n=1)
            raise UnknownAddress(
                f"there is no role {role!r}", hint=f"did you mean {near[0]!r}?" if near else "see `sylk ps`"
            ) from None


def _load(target: str) -> type[Agent[Any]]:
    module, _, name = target.partition(":")
    return getattr(import_module(module), name)
