"""What a skill is, as data."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal

import msgspec
from pydantic import BaseModel

Tier = Literal["core", "domain", "specialised"]
"""Core skills are always loaded, domain skills with their subject, specialised ones when they are asked for."""


Permission = Literal["filesystem.read", "filesystem.write", "shell", "network", "search", "database", "install"]
"""What a skill may need to be granted where a model calls it."""


class Parameter(msgspec.Struct, frozen=True):
    """One argument of a skill; ``schema`` is its JSON schema."""

    name: str
    schema: dict[str, Any]
    required: bool
    description: str = ""


class Skill(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A function that a model may call. Made by ``@skill``; compared by identity, as functions are."""

    name: str
    description: str
    domain: str
    tier: Tier
    keywords: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    schema: dict[str, Any]
    """The JSON schema of all arguments together, an object."""
    place: str
    """``file:line`` of the function."""
    only_looks: bool = False
    """Whether it changes nothing; such a skill may be used because a keyword of it was said."""
    writes: str = ""
    """The parameter that names the one file that it changes; empty where it may change others."""
    needs: frozenset[Permission] = frozenset()
    function: Callable[..., Awaitable[Any]]
    """Takes a context, and the parameters by their names."""
    arguments: type[BaseModel]
    """What validates a call; a field's alias is the name of its parameter."""

    @property
    def definition(self) -> dict[str, Any]:
        """The skill as it is sent to a model. Providers name the last key differently, and nothing else."""
        return {"name": self.name, "description": self.description, "parameters": self.schema}
