"""Asking an agent whether it lives, and what is known of all that the system needs."""

from __future__ import annotations

from typing import Literal

import msgspec

from sylk_ray.messaging import Request, said_by

Condition = Literal["starting", "healthy", "silent", "failing"]


class Ping(Request[None], frozen=True):
    """Every agent answers it, once it is active."""

    flow = said_by("any", to="any")


class AgentHealth(msgspec.Struct, frozen=True):
    """One system agent. Without a ``needed`` one nothing goes; without another declared work still does.

    ``since`` is Unix time in seconds; ``failures`` counts failed looks in a row.
    """

    agent: str
    needed: bool
    condition: Condition
    since: float
    problem: str = ""
    failures: int = 0


class GetHealth(Request[list[AgentHealth]], frozen=True):
    """Ask the coordinator how the system's agents are, in the order in which they are started."""

    flow = said_by("user", to="coordinator")
