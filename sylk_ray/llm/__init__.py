"""Asking language models: one request and one reply, whoever serves them.

A ``Request`` is a conversation, the tools that may be called, and the form of the answer. ``Models`` knows the models
of the settings, and who uses which. It tries again after what passes, goes on to the next model of the chain when one
does not answer, and leaves a provider alone that keeps failing. A ``Reply`` is text, calls or a value, with what it
took to understand it and what it cost; it is a plain record, so that a finished call can be a step in a journal::

    settings = load_settings()
    models = Models(settings.models, settings.model_for)
    read = Tool("read_file", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}},
                                              "required": ["path"], "additionalProperties": False})
    request = Request(system="You mend code.", messages=(User("What is in setup.py?"),), tools=(read,))
    reply = await models.call("engineer", request, on_piece=show, deadline=time.time() + 60)
    results = [
        ToolResult(call.id, call.name, call.problem or await run(call), failed=bool(call.problem))
        for call in reply.calls
    ]
    request = msgspec.structs.replace(request, messages=(*request.messages, reply.turn, *results))

Small models write calls as they have learnt to: as fenced JSON, in tags, with wrong quotes, with names that are nearly
right. They are read tolerantly and fitted to the schema, and each repair is told; what cannot be understood without
guessing is a ``problem``, in words for the model. With ``Request.output_schema`` the answer is data: ``Reply.value``.

It knows nothing of agents and of Ray. FairShare admits calls by ``admit`` (see ``Admit``). Keys are read when they are
needed, from the environment or a private file, and are in nothing that is printed, logged, raised or recorded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sylk_ray.llm.admission import Admit, Meter
from sylk_ray.llm.errors import (
    ContextTooLong,
    KeyMissing,
    KeyRefused,
    ModelBusy,
    ModelError,
    ModelRefused,
    ModelTooSlow,
    ModelUnavailable,
    NoModel,
    UnknownRequest,
)
from sylk_ray.llm.keys import Key, hide_keys
from sylk_ray.llm.provider import Provider
from sylk_ray.llm.reply import (
    CallPiece,
    Piece,
    Reply,
    RestartPiece,
    Stop,
    StopPiece,
    TextPiece,
    ThoughtPiece,
    ToolCall,
    Usage,
    UsagePiece,
)
from sylk_ray.llm.request import Assistant, Call, InvalidRequest, Request, Tool, ToolResult, Turn, User
from sylk_ray.llm.tokens import TokenizerMissing, count_tokens

if TYPE_CHECKING:
    from sylk_ray.llm.anthropic_messages import AnthropicMessages
    from sylk_ray.llm.models import Models
    from sylk_ray.llm.openai_chat import OpenAIChat


def __getattr__(name: str) -> object:
    # Their HTTP client takes a tenth of a second to import, and who only counts tokens does not need it.
    if name == "Models":
        from sylk_ray.llm.models import Models

        return Models
    if name == "OpenAIChat":
        from sylk_ray.llm.openai_chat import OpenAIChat

        return OpenAIChat
    if name == "AnthropicMessages":
        from sylk_ray.llm.anthropic_messages import AnthropicMessages

        return AnthropicMessages
    raise AttributeError(name)


__all__ = [
    "Admit",
    "AnthropicMessages",
    "Assistant",
    "Call",
    "CallPiece",
    "ContextTooLong",
    "InvalidRequest",
    "Key",
    "KeyMissing",
    "KeyRefused",
    "Meter",
    "ModelBusy",
    "ModelError",
    "ModelRefused",
    "ModelTooSlow",
    "ModelUnavailable",
    "Models",
    "NoModel",
    "OpenAIChat",
    "Piece",
    "Provider",
    "Reply",
    "Request",
    "RestartPiece",
    "Stop",
    "StopPiece",
    "TextPiece",
    "ThoughtPiece",
    "TokenizerMissing",
    "Tool",
    "ToolCall",
    "ToolResult",
    "Turn",
    "UnknownRequest",
    "Usage",
    "UsagePiece",
    "User",
    "count_tokens",
    "hide_keys",
]
