"""Routes about what is said: to a session, or to the runtime as a whole."""

from __future__ import annotations

from typing import Annotated, TypeVar

from fastapi import APIRouter, Depends, Response
from pydantic import BaseModel, ConfigDict, Field

from sylk_ray.gateway.answers import answer, documented
from sylk_ray.gateway.front import Front
from sylk_ray.gateway.reach import front_of
from sylk_ray.messaging import SessionClosed, UnknownAddress
from sylk_ray.messaging.message import Request
from sylk_ray.runtime.directory import router_of
from sylk_ray.sessions import SessionRecord, SessionState
from sylk_ray.sessions.messages import GUIDE
from sylk_ray.sessions.records import IllegalSessionState
from sylk_ray.speech.messages import Said, Say, SayAtRest
from sylk_ray.speech.metrics import (
    GetGlobalRouteMetrics,
    GetRouteMetrics,
    GlobalRouteMetrics,
    SessionRouteMetrics,
)
from sylk_ray.speech.registry import ListAgents

Reach = Annotated[Front, Depends(front_of)]

ReplyT = TypeVar("ReplyT")

routes = APIRouter(tags=["conversation"])


class Saying(BaseModel):
    """Something that a person, or a program for one, says."""

    model_config = ConfigDict(extra="forbid")

    text: str = Field(
        min_length=1,
        max_length=100_000,
        description='Words, `@to:<agent> "..."`, `@broadcast:<a>,<b> "..."`, `/task <name> <action>`, or a /command.',
    )
    timeout_s: float = Field(default=60.0, gt=0, le=600, description="How long an answer may take.")


class NobodyHome(IllegalSessionState):
    """Something was said to a session whose agents are put away."""

    code = "session_not_at_work"


@routes.post("/say", responses=documented(Said))
async def say(body: Saying, front: Reach) -> Response:
    """Say something to the runtime as a whole: its Guide answers."""
    message = Say(body.text, timeout_s=body.timeout_s)
    return answer(await front.ask(GUIDE, message, timeout=body.timeout_s + 5))


@routes.post("/sessions/{session}/say", responses=documented(Said))
async def say_to_session(session: str, body: Saying, front: Reach) -> Response:
    """Say something to a session: its router finds whom it is for. What an agent could not answer is in `answers`. For
    one whose agents are put away the Guide tells how things stand."""
    message = Say(body.text, timeout_s=body.timeout_s)
    # Known by its id, and spoken to before: one hop less.
    known = front.host.directory.binding(session) is not None
    try:
        if known:
            return answer(await front.ask(router_of(session), message, timeout=body.timeout_s + 5))
    except UnknownAddress:
        front.host.directory.unbind(session)
    except SessionClosed as error:
        raise await _put_away(session, front) from error
    record = await front.session(session)
    try:
        return answer(await front.ask(router_of(record.id), message, timeout=body.timeout_s + 5))
    except SessionClosed as error:
        raise await _put_away(record.id, front) from error
    except UnknownAddress:
        at_rest = SayAtRest(record.id, body.text, body.timeout_s)
        return answer(await front.ask(GUIDE, at_rest, timeout=body.timeout_s + 5))


@routes.get("/sessions/{session}/agents", responses=documented(dict[str, str]))
async def agents(session: str, front: Reach) -> Response:
    """Whom one can speak to in a session, and what each is for."""
    return answer(await _ask(await front.session(session), ListAgents(), front))


@routes.get("/sessions/{session}/routing", responses=documented(SessionRouteMetrics))
async def routing(session: str, front: Reach) -> Response:
    """How routing has gone in a session: counts, caches, what is pending, how well each agent answers, the hooks."""
    return answer(await _ask(await front.session(session), GetRouteMetrics(), front))


@routes.get("/routing", responses=documented(GlobalRouteMetrics))
async def global_routing(front: Reach) -> Response:
    """How routing has gone everywhere."""
    return answer(await front.ask(GUIDE, GetGlobalRouteMetrics()))


async def _ask(session: SessionRecord, message: Request[ReplyT], front: Front, timeout: float = 30.0) -> ReplyT:
    try:
        return await front.ask(router_of(session.id), message, timeout)
    except SessionClosed as error:
        raise await _put_away(session.id, front) from error
    except UnknownAddress as error:
        raise _nobody_home(session) from error


async def _put_away(session: str, front: Front) -> NobodyHome:
    """It may have been taken already: to say it once more could do it twice."""
    front.host.directory.unbind(session)
    record = await front.session(session)
    if record.over or record.state is SessionState.SUSPENDED:
        return _nobody_home(record)
    return NobodyHome(
        f"session {record.name} was put away, or moved, while this was said to it", hint="see whether it was done"
    )


def _nobody_home(session: SessionRecord) -> NobodyHome:
    return NobodyHome(
        f"nobody is at work in session {session.name}: it is {'closed' if session.closed else session.state}",
        hint="what a session came to is in `sylk jobs`; `sylk resume` lets a suspended one go on",
    )
