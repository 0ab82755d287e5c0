"""The route to what is published."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query
from fastapi.responses import StreamingResponse

from sylk_ray.errors import InputError
from sylk_ray.fairness import Lane
from sylk_ray.gateway.answers import documented_as
from sylk_ray.gateway.cursor import Cursor
from sylk_ray.gateway.front import Front
from sylk_ray.gateway.reach import front_of
from sylk_ray.gateway.topic_stream import TopicStream
from sylk_ray.messaging.subscriptions import Filter

Reach = Annotated[Front, Depends(front_of)]

routes = APIRouter(tags=["topics"])


@routes.get("/topics", response_class=StreamingResponse, responses=documented_as("text/event-stream", "Events."))
async def topics(
    front: Reach,
    pattern: Annotated[str, Query(description="`session.*.status`; * is one part, a # at the end any number.")] = "#",
    kinds: Annotated[list[str] | None, Query(description="Only of these kinds, as `job.finished`.")] = None,
    sessions: Annotated[list[str] | None, Query(description="Only of these sessions, by id or name.")] = None,
    priority: Annotated[str, Query(description="No less urgent than this lane, as `high`.")] = "background",
    after: Annotated[str, Query(description="Begin after this cursor; `0` is the beginning, empty is now.")] = "",
    follow: Annotated[bool, Query(description="false ends after the events so far.")] = True,
    last_event_id: Annotated[str | None, Header(description="The cursor, as EventSource sends it.")] = None,
) -> StreamingResponse:
    """What is published to the topics of a pattern, in all sessions, also those that are yet to come
    (text/event-stream): `id` is a cursor over all of them, `event` the kind, `data` the event as JSON with its topic,
    session and sequence. The events of a session are in order. It does not end by itself; `stream.ended` asks to come
    back with the last id. `stream.unreadable` names a session whose history cannot be read now; it is tried again.
    `stream.dropped` tells how many passing events were left out because there were too many; no kept one is missing."""
    wanted = Filter(
        frozenset([(await front.session(each)).id for each in sessions or ()]), frozenset(kinds or ()), _lane(priority)
    )
    given = last_event_id or after
    stream = TopicStream(front, pattern, wanted, Cursor.parse(given) if given else None, follow=follow)
    return StreamingResponse(stream.frames(), media_type="text/event-stream", headers={"Cache-Control": "no-store"})


def _lane(name: str) -> Lane:
    lane = Lane.__members__.get(name.upper())
    if lane is None:
        known = ", ".join(each.lower() for each in Lane.__members__)
        raise InputError(f"there is no priority {name!r}", hint=f"one of {known}")
    return lane
