"""The points, each as the payload that its hooks are given.

Payloads are frozen: a hook changes one by ``msgspec.structs.replace``, and leaves the mappings in it as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec

from sylk_ray.messaging import Address, Message


class Payload(msgspec.Struct, frozen=True, kw_only=True):
    """The base of every payload; a subclass names its point."""

    point: ClassVar[str] = ""
    session: str


class PreRoute(Payload, frozen=True, kw_only=True):
    """Something was said, and it is not yet known whom it is for."""

    point: ClassVar[str] = "pre_route"
    sender: Address
    text: str
    context: Mapping[str, Any] = {}
    """What goes with it to whom it is for."""


class PostRoute(Payload, frozen=True, kw_only=True):
    """It is known whom it is for, and why."""

    point: ClassVar[str] = "post_route"
    sender: Address
    text: str
    target: str
    """A role."""
    intent: str = ""
    confidence: float = 1.0
    cached: bool = False
    context: Mapping[str, Any] = {}


class PreDispatch(Payload, frozen=True, kw_only=True):
    """A message is about to be sent."""

    point: ClassVar[str] = "pre_dispatch"
    sender: Address
    target: Address
    message: Message


class PostDispatch(Payload, frozen=True, kw_only=True):
    """A message was sent, and answered or not."""

    point: ClassVar[str] = "post_dispatch"
    sender: Address
    target: Address
    message: Message
    result: Any = None
    error: str = ""
    """Empty when it went well."""


class PromptBefore(Payload, frozen=True, kw_only=True):
    """A model is about to be asked."""

    point: ClassVar[str] = "prompt.before"
    agent: Address
    model: str
    messages: tuple[Mapping[str, Any], ...]


class PromptAfter(Payload, frozen=True, kw_only=True):
    """A model has answered."""

    point: ClassVar[str] = "prompt.after"
    agent: Address
    model: str
    messages: tuple[Mapping[str, Any], ...]
    answer: str
    tokens_in: int = 0
    tokens_out: int = 0


class ToolBefore(Payload, frozen=True, kw_only=True):
    """A tool, or a skill, is about to be run."""

    point: ClassVar[str] = "tool.before"
    agent: Address
    tool: str
    arguments: Mapping[str, Any]


class ToolAfter(Payload, frozen=True, kw_only=True):
    """A tool, or a skill, has run."""

    point: ClassVar[str] = "tool.after"
    agent: Address
    tool: str
    arguments: Mapping[str, Any]
    result: Any = None
    error: str = ""
    """Empty when it went well."""


class SessionCreate(Payload, frozen=True, kw_only=True):
    """A session is about to be created."""

    point: ClassVar[str] = "session.create"
    repository: str
    settings: Mapping[str, Any] = {}


class SessionCompaction(Payload, frozen=True, kw_only=True):
    """An agent's context is about to be compacted."""

    point: ClassVar[str] = "session.compaction"
    agent: Address
    used_tokens: int
    window_tokens: int
    target_tokens: int


class ContextInject(Payload, frozen=True, kw_only=True):
    """A prompt is being put together; a hook adds to its parts."""

    point: ClassVar[str] = "context.inject"
    agent: Address
    paths: tuple[str, ...] = ()
    """The files that it is about."""
    parts: tuple[str, ...] = ()


class AgentDelegate(Payload, frozen=True, kw_only=True):
    """An agent is about to give a task to another."""

    point: ClassVar[str] = "agent.delegate"
    agent: Address
    to: str
    """A role."""
    task: str
    context: Mapping[str, Any] = {}


POINTS: dict[str, type[Payload]] = {
    each.point: each
    for each in (
        PreRoute,
        PostRoute,
        PreDispatch,
        PostDispatch,
        PromptBefore,
        PromptAfter,
        ToolBefore,
        ToolAfter,
        SessionCreate,
        SessionCompaction,
        ContextInject,
        AgentDelegate,
    )
}
"""The payload's type of each point, by the point's name."""
