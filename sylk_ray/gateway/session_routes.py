"""Routes about sessions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from sylk_ray.errors import InputError
from sylk_ray.gateway.answers import answer, documented
from sylk_ray.gateway.front import Front
from sylk_ray.gateway.groups import group_with
from sylk_ray.gateway.reach import front_of
from sylk_ray.sessions import SessionRecord
from sylk_ray.sessions.messages import (
    GUIDE,
    CreateSession,
    EndSession,
    GetForeground,
    ListSessions,
    PauseSession,
    ResumeSession,
    SetGroup,
    SwitchSession,
)

Reach = Annotated[Front, Depends(front_of)]
_RESUME_TIMEOUT_S = 120.0

routes = APIRouter(tags=["sessions"])


class Creation(BaseModel):
    """A standing session to make."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(description="Its branch is sylk/NAME.")
    repo: str = Field(description="The repository's absolute path.")
    description: str = ""
    group: dict[str, Any] = Field(
        default={}, description="Its weight and limits; what is left out is as the settings' session_defaults say."
    )


class Pausing(BaseModel):
    """How a session is paused."""

    model_config = ConfigDict(extra="forbid")

    suspend: bool = Field(default=False, description="Put its agents away as well, and free its processes.")
    grace_s: float = Field(default=10.0, ge=0, le=3600, description="How long what runs has, when it is suspended.")


class Switching(BaseModel):
    """Who switches to a session."""

    model_config = ConfigDict(extra="forbid")

    user: str = Field(min_length=1)
    pause: bool = Field(default=False, description="Pause the foreground session before it.")


@routes.get("/sessions", responses=documented(list[SessionRecord]))
async def list_sessions(front: Reach, closed: bool = False) -> Response:
    """Every session that is not closed, the newest first; ``closed`` ones as well when asked."""
    return answer(await front.ask(GUIDE, ListSessions(closed)))


@routes.post("/sessions", status_code=201, responses=documented(SessionRecord, 201))
async def create_session(body: Creation, front: Reach) -> Response:
    """Make a standing session and its branch, for jobs that run in it one after the other."""
    if not Path(body.repo).is_absolute():
        raise InputError(
            f"the repository {body.repo!r} is relative, and the gateway does not know to what",
            hint="give its absolute path as `repo`",
        )
    group = group_with(front.host.settings.session_defaults, body.group)
    message = CreateSession(body.name, body.repo, body.description, group)
    return answer(await front.ask(GUIDE, message, timeout=60), 201)


@routes.get("/sessions/{session}", responses=documented(SessionRecord))
async def get_session(session: str, front: Reach) -> Response:
    """One session, by id or name."""
    return answer(await front.session(session))


@routes.post("/sessions/{session}/pause", responses=documented(SessionRecord))
async def pause(session: str, front: Reach, body: Pausing | None = None) -> Response:
    """Start nothing new in a session; with ``suspend`` it goes on later from its last finished steps."""
    found, how = await front.session(session), body or Pausing()
    message = PauseSession(found.id, how.suspend, how.grace_s)
    try:
        return answer(await front.ask(GUIDE, message, timeout=how.grace_s + 90))
    finally:
        front.hub.look_again(found.id)


@routes.post("/sessions/{session}/resume", responses=documented(SessionRecord))
async def resume(session: str, front: Reach) -> Response:
    """Let a paused or suspended session go on; its job may have to stand in line."""
    found = await front.session(session)
    try:
        return answer(await front.ask(GUIDE, ResumeSession(found.id), timeout=_RESUME_TIMEOUT_S))
    finally:
        front.hub.look_again(found.id)


@routes.post("/sessions/{session}/switch", responses=documented(SessionRecord))
async def switch(session: str, front: Reach, body: Switching) -> Response:
    """Make a session a person's foreground session."""
    found = await front.session(session)
    try:
        return answer(await front.ask(GUIDE, SwitchSession(found.id, body.user, body.pause)))
    finally:
        if body.pause:
            front.hub.look_again()


@routes.get("/foreground", responses=documented(SessionRecord | None))
async def foreground(front: Reach, user: Annotated[str, Query(min_length=1)]) -> Response:
    """A person's foreground session, or null."""
    return answer(await front.ask(GUIDE, GetForeground(user)))


@routes.patch("/sessions/{session}/group", responses=documented(SessionRecord))
async def change_group(
    session: str,
    front: Reach,
    changes: Annotated[dict[str, Any], Body(description="Fields of the session's group; null lifts a limit.")],
) -> Response:
    """Change some of a session's weight and limits, now; the others stay."""
    async with front.changing:
        found = await front.session(session)
        return answer(await front.ask(GUIDE, SetGroup(found.id, group_with(found.group, changes))))


@routes.delete("/sessions/{session}", responses=documented(SessionRecord))
async def close_session(session: str, front: Reach, delete_branch: bool = False) -> Response:
    """Close a session: cancel its job if it runs, and remove its worktrees. Its branch stays, unless asked."""
    found = await front.session(session)
    return answer(await front.ask(GUIDE, EndSession(found.id, delete_branch), timeout=180))
