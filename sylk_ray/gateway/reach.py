"""How a route gets to the agents."""

from __future__ import annotations

from fastapi import Request

from sylk_ray.gateway.front import Front


def front_of(request: Request) -> Front:
    """The application's Front."""
    front: Front = request.app.state.front
    return front
