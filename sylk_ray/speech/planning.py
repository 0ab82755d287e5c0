"""What an utterance asks for: which message to whom. Decides and sends nothing."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Literal, NamedTuple

import msgspec

from sylk_ray.messaging import Request
from sylk_ray.routing import (
    INTENTS,
    TARGETS,
    Broadcast,
    Command,
    Directed,
    FreeText,
    Route,
    RouteCache,
    SlashCommand,
    TaskCommand,
    Utterance,
    classify,
)
from sylk_ray.speech.errors import AgentNotHere, NeedsModel
from sylk_ray.speech.messages import CallSkill, Hear, Heard
from sylk_ray.speech.receivers import Receiver, Receivers
from sylk_ray.speech.tasks import message_of

Kind = Literal["directed", "broadcast", "task", "command", "free"]

ORCHESTRATOR = "orchestrator"


class Delivery(NamedTuple):
    """One message, and whom it is for."""

    receiver: Receiver
    message: Request[Heard]


class Plan(NamedTuple):
    """All that an utterance comes to. ``route`` is what was understood of its words."""

    kind: Kind
    deliveries: tuple[Delivery, ...]
    route: Route
    cached: bool = False
    text: str = ""
    """What was said, as the hooks left it."""


class Planner:
    """Of one session. ``learnt`` is told of routes that were not known before; ``now`` gives the local time."""

    def __init__(
        self,
        receivers: Receivers,
        cache: RouteCache,
        *,
        now: Callable[[], datetime],
        learnt: Callable[[str, Route], None] = lambda text, route: None,
    ) -> None:
        self._receivers = receivers
        self._cache = cache
        self._now = now
        self._learnt = learnt

    def plan(self, utterance: Utterance, said_by: str = "") -> Plan:
        """Raises NobodyOfThatName, AgentNotHere and NeedsModel."""
        match utterance:
            case Directed("from", agent, text):
                return self._free(text, agent)
            case Directed(_, agent, text):
                return self._to((agent,), text, "directed", said_by)
            case Broadcast(agents, text):
                return self._to(agents, text, "broadcast", said_by)
            case TaskCommand():
                receiver = self._receivers.find(ORCHESTRATOR)
                reasons = (f"it is about the task {utterance.task}",)
                return Plan("task", (Delivery(receiver, message_of(utterance)),), _certain(receiver, reasons))
            case SlashCommand():
                return self._command(utterance, said_by)
            case FreeText(text):
                return self._free(text, said_by)

    def _to(self, agents: tuple[str, ...], text: str, kind: Kind, said_by: str) -> Plan:
        receivers = [self._receivers.find(agent) for agent in agents]
        deliveries = [Delivery(each, self._hear(text, self._named(each, text), said_by)) for each in receivers]
        route = self._named(receivers[0], text)
        return Plan(kind, tuple(deliveries), msgspec.structs.replace(route, target=",".join(agents)))

    def _named(self, receiver: Receiver, text: str) -> Route:
        """Whom it is for is said; what it asks is only looked at for those with intents of their own."""
        certain = _certain(receiver, ("it names whom it is for",))
        if receiver.label not in INTENTS:
            return certain
        asked = classify(text, agents=(receiver.label,), now=self._now())
        if asked.target != receiver.label:
            return certain
        return msgspec.structs.replace(asked, reasons=(*certain.reasons, *asked.reasons))

    def _free(self, text: str, said_by: str) -> Plan:
        known = self._cache.get(text)
        route = known or classify(text, agents={*TARGETS, *self._receivers.names()}, now=self._now())
        if not self._receivers.has(route.target):
            why = "; ".join(route.reasons)
            raise AgentNotHere(
                f"this is for the {route.target}, and there is none here ({why})",
                hint=f"here are: {', '.join(self._receivers.names())}; @to:<agent> names whom you mean",
            )
        if known is None and self._cache.put(text, route):
            self._learnt(text, route)
        receiver = self._receivers.find(route.target)
        return Plan("free", (Delivery(receiver, self._hear(text, route, said_by)),), route, known is not None)

    def _hear(self, text: str, route: Route, said_by: str) -> Hear:
        return Hear(text, route.intent, route.subject, route.time_scope, route.confidence, said_by)

    def _command(self, said: SlashCommand, said_by: str) -> Plan:
        command = said.command
        agent = command.agent if self._receivers.has(command.agent) else command.stand_in
        if not agent:
            raise AgentNotHere(
                f"/{command.name} is for the {command.agent}, and there is none here",
                hint="`/help` lists what can be done here",
            )
        if not command.skill:
            raise NeedsModel(
                f"/{command.name} needs a model, and none is configured", hint="`/help` lists what can be done without"
            )
        receiver = self._receivers.find(agent)
        reasons = (f"/{command.name} is a command of the {command.agent}",)
        if agent != command.agent:
            reasons += (f"there is no {command.agent} here, and the {agent} stands in",)
        message = CallSkill(command.skill, _arguments(command, said.arguments), said_by)
        return Plan("command", (Delivery(receiver, message),), _certain(receiver, reasons))


def _certain(receiver: Receiver, reasons: tuple[str, ...]) -> Route:
    return Route(target=receiver.label, confidence=1.0, reasons=reasons)


def _arguments(command: Command, given: dict[str, str]) -> str:
    """As JSON, each in its type."""
    kinds = {each.name: each.kind for each in (*command.arguments, *command.options)}
    typed: dict[str, Any] = {}
    for name, value in given.items():
        typed[name] = int(value) if kinds[name] == "integer" else True if kinds[name] == "flag" else value
    return msgspec.json.encode(typed).decode()
