"""Whom a session knows beyond the agents that every session has, and the routes that all sessions share."""

from __future__ import annotations

from sylk_ray.messaging import Address, Message, Request, said_by
from sylk_ray.routing import Route


class RegisterAgent(Request[None], frozen=True):
    """To a session's router (of one of its agents), or to the Guide (of a shared one): it can be spoken to by this name
    from now on. Registered again, it has moved."""

    flow = said_by("any", to=("router", "guide"))

    name: str
    address: Address


class UnregisterAgent(Request[bool], frozen=True):
    """It can be spoken to no more; whether there was one of that name."""

    flow = said_by("any", to=("router", "guide"))

    name: str


class ListAgents(Request[dict[str, str]], frozen=True):
    """Whom one can speak to there, and what each is for."""

    flow = said_by("any", to=("router", "guide"))


class LearnRoute(Message, frozen=True):
    """A session's router to the Guide: this text was classified, for whoever says it next."""

    flow = said_by("router", to="guide")

    text: str
    route: Route


class GetSharedRoutes(Request[dict[str, Route]], frozen=True):
    """To the Guide: the routes that were learnt in all sessions, the latest at the end."""

    flow = said_by("router", to="guide")


class KnownRoutes:
    """A copy of the shared routes, to look at."""

    def __init__(self, routes: dict[str, Route] | None = None) -> None:
        self._routes = routes or {}

    def replace(self, routes: dict[str, Route]) -> None:
        """By a newer copy."""
        self._routes = {" ".join(text.split()): route for text, route in routes.items()}

    def peek(self, text: str) -> Route | None:
        """The route of a text, if it is known."""
        return self._routes.get(" ".join(text.split()))
