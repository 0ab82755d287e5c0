"""What an agent is: a class with a role, typed handlers and, if it likes, a state."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from sylk_ray.messaging import Message
from sylk_ray.runtime.context import Context
from sylk_ray.runtime.health import Ping

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
    that was put away, or died with its cell, comes back with the state that it last committed. When its fields
    change their meaning, raise ``state_version`` and say in ``upgrade`` how an older state becomes a new one.

    A commit writes the whole state when it has changed. A large one can name one field as ``keyed``: a dict from names
    to frozen structs, of which only entries that were put anew are written.

    An agent of a session with a state is **durable**, and one without may declare itself so. What a durable agent's
    handler does commits as one transaction when it returns: state, events, and the messages that it tells. Mail
    from one durable agent to another is kept until it is handled, whatever dies meanwhile; a handler that was cut
    off runs again, and what it must not do twice it does by ``ctx.step``. Handlers marked concurrent commit no state.
    """

    role: ClassVar[str] = ""
    handlers: ClassVar[dict[type[Message], HandlerSpec]] = {}
    durable: ClassVar[bool] = False
    state_type: ClassVar[type[msgspec.Struct] | None] = None
    state_version: ClassVar[int] = 1
    keyed: ClassVar[str] = ""
    state: StateT

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for base in getattr(cls, "__orig_bases__", ()):
            if isinstance(get_origin(base), type) and issubclass(get_origin(base), Agent):
                (state,) = get_args(base)
                if isinstance(state, type) and issubclass(state, msgspec.Struct):
                    cls.state_type, cls.durable = state, True
        found = {Ping: HandlerSpec(_ping, True), **cls.handlers}
        for name, member in vars(cls).items():
            if hasattr(member, "__sylk_handler__"):
                found[_message_of(cls, name, member)] = HandlerSpec(member, member.__sylk_handler__)
        cls.handlers = found

    @classmethod
    def upgrade(cls, version: int, fields: dict[str, Any]) -> dict[str, Any]:
        """The fields of a state that was written as an older ``version``, as the present one has them."""
        return fields

    async def on_activate(self, ctx: Context) -> None:
        """Called before the first message after the agent came to life in a cell."""

    def may_rest(self) -> bool:
        """Whether a durable agent that has had no mail for a while may be put away now: not if it waits for time to
        pass, or holds something."""
        return True

    async def on_deactivate(self) -> None:
        """Called when the agent is put away: idle, its session closed, or its cell stopping."""

    async def on_failure(self, message: Message, error: Exception, ctx: Context) -> None:
        """Called when a handler raised, and running it again was no use. Someone who waits for more than a reply can
        be told here; the agent's state is what it was before the message.

        A durable agent's is also called, between two messages, for a ``message`` that it has told another and that
        nobody can ever take: ``ctx.sender`` is the agent itself then."""


async def _ping(agent: Agent[Any], message: Ping, ctx: Context) -> None:
    """It lives."""


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
