"""What an agent is: a class with a role, typed handlers and, if it likes, a state."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from sylk_ray.messaging import Message
from sylk_ray.runtime.context import Context

MessageT = TypeVar("MessageT", bound=Message)
AgentT = TypeVar("AgentT", bound="Agent[Any]")
StateT = TypeVar("StateT", bound="msgspec.Struct | None")

Handler = Callable[[AgentT, MessageT, Context], Awaitable[Any]]


class HandlerSpec(NamedTuple):
    """A handler as the host calls it."""

    function: Callable[[Any, Any, Context], Awaitable[Any]]
    concurrent: bool


def handler(*, concurrent: bool = False) -> Callable[[Handler[AgentT, MessageT]], Handler[AgentT, MessageT]]:
    """Mark a method ``async def name(self, message: SomeMessage, ctx: Context)`` as the handler of SomeMessage.

    ``concurrent`` lets it run while another handler of the agent runs, and ahead of the mailbox: for handlers
    that only read, or that interrupt.
    """

    def mark(function: Handler[AgentT, MessageT]) -> Handler[AgentT, MessageT]:
        function.__sylk_handler__ = concurrent  # type: ignore[attr-defined]
        return function

    return mark


class Agent(Generic[StateT]):
    """The base of every agent. Subclasses set ``role`` and mark handlers; ``Agent[State]`` gives ``self.state``.

    The state is a msgspec struct whose fields all have defaults: a new agent starts with ``State()``, and one
    that was put away while idle comes back with the state that it had.
    """

    role: ClassVar[str] = ""
    handlers: ClassVar[dict[type[Message], HandlerSpec]] = {}
    keeps_nothing: ClassVar[bool] = False
    """Whether an agent without a state may be put away while idle: it loses whatever its attributes hold."""
    state_type: ClassVar[type[msgspec.Struct] | None] = None
    state: StateT

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for base in getattr(cls, "__orig_bases__", ()):
            if isinstance(get_origin(base), type) and issubclass(get_origin(base), Agent):
                (state,) = get_args(base)
                cls.state_type = state if isinstance(state, type) and issubclass(state, msgspec.Struct) else None
        found = dict(cls.handlers)
        for name, member in vars(cls).items():
            if hasattr(member, "__sylk_handler__"):
                found[_message_of(cls, name, member)] = HandlerSpec(member, member.__sylk_handler__)
        cls.handlers = found

    async def on_activate(self, ctx: Context) -> None:
        """Called before the first message after the agent came to life in a cell."""

    async def on_deactivate(self) -> None:
        """Called when the agent is put away: idle, its session closed, or its cell stopping."""

    async def on_failure(self, message: Message, error: Exception, ctx: Context) -> None:
        """Called when a handler raised. Someone who waits for more than a reply can be told here."""


def _message_of(cls: type[Agent[Any]], name: str, function: Callable[..., Any]) -> type[Message]:
    parameters = list(inspect.signature(function).parameters)
    hints = get_type_hints(function)
    message = hints.get(parameters[1]) if len(parameters) == 3 else None
    if not (isinstance(message, type) and issubclass(message, Message)) or not inspect.iscoroutinefunction(function):
        raise TypeError(
            f"{cls.__name__}.{name} is marked as a handler: write `async def {name}(self, message: M, ctx: Context)` "
            "where M is a Message"
        )
    return message
