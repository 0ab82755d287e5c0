"""Anthropic's messages. Source: Anthropic API reference, "Messages" and "Streaming messages"."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from typing import Any

import msgspec

from sylk_ray.llm.endpoint import Endpoint
from sylk_ray.llm.keys import Key
from sylk_ray.llm.reading import read_answer, text_of
from sylk_ray.llm.reply import CallPiece, Piece, Stop, TextPiece, ThoughtPiece, Usage, UsagePiece
from sylk_ray.llm.request import ANY_TOOL, AUTO, NO_TOOL, Assistant, Request, ToolResult, Turn

ANTHROPIC = "https://api.anthropic.com/v1"
VERSION = "2023-06-01"
ANSWER = "give_the_answer"
"""The tool by which data is answered: its arguments are the answer."""
MOST_TOKENS = 4096
"""Of a reply, where nobody says; Anthropic wants it said."""
_STOPS: dict[str, Stop] = {
    "end_turn": "end",
    "pause_turn": "end",
    "tool_use": "calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "stop_sequence": "stop",
    "refusal": "refused",
}


class AnthropicMessages:
    """One model behind ``<base_url>/messages``."""

    def __init__(
        self,
        model: str,
        *,
        base_url: str = ANTHROPIC,
        key: Key | None = None,
        first_token_s: float = 300.0,
        stall_s: float = 60.0,
    ) -> None:
        self._model = model
        self._endpoint = Endpoint(
            base_url, "messages", key or Key(), _headers, first_token_s=first_token_s, stall_s=stall_s
        )

    @property
    def name(self) -> str:
        """Host and port."""
        return self._endpoint.name

    async def aclose(self) -> None:
        """Close its connections."""
        await self._endpoint.aclose()

    async def stream(self, request: Request) -> AsyncGenerator[Piece]:
        """The pieces of an answer. Raises ModelError."""
        reading = AnthropicReading(wrapped=_is_wrapped(request))
        async with aclosing(read_answer(self._endpoint, self.body(request), reading)) as pieces:
            async for piece in pieces:
                yield piece

    def body(self, request: Request) -> dict[str, Any]:
        """What is posted."""
        body: dict[str, Any] = {
            "model": self._model,
            "max_tokens": request.max_tokens or MOST_TOKENS,
            "messages": _messages(request.messages),
            "stream": True,
        }
        if request.system:
            body["system"] = [{"type": "text", "text": request.system}]
        if request.tools:
            _keep(body)
        if request.temperature is not None:
            body["temperature"] = min(request.temperature, 1.0)
        if request.stop:
            body["stop_sequences"] = list(request.stop)
        tools = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
            for tool in request.tools
        ]
        if tools:
            body["tool_choice"] = _choice(request.tool_choice)
        if request.output_schema is not None:
            schema = {"type": "object", "properties": {"value": request.output_schema}, "required": ["value"]}
            tools.append(
                {
                    "name": ANSWER,
                    "description": "Give your answer, once no other tool is needed.",
                    "input_schema": schema if _is_wrapped(request) else request.output_schema,
                }
            )
            if not request.offered:
                body["tool_choice"] = {"type": "tool", "name": ANSWER}
            elif request.tool_choice == AUTO:
                body["tool_choice"] = {"type": "any"}
        if tools:
            body["tools"] = tools
        return body


class AnthropicReading:
    """What has come of an answer so far."""

    def __init__(self, *, wrapped: bool) -> None:
        """``wrapped``: the answer by schema is in an object of its own."""
        self.stop: Stop | None = None
        self._reason: Stop = "end"
        self._usage = Usage()
        self._wrapped = wrapped
        self._answer: int | None = None
        self._answer_parts: list[str] = []
        self._calls = 0

    def pieces_of(self, event: dict[str, Any]) -> Iterator[Piece]:
        """What an event tells."""
        kind = event.get("type")
        if kind == "message_start":
            yield self._used(event["message"].get("usage") or {})
        elif kind == "content_block_start":
            yield from self._begun(event["index"], event["content_block"])
        elif kind == "content_block_delta":
            yield from self._more(event["index"], event["delta"])
        elif kind == "content_block_stop" and event["index"] == self._answer:
            yield TextPiece(self._answered())
        elif kind == "message_delta":
            if reason := event["delta"].get("stop_reason"):
                self._reason = _STOPS.get(reason, "end")
                if self._reason == "calls" and not self._calls:
                    self._reason = "end"
            yield self._used(event.get("usage") or {})
        elif kind == "message_stop":
            self.stop = self._reason

    def _begun(self, index: int, block: dict[str, Any]) -> Iterator[Piece]:
        if block["type"] == "tool_use" and block["name"] == ANSWER:
            self._answer = index
        elif block["type"] == "tool_use":
            self._calls += 1
            given = msgspec.json.encode(block["input"]).decode() if block.get("input") else ""
            yield CallPiece(index, text_of(block["id"]), text_of(block["name"]), given)
        elif text := text_of(block.get("text")):
            yield TextPiece(text)

    def _more(self, index: int, delta: dict[str, Any]) -> Iterator[Piece]:
        if delta["type"] == "text_delta":
            yield TextPiece(text_of(delta["text"]))
        elif delta["type"] == "thinking_delta":
            yield ThoughtPiece(text_of(delta["thinking"]))
        elif delta["type"] == "input_json_delta":
            if index == self._answer:
                self._answer_parts.append(text_of(delta["partial_json"]))
            else:
                yield CallPiece(index, arguments=text_of(delta["partial_json"]))

    def _answered(self) -> str:
        given = "".join(self._answer_parts) or "{}"
        if not self._wrapped:
            return given
        try:
            return bytes(msgspec.json.decode(given, type=dict[str, msgspec.Raw])["value"]).decode()
        except (msgspec.DecodeError, KeyError):
            return given

    def _used(self, told: dict[str, Any]) -> UsagePiece:
        before = self._usage
        cached = int(told.get("cache_read_input_tokens") or before.cached)
        fresh = int(told.get("input_tokens") or 0) + int(told.get("cache_creation_input_tokens") or 0)
        self._usage = Usage(
            fresh + cached if fresh else before.input, int(told.get("output_tokens") or before.output), cached
        )
        return UsagePiece(self._usage)


def _keep(body: dict[str, Any]) -> None:
    """Have what is the same in the next turn kept at the provider for some minutes, where it costs a tenth: tools and
    system, and the conversation so far. Who has tools asks again; for a single question, keeping would cost more."""
    for blocks in (body.get("system", []), body["messages"][-1]["content"]):
        if blocks:
            blocks[-1]["cache_control"] = {"type": "ephemeral"}


def _is_wrapped(request: Request) -> bool:
    """Whether the answer is in an object of its own, as a tool takes nothing else."""
    return request.output_schema is not None and request.output_schema.get("type") != "object"


def _choice(choice: str) -> dict[str, str]:
    if choice in (AUTO, NO_TOOL):
        return {"type": choice}
    return {"type": "any"} if choice == ANY_TOOL else {"type": "tool", "name": choice}


def _messages(turns: tuple[Turn, ...]) -> list[dict[str, Any]]:
    """Sides alternate; the results of calls are said by the user, before anything else."""
    messages: list[dict[str, Any]] = []
    for turn in turns:
        blocks = _blocks(turn)
        role = "assistant" if isinstance(turn, Assistant) else "user"
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += blocks
        elif blocks:
            messages.append({"role": role, "content": blocks})
    return messages


def _blocks(turn: Turn) -> list[dict[str, Any]]:
    if isinstance(turn, ToolResult):
        block = {"type": "tool_result", "tool_use_id": _id(turn.call_id), "content": turn.text or "(nothing)"}
        return [{**block, "is_error": True} if turn.failed else block]
    if not isinstance(turn, Assistant):
        return [{"type": "text", "text": turn.text if turn.text.strip() else "(nothing)"}]
    text = [{"type": "text", "text": turn.text.rstrip()}] if turn.text.strip() else []
    calls = [
        {"type": "tool_use", "id": _id(call.id), "name": call.name, "input": call.arguments} for call in turn.calls
    ]
    return [*text, *calls]


def _id(given: str) -> str:
    """A call's id in the letters that Anthropic takes; another provider may have made it."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", given) or "call"


def _headers(key: str) -> dict[str, str]:
    return {"anthropic-version": VERSION, **({"x-api-key": key} if key else {})}
