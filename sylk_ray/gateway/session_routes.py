"""Routes about sessions."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Response

from sylk_ray.gateway.answers import answer, documented
from sylk_ray.gateway.front import Front
from sylk_ray.gateway.reach import front_of
from sylk_ray.sessions import SessionRecord
from sylk_ray.sessions.messages import GUIDE, EndSession, ListSessions

Reach = Annotated[Front, Depends(front_of)]

routes = APIRouter(prefix="/sessions", tags=["sessions"])


@routes.get("", responses=documented(list[SessionRecord]))
async def list_sessions(front: Reach, closed: bool = False) -> Response:
    """Every session that is not closed, the newest first; ``closed`` ones as well when asked."""
    return answer(await front.ask(GUIDE, ListSessions(closed)))


@routes.get("/{session}", responses=documented(SessionRecord))
async def get_session(session: str, front: Reach) -> Response:
    """One session, by id or name."""
    return answer(await front.session(session))


@routes.delete("/{session}", responses=documented(SessionRecord))
async def close_session(session: str, front: Reach, delete_branch: bool = False) -> Response:
    """Close a session: cancel its job if it runs, and remove its worktrees. Its branch stays, unless asked."""
    found = await front.session(session)
    return answer(await front.ask(GUIDE, EndSession(found.id, delete_branch), timeout=180))
