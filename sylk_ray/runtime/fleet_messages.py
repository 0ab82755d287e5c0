"""What can be asked of the fleet, besides where an agent lives (see ``directory``)."""

from __future__ import annotations

import msgspec

from sylk_ray.fairness import Group
from sylk_ray.messaging import Message, Request, said_by
from sylk_ray.runtime.directory import SessionBinding
from sylk_ray.runtime.slots import AgentInfo


class OpenSession(Request[SessionBinding], frozen=True):
    """Give a session a place: its home cell, or its placement group and cells of its own; one that has a place keeps
    it. With ``recover`` what waits in its journal is sent to its agents again. A placement group reserves what
    ``group`` says of CPUs and memory, beside what the cells need."""

    flow = said_by("guide", to="fleet")

    session: str
    recover: bool = False
    group: Group = Group()


class CloseSession(Request[None], frozen=True):
    """Put the session's agents away everywhere, and give its resources back."""

    flow = said_by("guide", to="fleet")

    session: str


class SuspendSession(Request[None], frozen=True):
    """Put the session's agents away everywhere, so that they can go on later: what they are at may end within
    ``grace_s`` seconds."""

    flow = said_by("guide", to="fleet")

    session: str
    grace_s: float


class Resources(msgspec.Struct, frozen=True):
    """What the cluster has, and the sessions that are open in it."""

    cpus: float
    sessions: list[str]


class GetResources(Request[Resources], frozen=True):
    """Ask the fleet what there is."""

    flow = said_by("guide", "fair_share", to="fleet")


class ReleaseGroup(Message, frozen=True):
    """The agents of a session that share this name are done with."""

    flow = said_by("router", to="fleet")

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

    flow = said_by("user", to="fleet")


class CellDied(Message, frozen=True):
    """The fleet tells the Guide that a cell died, and which sessions had agents on it; it brings them back itself."""

    flow = said_by("fleet", to="guide")

    cell: str
    sessions: list[str]


class SessionLost(Message, frozen=True):
    """The fleet tells the Guide that a session cannot be brought back: now, or ``for_good``."""

    flow = said_by("fleet", to="guide")

    session: str
    why: str
    for_good: bool


class ShutDown(Request[None], frozen=True):
    """End every cell except the fleet's own and the gateway's, in order."""

    flow = said_by("coordinator", to="fleet")

    grace_s: float = 5.0
