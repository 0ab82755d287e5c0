"""What can be asked of the fleet, besides where an agent lives (see ``directory``)."""

from __future__ import annotations

import msgspec

from sylk_ray.messaging import Message, Request
from sylk_ray.runtime.directory import SessionBinding
from sylk_ray.runtime.slots import AgentInfo


class OpenSession(Request[SessionBinding], frozen=True):
    """Give a session a place: its home cell, or its placement group and cells of its own."""

    session: str


class CloseSession(Request[None], frozen=True):
    """Put the session's agents away everywhere, and give its resources back."""

    session: str


class ReleaseGroup(Message, frozen=True):
    """The agents of a session that share this name are done with."""

    session: str
    name: str


class CellStatus(msgspec.Struct, frozen=True):
    """A cell as ``sylk status`` and ``sylk ps`` show it. ``blocked_by`` is the agent that holds its loop."""

    cell: str
    title: str
    pid: int
    node: str
    sessions: list[str]
    agents: int
    blocked_by: str
    warm: bool = False


class Census(msgspec.Struct, frozen=True):
    """All cells and agents at one moment; ``silent`` cells did not answer in time."""

    cells: list[CellStatus]
    agents: list[AgentInfo]
    silent: list[str] = []


class TakeCensus(Request[Census], frozen=True):
    """Ask every cell who lives there."""


class CellDied(Message, frozen=True):
    """The fleet tells the Guide that a cell died, and which sessions had agents on it."""

    cell: str
    sessions: list[str]


class ShutDown(Request[None], frozen=True):
    """End every cell except the fleet's own and the gateway's, in order."""

    grace_s: float = 5.0
