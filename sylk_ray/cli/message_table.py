"""Every message that there is, as a table: who says it to whom, what is answered, and whether it is kept."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, cast, get_args, get_origin

import msgspec

from sylk_ray.messaging import Message, Request
from sylk_ray.messaging.flow import listed
from sylk_ray.messaging.message import message_types, reply_type
from sylk_ray.runtime.roles import GROUP, Roles

MODULES = (
    "actors.consulting_messages",
    "actors.coordinator",
    "actors.fair_share",
    "actors.job_messages",
    "actors.knowledge_messages",
    "actors.planning_messages",
    "sylk_ray.conversation",
    "sylk_ray.pipelines.asking",
    "sylk_ray.pipelines.handoff",
    "sylk_ray.pipelines.messages",
    "sylk_ray.runtime.dead_letters",
    "sylk_ray.runtime.directory",
    "sylk_ray.runtime.fleet_messages",
    "sylk_ray.runtime.health",
    "sylk_ray.runtime.history",
    "sylk_ray.runtime.leases",
    "sylk_ray.runtime.outbox",
    "sylk_ray.sessions.messages",
    "sylk_ray.speech.messages",
    "sylk_ray.speech.metrics",
    "sylk_ray.speech.registry",
    "sylk_ray.speech.tasks",
)
"""The modules that declare messages. Named one by one, for to import all of sylk_ray is to import Ray."""

_WITHOUT_STATE = "sylk_ray.runtime.cluster."
"""The roles that live here are not durable, and cannot be imported without Ray."""


class FieldLine(msgspec.Struct, frozen=True):
    """One field of a message; ``default`` is empty for one that has to be given."""

    name: str
    type: str
    default: str = ""


class MessageLine(msgspec.Struct, frozen=True):
    """One message. ``delivery`` is how it travels: ``kept`` (in the journal, until it is handled), ``passing`` or, for
    a request, ``asked``; ``ahead`` says that nobody understands it yet."""

    name: str
    spec: list[str]
    senders: list[str]
    receivers: list[str]
    answer: str
    delivery: str
    priority: str
    ahead: bool
    doc: str
    module: str
    about: str
    fields: list[FieldLine]

    @property
    def sender(self) -> str:
        """Who says it, in one line."""
        return listed(frozenset(self.senders))

    @property
    def receiver(self) -> str:
        """Who hears it, in one line."""
        return listed(frozenset(self.receivers))


def message_table() -> list[MessageLine]:
    """All messages, by receiver and name."""
    for module in MODULES:
        import_module(module)
    durable = _durable_roles()
    lines = [_line(each, durable) for each in message_types() if each.__module__.startswith(MODULES)]
    return sorted(lines, key=lambda line: (line.receiver, line.name))


def _line(message: type[Message], durable: set[str]) -> MessageLine:
    flow = message.flow
    senders, receivers = (flow.senders, flow.receivers) if flow else (frozenset({"any"}), frozenset({"any"}))
    about = " ".join((message.__doc__ or "").split())
    if issubclass(message, Request):
        answer, delivery = type_name(reply_type(cast("type[Request[Any]]", message))), "asked"
    else:
        kept = senders | receivers <= durable and not message.fleeting
        answer, delivery = "", "kept" if kept else "passing"
    return MessageLine(
        message.kind,
        list(message.spec),
        sorted(senders),
        sorted(receivers),
        answer,
        delivery,
        message.priority.name.lower(),
        message.ahead,
        _first_sentence(about),
        message.__module__,
        about,
        [_field(each) for each in msgspec.structs.fields(cast("type[Message]", message))],
    )


def _field(field: msgspec.structs.FieldInfo) -> FieldLine:
    if field.required:
        return FieldLine(field.encode_name, type_name(field.type))
    default = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()  # pyright: ignore
    return FieldLine(field.encode_name, type_name(field.type), repr(default))


def _first_sentence(text: str) -> str:
    """A person's line of the whole."""
    return text.partition(". ")[0].rstrip(".")


def type_name(kind: Any) -> str:
    """A type as it is written, without its modules."""
    arguments = get_args(kind)
    if kind is type(None) or kind is None:
        return "None"
    if kind is Ellipsis:
        return "..."
    origin = get_origin(kind)
    if origin is None:
        return getattr(kind, "__name__", str(kind))
    name = getattr(origin, "__name__", str(origin))
    if name == "Literal":
        return " | ".join(map(repr, arguments))
    if name in ("Union", "UnionType"):
        return " | ".join(map(type_name, arguments))
    return f"{name}[{', '.join(map(type_name, arguments))}]"


def _durable_roles() -> set[str]:
    """The roles of sessions' agents whose mail is kept."""
    found = {entry.name: entry.value for entry in entry_points(group=GROUP)}
    roles = Roles({name: value for name, value in found.items() if not value.startswith(_WITHOUT_STATE)})
    return {name for name in roles.names() if roles.agent_class(name).durable}
