"""Asking what is known of a codebase, from any agent and from the gateway."""

from __future__ import annotations

from typing import Protocol, TypeVar

import msgspec

from sylk_ray.codebase.requests import AnyAnswer, AnyRequest, Forget, Index, Recall, Search, SmartSearch, Vacuum, Verify
from sylk_ray.codebase.serving.frames import Failed
from sylk_ray.messaging import SHARED, Address, CellLost, Message, Request, said_by
from sylk_ray.runtime.directory import GATE

KNOWLEDGE = Address(SHARED, "knowledge", "main")
PATIENCE_S = 60.0
LONG_S = 3600.0
"""For what goes through a whole repository, or all that is known."""

ReplyT = TypeVar("ReplyT")


class CodebaseAnswer(msgspec.Struct, frozen=True):
    """What came of a request: an answer, or the error with its own code, whose class may be unknown to who asked."""

    answer: AnyAnswer | Failed


class AskCodebase(Request[CodebaseAnswer], frozen=True):
    """Ask whoever owns what is known of codebases. No request does more when it is made twice."""

    flow = said_by("any", to=("knowledge", "gate"))

    request: AnyRequest


class Leased(msgspec.Struct, frozen=True):
    """What the owner grants to a reader of its gate: ``granted`` is for ``RemoteGate.accept``, with the snapshots that
    are on the shelf of ``cell``: their names by domain."""

    granted: bytes = b""
    cell: str = ""
    snapshots: dict[str, str] = {}


class RenewLease(Request[Leased], frozen=True):
    """A cell's gate to the owner: ``RemoteGate.renewal``. Empty when another process owns the knowledge."""

    flow = said_by("gate", to="knowledge")

    asked: bytes


class GateConfirms(Message, frozen=True):
    """A cell's gate to the owner: what it knows of by now. Bytes are those of ``RemoteGate``."""

    flow = said_by("gate", to="knowledge")

    said: bytes


class GateChanged(Message, frozen=True):
    """The owner to the gates of cells: what was just written. For ``RemoteGate.follow``."""

    flow = said_by("knowledge", to="gate")

    pushed: bytes


class Asking(Protocol):
    """``Context.ask``, ``Front.ask``."""

    async def __call__(self, target: Address, message: Request[ReplyT], *, timeout: float) -> ReplyT: ...


def gate_of(cell: str) -> Address:
    """The agent that answers a cell's searches where there is nothing to be found."""
    return Address(SHARED, GATE, cell)


def takes_long(request: AnyRequest) -> bool:
    """Whether it may take minutes."""
    return isinstance(request, Index | Forget | Verify | Vacuum)


async def ask_codebase(ask: Asking, request: AnyRequest, *, cell: str = "", timeout: float | None = None) -> AnyAnswer:
    """The answer, within ``timeout`` seconds: by default a minute, or an hour for what takes long.

    ``cell`` is where who asks lives: there a search for what is nowhere is answered, and goes no further. Raises the
    SylkError that the request led to, and a DeliveryError or PlacementFailed when the knowledge agent cannot be
    reached. If its cell dies meanwhile another one is asked, once.
    """
    patience = timeout or (LONG_S if takes_long(request) else PATIENCE_S)
    message = AskCodebase(request)
    target = gate_of(cell) if cell and isinstance(request, Search | SmartSearch | Recall) else KNOWLEDGE
    try:
        told = await ask(target, message, timeout=patience)
    except CellLost:
        told = await ask(target, message, timeout=patience)
    if isinstance(told.answer, Failed):
        raise told.answer.error()
    return told.answer
