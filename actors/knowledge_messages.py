"""Asking what is known of a codebase, from any agent and from the gateway."""

from __future__ import annotations

from typing import Protocol, TypeVar

import msgspec

from sylk_ray.codebase.requests import AnyAnswer, AnyRequest, Forget, Index, Vacuum, Verify
from sylk_ray.codebase.serving.frames import Failed
from sylk_ray.messaging import SHARED, Address, CellLost, Request, said_by

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

    flow = said_by("any", to="knowledge")

    request: AnyRequest


class Asking(Protocol):
    """``Context.ask``, ``Front.ask``."""

    async def __call__(self, target: Address, message: Request[ReplyT], *, timeout: float) -> ReplyT: ...


def takes_long(request: AnyRequest) -> bool:
    """Whether it may take minutes."""
    return isinstance(request, Index | Forget | Verify | Vacuum)


async def ask_codebase(ask: Asking, request: AnyRequest, *, timeout: float | None = None) -> AnyAnswer:
    """The answer, within ``timeout`` seconds: by default a minute, or an hour for what takes long.

    Raises the SylkError that the request led to, and a DeliveryError or PlacementFailed when the knowledge agent cannot
    be reached. If its cell dies meanwhile another one is asked, once.
    """
    patience = timeout or (LONG_S if takes_long(request) else PATIENCE_S)
    message = AskCodebase(request)
    try:
        told = await ask(KNOWLEDGE, message, timeout=patience)
    except CellLost:
        told = await ask(KNOWLEDGE, message, timeout=patience)
    if isinstance(told.answer, Failed):
        raise told.answer.error()
    return told.answer
