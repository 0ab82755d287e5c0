"""Routes about a session's dead letters: messages that its agents could not handle, or that never reached them."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Depends, Response

from sylk_ray.gateway.answers import NotFound, answer, documented
from sylk_ray.gateway.front import Front
from sylk_ray.gateway.reach import front_of
from sylk_ray.messaging import SessionClosed, UnknownAddress
from sylk_ray.runtime.dead_letters import (
    DropDeadLetter,
    LetterView,
    ListDeadLetters,
    RetryDeadLetter,
    view_of,
)
from sylk_ray.runtime.journal import DeadLetter, read_dead_letters
from sylk_ray.sessions import SessionRecord, SessionState
from sylk_ray.sessions.records import IllegalSessionState

Reach = Annotated[Front, Depends(front_of)]

routes = APIRouter(prefix="/sessions/{session}/dead-letters", tags=["dead letters"])


class SessionNotOpen(IllegalSessionState):
    """A session's agents are not there to take a message."""

    code = "session_not_open"


@routes.get("", responses=documented(list[LetterView]))
async def list_letters(session: str, front: Reach) -> Response:
    """The dead letters of any session, the oldest first, without their messages."""
    return answer([view_of(letter) for letter in await _letters(await front.session(session), front)])


@routes.get("/{letter}", responses=documented(LetterView))
async def show_letter(session: str, letter: str, front: Reach) -> Response:
    """One dead letter with its message."""
    return answer(view_of(await _letter(await front.session(session), letter, front), whole=True))


@routes.post("/{letter}/retry", responses=documented(LetterView))
async def retry_letter(session: str, letter: str, front: Reach) -> Response:
    """Send a dead letter once more; it comes back when it cannot be handled again."""
    return await _sent(session, letter, RetryDeadLetter(letter), front)


@routes.delete("/{letter}", responses=documented(LetterView))
async def drop_letter(session: str, letter: str, front: Reach) -> Response:
    """Forget a dead letter."""
    return await _sent(session, letter, DropDeadLetter(letter), front)


async def _sent(session: str, letter: str, message: RetryDeadLetter | DropDeadLetter, front: Front) -> Response:
    record = await front.session(session)
    found = await _letter(record, letter, front)
    try:
        there_was = await front.ask_router(record.id, message)
    except (UnknownAddress, SessionClosed) as error:
        raise _not_open(record) from error
    if not there_was:
        raise _unknown(record, letter)
    return answer(view_of(found, whole=True))


async def _letter(session: SessionRecord, letter: str, front: Front) -> DeadLetter:
    for each in await _letters(session, front):
        if each.mail.id == letter:
            return each
    raise _unknown(session, letter)


async def _letters(session: SessionRecord, front: Front) -> list[DeadLetter]:
    try:
        return await front.ask_router(session.id, ListDeadLetters())
    except (UnknownAddress, SessionClosed):
        return await asyncio.to_thread(read_dead_letters, front.directory(session.id).journal)


def _unknown(session: SessionRecord, letter: str) -> NotFound:
    return NotFound(
        f"session {session.name} has no dead letter {letter!r}", hint=f"see `sylk dead-letters list {session.name}`"
    )


def _not_open(session: SessionRecord) -> SessionNotOpen:
    state = "closed" if session.closed else str(session.state)
    if session.over:
        hint = "its dead letters can be looked at, and not sent again"
    elif session.state in (SessionState.SUSPENDED, SessionState.PAUSED):
        hint = f"`sylk session resume {session.name}` first"
    else:
        hint = "its agents live while it has a job at work: submit one to it, and try again"
    return SessionNotOpen(f"session {session.name} is {state}, and its agents are not there", hint=hint)
