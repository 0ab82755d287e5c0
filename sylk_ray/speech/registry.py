"""Whom a session knows beyond the agents that every session has, and the routes that all sessions share."""

from __future__ import annotations

import hashlib

from sylk_ray.messaging import Address, Message, Request, said_by
from sylk_ray.routing import INTENTS, Route
from sylk_ray.routing.route_cache import same_text


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
    """A session's router to the Guide: a text was understood, for whoever says the same. The text itself stays in its
    session: ``key`` is what is made of it by ``key_of``."""

    flow = said_by("router", to="guide")

    key: str
    route: Route


class GetSharedRoutes(Request[dict[str, Route]], frozen=True):
    """To the Guide: the routes that were learnt in all sessions, by key, the latest first."""

    flow = said_by("router", to="guide")


class KnownRoutes:
    """A copy of the shared routes, to look at."""

    def __init__(self) -> None:
        self._routes: dict[str, Route] = {}

    def replace(self, routes: dict[str, Route]) -> None:
        """By a newer copy."""
        self._routes = routes

    def peek(self, text: str) -> Route | None:
        """The route of a text, if it is known."""
        return self._routes.get(key_of(text)) if self._routes else None


def shareable(route: Route) -> Route | None:
    """What other sessions may know of a route: whom such a text is for, and nothing of what it is about. None where
    that would be of no use, as it is about something that its agent must know."""
    if route.target in INTENTS:
        return None
    return Route(target=route.target, confidence=route.confidence, reasons=("such a text went there before",))


def key_of(text: str) -> str:
    """The same for a text with other spaces, and of no use to whoever wants to know the text."""
    return hashlib.blake2b(same_text(text).encode("utf-8", "replace"), digest_size=16).hexdigest()
