"""OpenAI's chat completions, as many servers speak them: OpenAI, vLLM, Ollama, llama.cpp, LM Studio, OpenRouter.

Source: OpenAI API reference, "Create chat completion" and its streaming events. Servers know different parts of it.
What one refuses is left out, or said in words, and remembered (``concessions``).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from typing import Any, cast

import msgspec

from sylk_ray.llm.concessions import Concession, concession_for
from sylk_ray.llm.endpoint import Endpoint
from sylk_ray.llm.errors import ModelRefused, ModelUnavailable
from sylk_ray.llm.in_words import without_choice, without_schema, without_tools
from sylk_ray.llm.keys import Key
from sylk_ray.llm.reading import read_answer, text_of
from sylk_ray.llm.reply import CallPiece, Piece, Stop, TextPiece, ThoughtPiece, Usage, UsagePiece
from sylk_ray.llm.request import ANY_TOOL, AUTO, NO_TOOL, Assistant, Call, Request, ToolResult, Turn

OPENAI = "https://api.openai.com/v1"
MOST_CALLS = 1000
"""Of one answer."""
_STOPS: dict[str, Stop] = {
    "stop": "end",
    "tool_calls": "calls",
    "function_call": "calls",
    "length": "length",
    "content_filter": "refused",
}


class OpenAIChat:
    """One model behind ``<base_url>/chat/completions``."""

    def __init__(
        self,
        model: str,
        *,
        base_url: str = OPENAI,
        key: Key | None = None,
        first_token_s: float = 300.0,
        stall_s: float = 60.0,
    ) -> None:
        self._model = model
        self._endpoint = Endpoint(
            base_url, "chat/completions", key or Key(), _headers, first_token_s=first_token_s, stall_s=stall_s
        )
        self.conceded: set[Concession] = set()
        """What this server has refused, and is asked for no more."""

    @property
    def name(self) -> str:
        """Host and port."""
        return self._endpoint.name

    async def aclose(self) -> None:
        """Close its connections."""
        await self._endpoint.aclose()

    async def stream(self, request: Request) -> AsyncGenerator[Piece]:
        """The pieces of an answer. Raises ModelError."""
        tried: set[Concession] = set()
        while True:
            begun, made = False, frozenset(self.conceded)
            try:
                answer = read_answer(self._endpoint, self.body(request), OpenAIReading(self.name))
                async with aclosing(answer) as pieces:
                    async for piece in pieces:
                        begun = True
                        yield piece
                return
            except (ModelRefused, ModelUnavailable) as refused:
                about_form = not begun and type(refused) in (ModelRefused, ModelUnavailable)
                concession = concession_for(refused.message, request, made) if about_form else None
                if concession is None:
                    if not begun:
                        self.conceded -= tried  # they were not what it is about
                    raise
                self.conceded.add(concession)
                tried.add(concession)

    def body(self, request: Request) -> dict[str, Any]:
        """What is posted."""
        if "tools" in self.conceded:
            request = without_tools(request)
        if "schema" in self.conceded or ("schema_with_tools" in self.conceded and request.offered):
            request = without_schema(request)
        if "tool_choice" in self.conceded:
            request = without_choice(request)
        body: dict[str, Any] = {"model": self._model, "messages": _messages(request), "stream": True}
        if "usage" not in self.conceded:
            body["stream_options"] = {"include_usage": True}
        if request.max_tokens is not None:
            body["max_completion_tokens" if "max_tokens" in self.conceded else "max_tokens"] = request.max_tokens
        if request.temperature is not None and "temperature" not in self.conceded:
            body["temperature"] = request.temperature
        if request.stop:
            body["stop"] = list(request.stop)
        if request.offered:
            body["tools"] = [
                {
                    "type": "function",
                    "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
                }
                for tool in request.offered
            ]
            if request.tool_choice != AUTO:
                body["tool_choice"] = (
                    request.tool_choice
                    if request.tool_choice == ANY_TOOL
                    else {"type": "function", "function": {"name": request.tool_choice}}
                )
        elif request.tools and _has_calls(request) and "tool_choice" not in self.conceded:
            # A conversation with calls in it needs their tools, with most servers.
            body["tools"] = [
                {"type": "function", "function": {"name": tool.name, "parameters": tool.parameters}}
                for tool in request.tools
            ]
            body["tool_choice"] = NO_TOOL
        if request.output_schema is not None:
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {
                    "name": "answer",
                    "schema": request.output_schema,
                    "strict": is_strict(request.output_schema),
                },
            }
        return body


def is_strict(schema: Any) -> bool:
    """Whether OpenAI would take it with ``strict``: every object is closed, and needs all that it names."""
    if isinstance(schema, list):
        return all(map(is_strict, cast("list[Any]", schema)))
    if not isinstance(schema, dict):
        return True
    given = cast("dict[str, Any]", schema)
    if given.get("type") == "object" or "properties" in given:
        named: dict[str, Any] = given.get("properties", {})
        if given.get("additionalProperties") is not False or set(given.get("required", ())) != set(named):
            return False
        return all(map(is_strict, named.values())) and is_strict(given.get("$defs", {}))
    return all(is_strict(each) for name, each in given.items() if name not in ("enum", "const", "default", "examples"))


class OpenAIReading:
    """What has come of an answer so far."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._reason: Stop | None = None
        self._calls: list[str] = []

    @property
    def stop(self) -> Stop | None:
        """Some servers end with ``stop`` although they call tools."""
        return "calls" if self._calls and self._reason == "end" else self._reason

    def pieces_of(self, event: dict[str, Any]) -> Iterator[Piece]:
        """What an event tells."""
        for choice in event.get("choices") or ():
            yield from self._more(choice.get("delta") or choice.get("message") or {})
            reason = choice.get("finish_reason")
            if reason == "error":
                raise ModelUnavailable(f"{self._where} broke off")
            self._reason = _STOPS.get(reason, "end") if reason else self._reason
        if event.get("usage"):
            yield UsagePiece(_usage(event["usage"]))

    def _more(self, delta: dict[str, Any]) -> Iterator[Piece]:
        if thought := text_of(delta.get("reasoning_content") or delta.get("reasoning")):
            yield ThoughtPiece(thought)
        if text := text_of(delta.get("content") or delta.get("refusal")):
            yield TextPiece(text)
        for call in delta.get("tool_calls") or ():
            function: dict[str, Any] = call.get("function") or {}
            arguments = function.get("arguments") or ""
            if not isinstance(arguments, str):
                arguments = msgspec.json.encode(arguments).decode()
            id = text_of(call.get("id"))
            yield CallPiece(self._number(call.get("index"), id), id, text_of(function.get("name")), arguments)

    def _number(self, index: Any, id: str) -> int:
        """Which call a fragment belongs to: by its index, or for servers that give none, by its id."""
        if not isinstance(index, int):
            if id in self._calls:
                index = self._calls.index(id)
            else:
                index = len(self._calls) if id or not self._calls else len(self._calls) - 1
        if not 0 <= index <= MOST_CALLS:
            raise ValueError(f"the index of a call is {index}")
        while len(self._calls) <= index:
            self._calls.append(id)
        return index


def _usage(told: dict[str, Any]) -> Usage:
    details: dict[str, Any] = told.get("prompt_tokens_details") or {}
    return Usage(
        int(told.get("prompt_tokens") or 0),
        int(told.get("completion_tokens") or 0),
        int(details.get("cached_tokens") or 0),
    )


def _messages(request: Request) -> list[dict[str, Any]]:
    system = [{"role": "system", "content": request.system}] if request.system else []
    return [*system, *map(_message, request.messages)]


def _message(turn: Turn) -> dict[str, Any]:
    if isinstance(turn, ToolResult):
        return {"role": "tool", "tool_call_id": turn.call_id, "content": turn.text}
    if not isinstance(turn, Assistant):
        return {"role": "user", "content": turn.text}
    if not turn.calls:
        return {"role": "assistant", "content": turn.text}
    return {"role": "assistant", "content": turn.text or None, "tool_calls": [_call(call) for call in turn.calls]}


def _call(call: Call) -> dict[str, Any]:
    arguments = msgspec.json.encode(call.arguments).decode()
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _has_calls(request: Request) -> bool:
    return any(isinstance(turn, Assistant) and turn.calls for turn in request.messages)


def _headers(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"} if key else {}
