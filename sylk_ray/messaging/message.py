"""The base of every message, and the table from a message's name to its type."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar, Generic, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from sylk_ray.fairness import Lane
from sylk_ray.messaging.flow import Flow

ReplyT = TypeVar("ReplyT")

_kinds: dict[str, type[Message]] = {}
_DECLARED = {"kind", "flow", "priority", "spec", "fleeting", "ahead", "remembered"}


class Message(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something told to an agent. Subclasses are frozen structs; the class name is the kind on the wire.

    What else there is to know of a message is declared beside its fields, and the same for all of its kind: ``flow`` is
    who says it to whom, and is enforced (None: anybody to anybody, as far as sessions let them). ``priority`` is what
    its envelopes say of how urgent it is. ``spec`` has the names by which the specification calls it. ``fleeting`` ones
    are said beside handlers and so are not kept, whoever hears them; those that are ``ahead`` have no receiver yet.
    What only asks how things stand is not ``remembered``: a concurrent handler's answer to it is in no journal.
    """

    kind: ClassVar[str] = "Message"
    flow: ClassVar[Flow | None] = None
    priority: ClassVar[Lane] = Lane.NORMAL
    spec: ClassVar[tuple[str, ...]] = ()
    fleeting: ClassVar[bool] = False
    ahead: ClassVar[bool] = False
    remembered: ClassVar[bool] = True

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in _DECLARED & inspect.get_annotations(cls).keys():
            if not str(inspect.get_annotations(cls)[name]).removeprefix("typing.").startswith("ClassVar"):
                raise TypeError(f"{cls.__name__}.{name} is declared of all messages, and cannot be a field")
        cls.kind = cls.__name__
        known = _kinds.setdefault(cls.kind, cls)
        if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            raise TypeError(f"two messages are called {cls.kind}: in {known.__module__} and {cls.__module__}")
        _kinds[cls.kind] = cls


class Request(Message, Generic[ReplyT], frozen=True, omit_defaults=True):
    """Something asked of an agent; ``Request[Reply]`` names what comes back, and msgspec checks it there."""


def message_type(kind: str) -> type[Message] | None:
    """The message class of that name, if its module has been imported in this process."""
    return _kinds.get(kind)


def message_types() -> list[type[Message]]:
    """Every message whose module has been imported in this process, by name."""
    return [_kinds[kind] for kind in sorted(_kinds) if kind != Request.__name__]


def reply_type(request: type[Request[Any]]) -> Any:
    """The ``Reply`` of ``Request[Reply]``; a request that names none is answered by None."""
    for base in getattr(request, "__orig_bases__", ()):
        if get_origin(base) is Request:
            declared = {"__annotations__": {"reply": get_args(base)[0]}, "__module__": request.__module__}
            return get_type_hints(type("declared", (), declared))["reply"]
    return type(None)
