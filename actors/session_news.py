"""What becomes of sessions, for whoever watches."""

from __future__ import annotations

from sylk_ray.messaging import SHARED, Event, current_trace
from sylk_ray.runtime import Context
from sylk_ray.runtime.directory import router_of
from sylk_ray.runtime.history import TOPICS, Published
from sylk_ray.sessions import SessionRecord, SessionState

AT_WORK = (SessionState.ACTIVE, SessionState.PAUSED)


def tell_state(session: SessionRecord, ctx: Context) -> None:
    """To ``guide.sessions``, of every session; and to ``session.{id}.status`` where there is someone to write it down.
    It does not wait, and nothing depends on it."""
    told = {
        "id": session.id,
        "name": session.name,
        "state": session.state.value,
        "closed": session.closed,
        "reason": session.reason,
    }
    now, trace = ctx.clock.now(), current_trace()
    everywhere = Event("sessions.state", SHARED, data=told, at=now, trace=trace, by="guide")
    ctx.notify(TOPICS, Published(everywhere, passing=True))
    if session.state in AT_WORK and not session.closed:
        own = Event("session.state", session.id, data=told, at=now, trace=trace, by="guide")
        ctx.notify(router_of(session.id), Published(own))
