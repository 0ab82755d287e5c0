"""What a model answers: the pieces as they come, and the whole with what it cost."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import Struct

from sylk_ray.llm.request import Assistant, Call

Stop = Literal["end", "calls", "length", "stop", "refused"]
"""Why a reply ended: by itself, to have tools called, at its limit of tokens, at a text of ``Request.stop``, or because
the provider did not want to go on."""


class Usage(Struct, frozen=True):
    """Tokens of one call."""

    input: int = 0
    """All of the input, with what was cached."""
    output: int = 0
    cached: int = 0
    """The part of the input that the provider had cached."""
    estimated: bool = False
    """Whether we counted them, because the provider did not say."""


class TextPiece(Struct, frozen=True, tag="text"):
    """More of the answer."""

    text: str


class ThoughtPiece(Struct, frozen=True, tag="thought"):
    """More of what the model thinks before it answers."""

    text: str


class CallPiece(Struct, frozen=True, tag="call"):
    """More of a call: id and name come at once, the arguments bit by bit as text. ``index`` tells calls apart."""

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""


class UsagePiece(Struct, frozen=True, tag="usage"):
    """What has been used so far, in all."""

    usage: Usage


class StopPiece(Struct, frozen=True, tag="stop"):
    """The reply is complete. One that ends without it was cut off."""

    reason: Stop


class RestartPiece(Struct, frozen=True, tag="restart"):
    """The answer begins anew, and what has come of it counts no more."""

    why: str


Piece: TypeAlias = TextPiece | ThoughtPiece | CallPiece | UsagePiece | StopPiece | RestartPiece


class ToolCall(Struct, frozen=True):
    """A call that the model made; ``name`` is a tool's, or if there is none of that name, as near as protocols allow.

    ``problem`` is empty when the arguments fit the tool's schema; else it says, for the model, what is wrong where, and
    is to be sent back as the tool's result.
    """

    id: str
    name: str
    arguments: dict[str, Any]
    repairs: tuple[str, ...] = ()
    """What was mended to understand it, by kind: ``trailing comma``, ``"3" for an integer``."""
    problem: str = ""


class Reply(Struct, frozen=True, kw_only=True):
    """One finished call of a model."""

    text: str = ""
    """Without the calls that were written into it."""
    thoughts: str = ""
    calls: tuple[ToolCall, ...] = ()
    value: Any = None
    """What ``Request.output_schema`` asked for; None when ``problem`` says why not, or when none was asked for."""
    problem: str = ""
    """What is wrong with the answer as a whole, for the model."""
    repairs: tuple[str, ...] = ()
    """All that was mended, in the calls and in the value."""
    stop: Stop = "end"
    usage: Usage = Usage()
    price: float | None = None
    """In the settings' currency; None when they do not say."""
    model: str = ""
    """As the settings name it."""
    provider: str = ""
    """Where it was asked."""
    first_s: float = 0.0
    """Seconds until the first piece of the attempt that went well."""
    latency_s: float = 0.0
    """Seconds of that attempt."""
    attempts: int = 1
    """Of all models together."""
    passed_over: tuple[str, ...] = ()
    """Why models before this one in the chain did not answer."""

    @property
    def turn(self) -> Assistant:
        """The reply as a turn of the conversation that goes on."""
        return Assistant(self.text, tuple(Call(call.id, call.name, call.arguments) for call in self.calls))
