"""What a model is asked, whoever serves it: a conversation, tools, and the form of the answer."""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import Struct

from sylk_ray.errors import InputError


class InvalidRequest(InputError):
    """A request to a model contradicts itself; nobody was asked."""

    code = "invalid_model_request"


class Tool(Struct, frozen=True):
    """A function that the model may ask for. ``parameters`` is the JSON schema of its arguments, an object."""

    name: str
    description: str
    parameters: dict[str, Any]


class User(Struct, frozen=True, tag="user"):
    """What is said to the model."""

    text: str


class Call(Struct, frozen=True):
    """One call of a tool, as it stands in a conversation."""

    id: str
    name: str
    arguments: dict[str, Any]


class Assistant(Struct, frozen=True, tag="assistant"):
    """What the model has said, and the tools that it asked for. Each call is answered by a ``ToolResult``."""

    text: str = ""
    calls: tuple[Call, ...] = ()


class ToolResult(Struct, frozen=True, tag="tool"):
    """What came of a call."""

    call_id: str
    name: str
    text: str
    failed: bool = False


Turn: TypeAlias = User | Assistant | ToolResult

AUTO, NO_TOOL, ANY_TOOL = "auto", "none", "required"
"""What ``Request.tool_choice`` may be, besides the name of one of the tools."""


class Request(Struct, frozen=True, kw_only=True):
    """One question to a model; which model, it does not say. Raises InvalidRequest."""

    messages: tuple[Turn, ...]
    """From the first to the last; the last is a user's, or the result of a tool."""
    system: str = ""
    tools: tuple[Tool, ...] = ()
    tool_choice: str = AUTO
    """``auto``, ``none``, ``required``, or the name of the tool that must be called."""
    output_schema: dict[str, Any] | None = None
    """The JSON schema of the answer, when that is to be data: it is then in ``Reply.value``."""
    max_tokens: int | None = None
    """Of the reply; None is what the model's settings say."""
    temperature: float | None = None
    stop: tuple[str, ...] = ()
    """Texts that end the reply, and are not part of it."""

    def __post_init__(self) -> None:
        if not self.messages or isinstance(self.messages[-1], Assistant):
            raise InvalidRequest("a request ends with what is said to the model, or with a tool's result")
        known = {tool.name for tool in self.tools}
        if len(known) < len(self.tools):
            raise InvalidRequest("two tools of a request have the same name")
        if self.tool_choice not in (AUTO, NO_TOOL) and not known:
            raise InvalidRequest(f'the tool choice is "{self.tool_choice}" and there are no tools')
        if self.tool_choice not in (AUTO, NO_TOOL, ANY_TOOL) and self.tool_choice not in known:
            raise InvalidRequest(f'the tool choice "{self.tool_choice}" is none of the tools')

    @property
    def offered(self) -> tuple[Tool, ...]:
        """The tools that the model may call now."""
        return () if self.tool_choice == NO_TOOL else self.tools
